// SPDX-License-Identifier: Apache-2.0
#include "vgpu/ptx/decoder.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

namespace bwgemm::vgpu {
namespace {

constexpr std::string_view type_names[] = {"b8",  "b16",   "b32",    "b64",   "u8",   "u16", "u32",
                                           "u64", "s8",    "s16",    "s32",   "s64",  "f16", "bf16",
                                           "f32", "f16x2", "bf16x2", "f32x2", "b128", "pred"};

// An integer as C writes it, or the bits of a float as PTX writes them.
bool parse_number(std::string_view text, std::uint64_t& value) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) base = 16;
  if (text.starts_with("0f") || text.starts_with("0F")) base = 16;
  if (text.starts_with("0d") || text.starts_with("0D")) base = 16;
  if (base == 16) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if (negative) value = -value;
  return true;
}

std::string_view inside(std::string_view text, char open, char close) {
  if (text.size() < 2 || text.front() != open || text.back() != close) return {};
  return trimmed(text.substr(1, text.size() - 2));
}

}  // namespace

std::uint32_t size_bytes(Type type) {
  return type == Type::pred ? 0 : type_bytes(type_names[static_cast<int>(type)]);
}

bool is_integer(Type type) {
  return type <= Type::s64;
}
bool is_signed(Type type) {
  return type >= Type::s8 && type <= Type::s64;
}

Decoder::Decoder(const Statement& statement, Symbols& symbols, Program& program)
    : statement_(statement),
      symbols_(symbols),
      program_(program),
      used_(statement.operands.size()) {
  const std::string& opcode = statement.opcode;
  std::size_t start = 0;
  while (start <= opcode.size()) {
    const std::size_t end = std::min(opcode.find('.', start), opcode.size());
    const std::string word = opcode.substr(start, end - start);
    if (start == 0)
      base_ = word;
    else
      modifiers_.push_back(word);
    start = end + 1;
  }
  instruction.line = statement.line;
  instruction.position = statement.position;
  if (statement.guard.empty()) return;
  Operand guard;
  if (!symbols.find_register(statement.guard, statement.scope, guard) ||
      guard.kind != Operand::Kind::predicate)
    fail("not a predicate: " + statement.guard);
  instruction.guard = static_cast<std::int32_t>(guard.offset);
  instruction.guard_negated = statement.guard_negated;
}

void Decoder::fail(const std::string& reason) const {
  throw LoadError(program_.origin, statement_.line, statement_.opcode + ": " + reason);
}

bool Decoder::is(std::string_view opcode) {
  if (statement_.opcode != opcode) return false;
  modifiers_.clear();
  return true;
}

bool Decoder::take(std::string_view modifier) {
  const auto found = std::find(modifiers_.begin(), modifiers_.end(), modifier);
  if (found == modifiers_.end()) return false;
  modifiers_.erase(found);
  return true;
}

bool Decoder::has(std::string_view modifier) const {
  return std::find(modifiers_.begin(), modifiers_.end(), modifier) != modifiers_.end();
}

void Decoder::expect(std::string_view modifier) {
  if (!take(modifier)) fail("." + std::string(modifier) + " expected");
}

int Decoder::one_of(std::initializer_list<std::string_view> modifiers) {
  int index = 0;
  for (const std::string_view modifier : modifiers) {
    if (take(modifier)) return index;
    ++index;
  }
  fail("a modifier is missing or unknown");
}

std::string Decoder::take_prefixed(std::string_view prefix) {
  for (const std::string& modifier : modifiers_)
    if (modifier.starts_with(prefix)) {
      const std::string result = modifier;
      take(result);
      return result;
    }
  return {};
}

int Decoder::last_of(std::initializer_list<std::string_view> modifiers) {
  const auto* found = std::find(modifiers.begin(), modifiers.end(),
                                modifiers_.empty() ? std::string_view() : modifiers_.back());
  if (found == modifiers.end()) fail("the last modifier is unknown");
  modifiers_.pop_back();
  return static_cast<int>(found - modifiers.begin());
}

Type Decoder::type() {
  const std::string name = modifiers_.empty() ? "" : modifiers_.back();
  const auto* found = std::find(std::begin(type_names), std::end(type_names), name);
  if (found == std::end(type_names)) fail("unknown type: ." + name);
  modifiers_.pop_back();
  return static_cast<Type>(found - std::begin(type_names));
}

bool Decoder::ends_with_type(std::initializer_list<std::string_view> types) const {
  return !modifiers_.empty() &&
         std::find(types.begin(), types.end(), modifiers_.back()) != types.end();
}

const std::string& Decoder::operand_text(std::size_t index) const {
  if (index >= used_.size()) fail("an operand is missing");
  used_[index] = true;
  return statement_.operands[index];
}

Operand Decoder::source_text(std::string_view text, std::uint32_t bytes) {
  if (std::uint64_t value = 0; parse_number(text, value)) return symbols_.constant(value, bytes);
  Operand operand;
  if (symbols_.find_register(text, statement_.scope, operand)) {
    symbols_.note_use(operand, false);
    return operand;
  }
  const auto specials = special_registers();
  for (operand.offset = 0; operand.offset < specials.size(); ++operand.offset)
    if (specials[operand.offset].name == text) {
      operand.kind = Operand::Kind::special;
      return operand;
    }
  // A variable's address, possibly with an offset.
  std::uint64_t displacement = 0;
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    if (!parse_number(trimmed(text.substr(plus + 1)), displacement))
      fail("bad operand: " + std::string(text));
    text = trimmed(text.substr(0, plus));
  }
  std::uint32_t offset = 0;
  if (symbols_.find_shared(text, offset))
    return symbols_.shared_constant(offset + static_cast<std::uint32_t>(displacement), bytes);
  if (symbols_.find_parameter(text, offset)) return symbols_.constant(offset + displacement, bytes);
  fail("unknown operand: " + std::string(text));
}

Operand Decoder::source_or_wider(std::size_t index, std::uint32_t bytes) {
  const Operand operand = source_text(operand_text(index), bytes);
  if (operand.kind == Operand::Kind::predicate) fail("a predicate as operand " + text(index));
  if (operand.kind == Operand::Kind::registers && operand.bytes < bytes)
    fail("register too narrow: " + text(index));
  return operand;
}

Operand Decoder::source(std::size_t index, std::uint32_t bytes) {
  const Operand operand = source_or_wider(index, bytes);
  if (operand.kind == Operand::Kind::special) fail("only mov reads " + text(index));
  if (operand.bytes != bytes) fail("register of another size: " + text(index));
  return operand;
}

Operand Decoder::destination_text(std::string_view text, std::uint32_t bytes) {
  Operand operand = symbols_.sink();
  if (text != "_" && (!symbols_.find_register(text, statement_.scope, operand) ||
                      operand.kind != Operand::Kind::registers))
    fail("not a register: " + std::string(text));
  if (operand.bytes < bytes) fail("register too narrow: " + std::string(text));
  symbols_.note_use(operand, true);
  return operand;
}

Operand Decoder::destination_or_wider(std::size_t index, std::uint32_t bytes) {
  return destination_text(operand_text(index), bytes);
}

Operand Decoder::destination(std::size_t index, std::uint32_t bytes) {
  const Operand operand = destination_or_wider(index, bytes);
  if (operand.bytes != bytes && text(index) != "_")
    fail("register of another size: " + text(index));
  return operand;
}

Operand Decoder::predicate(std::size_t index) {
  Operand operand;
  if (!symbols_.find_register(operand_text(index), statement_.scope, operand) ||
      operand.kind != Operand::Kind::predicate)
    fail("not a predicate: " + text(index));
  return operand;
}

Operand Decoder::predicate_source(std::size_t index) {
  std::uint64_t value = 0;
  return parse_number(operand_text(index), value) ? symbols_.constant(value, 4) : predicate(index);
}

Operand Decoder::predicate_destination(std::size_t index) {
  return operand_text(index) == "_" ? symbols_.predicate_sink() : predicate(index);
}

void Decoder::destination_pair(std::size_t index, Operand& value, Operand& predicate) {
  const std::string_view both = operand_text(index);
  const std::size_t bar = both.find('|');
  value = destination_text(trimmed(both.substr(0, bar)), 4);
  predicate = symbols_.predicate_sink();
  if (bar == std::string_view::npos) return;
  const std::string_view name = trimmed(both.substr(bar + 1));
  if (name == "_") return;
  if (!symbols_.find_register(name, statement_.scope, predicate) ||
      predicate.kind != Operand::Kind::predicate)
    fail("not a predicate: " + std::string(name));
}

Operand Decoder::address_text(std::string_view text, std::uint32_t bytes,
                              std::int64_t& displacement) {
  displacement = 0;
  std::string_view base = text;
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    std::uint64_t value = 0;
    if (!parse_number(trimmed(text.substr(plus + 1)), value))
      fail("bad address: " + std::string(text));
    displacement = static_cast<std::int64_t>(value);
    base = trimmed(text.substr(0, plus));
  }
  const Operand operand = source_text(base, bytes);
  if (operand.kind == Operand::Kind::special || operand.kind == Operand::Kind::predicate ||
      operand.bytes < 4)
    fail("bad address: " + std::string(text));
  return operand;
}

Operand Decoder::address(std::size_t index, std::uint32_t bytes) {
  const std::string_view text = inside(operand_text(index), '[', ']');
  return address_text(text, bytes, instruction.displacement);
}

Operand Decoder::plain_address(std::size_t index, std::uint32_t bytes) {
  std::int64_t displacement = 0;
  const std::string_view text = inside(operand_text(index), '[', ']');
  const Operand operand = address_text(text, bytes, displacement);
  if (displacement != 0) fail("a displacement here is not supported");
  return operand;
}

std::int32_t Decoder::add_list(std::vector<Operand> operands) {
  program_.lists.push_back(std::move(operands));
  return static_cast<std::int32_t>(program_.lists.size()) - 1;
}

std::int32_t Decoder::sources(std::size_t index, std::uint32_t bytes) {
  const std::string& whole = operand_text(index);
  std::vector<Operand> operands;
  if (whole.starts_with('{')) {
    for (const std::string& part : split_operands(inside(whole, '{', '}')))
      operands.push_back(source_text(part, bytes));
  } else {
    operands.push_back(source_text(whole, bytes));
  }
  for (const Operand& operand : operands)
    if (operand.kind == Operand::Kind::special || operand.kind == Operand::Kind::predicate ||
        operand.bytes < bytes)
      fail("bad vector: " + whole);
  return add_list(std::move(operands));
}

std::int32_t Decoder::destinations(std::size_t index, std::uint32_t bytes) {
  const std::string& whole = operand_text(index);
  std::vector<Operand> operands;
  if (whole.starts_with('{')) {
    for (const std::string& part : split_operands(inside(whole, '{', '}')))
      operands.push_back(destination_text(part, bytes));
  } else {
    operands.push_back(destination_text(whole, bytes));
  }
  return add_list(std::move(operands));
}

std::int64_t Decoder::immediate(std::size_t index) {
  std::uint64_t value = 0;
  if (!parse_number(operand_text(index), value)) fail("immediate expected: " + text(index));
  return static_cast<std::int64_t>(value);
}

Operand Decoder::tensor_coordinates(std::size_t index) {
  const std::vector<std::string> parts = split_operands(inside(operand_text(index), '[', ']'));
  if (parts.size() != 2) fail("[map, {coordinates}] expected");
  std::vector<Operand> coordinates;
  for (const std::string& part : split_operands(inside(parts[1], '{', '}')))
    coordinates.push_back(source_text(part, 4));
  instruction.list = add_list(std::move(coordinates));
  return source_text(parts[0], 8);
}

std::uint32_t Decoder::label(std::size_t index) {
  std::uint32_t target = 0;
  if (!symbols_.find_label(operand_text(index), statement_.scope, target))
    fail("unknown label: " + text(index));
  return target;
}

void Decoder::finish() const {
  if (!modifiers_.empty()) fail("unknown modifier ." + modifiers_.front());
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (!used_[i]) fail("unknown operand: " + statement_.operands[i]);
}

}  // namespace bwgemm::vgpu
