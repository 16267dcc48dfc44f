// SPDX-License-Identifier: Apache-2.0
// atom and red on global memory. A read-modify-write takes what was published at its address and
// leaves it there for those after it.
#include <algorithm>

#include "vgpu/memory_access.h"
#include "vgpu/number.h"

namespace bwgemm::vgpu {
namespace {

enum class Operation : std::uint32_t { add, minimum, maximum, bit_and, bit_or, exchange, swap_if };
constexpr int operation_shift = 8, type_shift = 12;

std::uint64_t apply(Operation operation, Type type, std::uint64_t old, std::uint64_t value,
                    std::uint64_t other) {
  switch (operation) {
    case Operation::add:
      if (type == Type::f32)
        return bits_of(float_from_bits(static_cast<std::uint32_t>(old)) +
                       float_from_bits(static_cast<std::uint32_t>(value)));
      return old + value;
    case Operation::minimum:
      if (type == Type::s32)
        return static_cast<std::uint32_t>(
            std::min(static_cast<std::int32_t>(old), static_cast<std::int32_t>(value)));
      return std::min(old, value);
    case Operation::maximum:
      if (type == Type::s32)
        return static_cast<std::uint32_t>(
            std::max(static_cast<std::int32_t>(old), static_cast<std::int32_t>(value)));
      return std::max(old, value);
    case Operation::bit_and: return old & value;
    case Operation::bit_or: return old | value;
    case Operation::exchange: return value;
    case Operation::swap_if: return old == value ? other : old;
  }
  return old;
}

// The lanes act one after the other, in an order nobody may rely on.
Step execute_atomic(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  const Ordering ordering = Ordering::from_bits(instruction.modifiers & ordering_bits);
  const auto operation = static_cast<Operation>(instruction.modifiers >> operation_shift & 15);
  const auto type = static_cast<Type>(instruction.modifiers >> type_shift);
  const std::uint32_t bytes = instruction.size;
  auto operand = [&](const Operand& from, int lane) {
    std::uint64_t value = 0;
    if (from.exists()) std::memcpy(&value, lanes<std::byte>(warp, from) + lane * from.bytes, bytes);
    return value;
  };
  const int first =
      simulation.options().adversarial ? static_cast<int>(simulation.random(warp_lanes)) : 0;
  for (int i = 0; i < warp_lanes; ++i) {
    const int lane = (first + i) % warp_lanes;
    if (!(mask >> lane & 1)) continue;
    const LaneMask self = 1u << lane;
    const std::uint64_t address = address_of(warp, instruction, instruction.a, lane);
    if (address % bytes != 0)
      simulation.findings().fatal("misaligned", "atomic at global " + hexadecimal(address),
                                  &instruction);
    std::byte* memory = simulation.global(address, bytes, false, &instruction);
    simulation.check_initialised(address, bytes, &instruction);
    observe(warp, self, address, ordering);
    simulation.global_shadow().write({warp, lane, &instruction, "atomic", true}, address, bytes);
    const View released = ordering.releases ? warp.release(self) : View();
    publish(warp, self, address, ordering, released);
    std::uint64_t old = 0;
    std::memcpy(&old, memory, bytes);
    const std::uint64_t result =
        apply(operation, type, old, operand(instruction.b, lane), operand(instruction.c, lane));
    std::memcpy(memory, &result, bytes);
    if (instruction.d.exists())
      std::memcpy(lanes<std::byte>(warp, instruction.d) + lane * instruction.d.bytes, &old, bytes);
  }
  return Step::next;
}

}  // namespace

bool decode_atomic(Decoder& decoder) {
  if (decoder.base() != "atom" && decoder.base() != "red") return false;
  const bool returns = decoder.base() == "atom";
  Instruction& instruction = decoder.instruction;
  Ordering ordering = decode_ordering(decoder);
  if (!ordering.strong) {  // unsaid is relaxed, at a scope that is unsaid or not
    ordering.strong = true;
    ordering.scope = Scope::gpu;
    for (int scope = 0; const char* name : {"cta", "cluster", "gpu", "sys"}) {
      if (decoder.take(name)) ordering.scope = static_cast<Scope>(std::min(scope, 2));
      ++scope;
    }
  }
  decoder.expect("global");
  const auto operation =
      static_cast<Operation>(decoder.one_of({"add", "min", "max", "and", "or", "exch", "cas"}));
  const Type type = decoder.type();
  const bool is_float_add = type == Type::f32 && operation == Operation::add;
  if (size_bytes(type) < 4 || !(is_integer(type) || is_float_add) || type == Type::s64)
    decoder.fail("type not supported");
  instruction.size = size_bytes(type);
  instruction.modifiers = ordering.bits() |
                          static_cast<std::uint32_t>(operation) << operation_shift |
                          static_cast<std::uint32_t>(type) << type_shift;
  const std::size_t at = returns ? 1 : 0;
  if (returns) instruction.d = decoder.destination(0, instruction.size);
  instruction.a = decoder.address(at, 8);
  instruction.b = decoder.source(at + 1, instruction.size);
  if (operation == Operation::swap_if) instruction.c = decoder.source(at + 2, instruction.size);
  instruction.execute = execute_atomic;
  return true;
}

}  // namespace bwgemm::vgpu
