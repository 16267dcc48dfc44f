// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace bwgemm::fuzz {
namespace {

using test::Matrix;

// One number of a case or call. Words, if there are any, stand for 0, 1, ...
struct Field {
  Field(std::string_view name_of, std::int64_t& value_of,
        std::vector<std::string_view> words_of = {})
      : name(name_of), value(&value_of), words(std::move(words_of)) {}

  std::string_view name;
  std::int64_t* value;
  std::vector<std::string_view> words;
};
using Fields = std::vector<Field>;

Fields fields_of(Case& item) {
  return {{"chain", item.chain},
          {"capture", item.capture, {"none", "global", "thread", "relaxed"}},
          {"repeat", item.repeat}};
}

Fields fields_of(Call& call) {
  return {{"batch", call.batch},
          {"m", call.m},
          {"n", call.n},
          {"k", call.k},
          {"splits", call.splits},
          {"entry", call.entry, {"ex", "batched", "typed"}},
          {"transa", call.transa, {"N", "T", "C"}},
          {"transb", call.transb, {"N", "T", "C"}},
          {"in", call.f16_input, {"bf16", "f16"}},
          {"out", call.f32_output, {"in", "f32"}},
          {"scalars", call.device_scalars, {"host", "device"}},
          {"workspace", call.workspace, {"library", "none", "limit", "own"}},
          {"bytes", call.workspace_bytes},
          {"sms", call.sm_count},
          {"pdl", call.programmatic},
          {"determinism", call.invariant, {"bitwise", "invariant"}},
          {"stream", call.stream, {"legacy", "nonblocking", "blocking", "perthread"}},
          {"algo", call.algo},
          {"share", call.share},
          {"unreadable", call.unreadable},
          {"specials", call.specials},
          {"beside", call.side_by_side},
          {"pada", call.a.pad},
          {"padb", call.b.pad},
          {"padc", call.c.pad},
          {"rounda", call.a.round},
          {"roundb", call.b.round},
          {"roundc", call.c.round},
          {"offseta", call.a.offset},
          {"offsetb", call.b.offset},
          {"offsetc", call.c.offset},
          {"stridea", call.a.stride},
          {"strideb", call.b.stride},
          {"stridec", call.c.stride},
          {"integers", call.integers},
          {"seed", call.seed}};
}

// What is not as by default.
template <class T>
void print(std::ostream& out, T from) {
  T plain;
  const Fields plain_fields = fields_of(plain), fields = fields_of(from);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::int64_t value = *fields[i].value;
    if (value == *plain_fields[i].value) continue;
    out << fields[i].name << '=';
    if (fields[i].words.empty())
      out << value << ' ';
    else
      out << fields[i].words[static_cast<std::size_t>(value)] << ' ';
  }
}

std::string number(float value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

[[noreturn]] void refuse(std::string_view word) {
  throw std::runtime_error("not understood: " + std::string(word));
}

// False if no field has the name.
bool assign(const Fields& fields, std::string_view name, const std::string& value) {
  const auto field =
      std::find_if(fields.begin(), fields.end(), [&](const Field& of) { return of.name == name; });
  if (field == fields.end()) return false;
  const auto word = std::find(field->words.begin(), field->words.end(), value);
  if (word != field->words.end()) {
    *field->value = word - field->words.begin();
    return true;
  }
  char* end = nullptr;
  *field->value = std::strtoll(value.c_str(), &end, 10);
  if (!field->words.empty() || value.empty() || *end != '\0') refuse(value);
  return true;
}

void read_word(Case& item, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) refuse(word);
  const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
  if (item.calls.empty()) {
    if (!assign(fields_of(item), name, value)) refuse(word);
    return;
  }
  Call& call = item.calls.back();
  if (name == "kernel")
    call.kernel = value;
  else if (name == "alpha" || name == "beta")
    (name == "alpha" ? call.alpha : call.beta) = std::strtof(value.c_str(), nullptr);
  else if (!assign(fields_of(call), name, value))
    refuse(word);
}

std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

Matrix placed(Dtype type, std::int64_t rows, std::int64_t columns, std::int64_t batch,
              const Placement& at) {
  const std::int64_t ld = round_up(std::max<std::int64_t>(rows, 1) + at.pad, at.round);
  return {type, rows, columns, ld, batch, at.stride >= 0 ? at.stride : ld * columns};
}

void normalise(Call& call) {
  if (call.entry_kind() == Entry::typed) call.f32_output = 0;
  if (call.entry_kind() != Entry::batched) call.batch = 1;
  for (Placement* at : {&call.a, &call.b, &call.c}) {
    at->round = std::max<std::int64_t>(at->round, 1);
    if (call.entry_kind() != Entry::batched) at->stride = -1;
  }
  if (call.batch <= 1) call.side_by_side = 0;
  if (!call.scale_only()) call.unreadable = 0;
  if (call.unreadable != 0) call.share = 0;
  if (call.share != 0) {  // A times its own transpose
    call.n = call.m;
    call.transb = call.transa != 0 ? 0 : 1;
    call.b = call.a;
  }
  // Batches of C apart: nothing but a gap, or beside each other.
  const Matrix packed = placed(call.output(), call.m, call.n, 1, call.c);
  if (call.c.stride >= 0) call.c.stride = std::max(call.c.stride, packed.ld() * call.n);
  if (call.workspace != static_cast<std::int64_t>(WorkspaceKind::own) &&
      call.workspace != static_cast<std::int64_t>(WorkspaceKind::limit))
    call.workspace_bytes = 0;
  else
    call.workspace_bytes = std::max<std::int64_t>(call.workspace_bytes, 256);
}

// A of the second call is C of the first, one matrix.
void link(Call& first, Call& second) {
  first.entry = second.entry = static_cast<std::int64_t>(Entry::ex);
  first.f32_output = second.share = second.unreadable = 0;
  normalise(first);
  second.f16_input = first.f16_input;
  second.stream = first.stream;
  (second.transa != 0 ? second.k : second.m) = first.m;
  (second.transa != 0 ? second.m : second.k) = first.n;
  second.a = first.c;
}

}  // namespace

Matrix Call::a_matrix() const {
  return placed(input(), transa != 0 ? k : m, transa != 0 ? m : k, batch, a);
}

Matrix Call::b_matrix() const {
  return placed(input(), transb != 0 ? n : k, transb != 0 ? k : n, batch, b);
}

Matrix Call::c_matrix() const {
  if (side_by_side == 0) return placed(output(), m, n, batch, c);
  const std::int64_t apart = round_up(std::max<std::int64_t>(m, 1), c.round);
  const std::int64_t ld = round_up(std::max<std::int64_t>(batch, 1) * apart + c.pad, c.round);
  return {output(), m, n, ld, batch, apart};
}

double Case::multiply_adds() const {
  double sum = 0;
  for (const Call& call : calls)
    sum += static_cast<double>(call.m * call.n) * static_cast<double>(call.k * call.batch);
  return sum;
}

void normalise(Case& item) {
  if (item.calls.empty()) item.calls.emplace_back();
  if (item.calls.size() < 2) item.chain = 0;
  for (Call& call : item.calls) {
    normalise(call);
    if (item.capture == 0) continue;
    if (call.stream == static_cast<std::int64_t>(StreamKind::legacy))  // cannot be captured
      call.stream = static_cast<std::int64_t>(StreamKind::non_blocking);
    call.stream = item.calls[0].stream;
  }
  if (item.chain == 0) return;
  link(item.calls[0], item.calls[1]);
  normalise(item.calls[1]);
}

std::string to_text(const Case& item) {
  std::ostringstream out;
  print(out, item);
  for (const Call& call : item.calls) {
    out << "call ";
    if (!call.kernel.empty()) out << "kernel=" << call.kernel << ' ';
    out << "alpha=" << number(call.alpha) << " beta=" << number(call.beta) << ' ';
    print(out, call);
  }
  std::string text = out.str();
  text.pop_back();
  return text;
}

Case from_text(const std::string& text) {
  Case item;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (word == "call")
      item.calls.emplace_back();
    else
      read_word(item, word);
  normalise(item);
  return item;
}

std::vector<Case> simpler(const Case& item) {
  std::vector<Case> found;
  std::set<std::string> seen{to_text(item)};
  const auto add = [&](Case other) {
    normalise(other);
    if (seen.insert(to_text(other)).second) found.push_back(std::move(other));
  };
  for (std::size_t i = 0; item.calls.size() > 1 && i < item.calls.size(); ++i) {
    Case other = item;
    other.calls.erase(other.calls.begin() + static_cast<std::ptrdiff_t>(i));
    add(std::move(other));
  }
  Case changed = item;
  const auto add_steps = [&](const Field& field, std::int64_t plain) {
    const std::int64_t value = *field.value;
    std::vector<std::int64_t> steps = {plain};
    if (field.words.empty() && value > 4) steps = {plain, value / 2, value / 16 * 8, value - 1};
    for (const std::int64_t step : steps) {
      *field.value = step;
      add(changed);
    }
    *field.value = value;
  };
  for (const Field& field : fields_of(changed)) add_steps(field, 0);
  for (Call& call : changed.calls) {
    Call plain;
    const Fields plain_fields = fields_of(plain), fields = fields_of(call);
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i].name != "seed") add_steps(fields[i], *plain_fields[i].value);
    const Call original = call;
    call.alpha = 1;
    add(changed);
    call.alpha = original.alpha;
    call.beta = 0;
    add(changed);
    call = original;
  }
  return found;
}

}  // namespace bwgemm::fuzz
