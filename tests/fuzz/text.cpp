// SPDX-License-Identifier: Apache-2.0
#include "text.h"

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

// One number of a case or call. Words, if there are any, stand for 0, 1, ...
struct Field {
  Field(std::string name_of, std::int64_t& value_of, std::vector<std::string_view> words_of = {})
      : name(std::move(name_of)), value(&value_of), words(std::move(words_of)) {}

  std::string name;
  std::int64_t* value;
  std::vector<std::string_view> words;
};
using Fields = std::vector<Field>;

Fields fields_of(Case& item) {
  return {{"chain", item.chain},
          {"capture", item.capture, {"none", "global", "thread", "relaxed"}},
          {"threads", item.threads},
          {"repeat", item.repeat}};
}

// `name`: of the operand, behind what each field is called. A vector has no leading dimension.
void add_placement(Fields& fields, std::string_view name, Placement& at, bool is_vector = false) {
  const auto add = [&](const char* what, std::int64_t& value) {
    fields.emplace_back(std::string(what).append(name), value);
  };
  if (!is_vector) {
    add("pad", at.pad);
    add("round", at.round);
  }
  add("offset", at.offset);
  add("stride", at.stride);
}

void add_extras(Fields& fields, Extras& extras) {
  const std::vector<std::string_view> orders = {"columns", "rows"}, types = {"in", "f32"};
  const Field more[] = {{"tune", extras.tune},
                        {"listed", extras.listed},
                        {"arrays", extras.arrays},
                        {"apart", extras.c_apart},
                        {"nobeta", extras.no_beta},
                        {"gate", extras.gate, {"none", "interleaved", "stacked"}},
                        {"aux", extras.aux, {"none", "store", "derivative"}},
                        {"activation",
                         extras.activation,
                         {"none", "relu", "gelu", "erf", "silu", "sigmoid", "clamp"}},
                        {"bias", extras.bias, {"none", "m", "n"}},
                        {"gradient", extras.gradient, {"none", "rows", "columns", "a", "b"}},
                        {"rowscale", extras.row_scale},
                        {"columnscale", extras.column_scale},
                        {"ordera", extras.a_in_rows, orders},
                        {"orderb", extras.b_in_rows, orders},
                        {"orderc", extras.d_in_rows, orders},
                        {"orderapart", extras.c_in_rows, orders},
                        {"typeapart", extras.f32_addend, types},
                        {"typeaux", extras.f32_aux, types},
                        {"typebias", extras.f32_bias, types},
                        {"typegradient", extras.f32_gradient, types},
                        {"override", extras.own_workspace}};
  fields.insert(fields.end(), std::begin(more), std::end(more));
  add_placement(fields, "apart", extras.addend);
  add_placement(fields, "aux", extras.aux_at);
  add_placement(fields, "bias", extras.bias_at, true);
  add_placement(fields, "rowscale", extras.row_scale_at, true);
  add_placement(fields, "columnscale", extras.column_scale_at, true);
  add_placement(fields, "gradient", extras.gradient_at, true);
}

Fields fields_of(Call& call) {
  Fields fields = {{"batch", call.batch},
                   {"m", call.m},
                   {"n", call.n},
                   {"k", call.k},
                   {"splits", call.splits},
                   {"sums", call.sums},
                   {"operands", call.operands, operands_words},
                   {"entry", call.entry, {"ex", "batched", "typed", "arrays", "matmul"}},
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
                   {"preload", call.preload, {"none", "everything", "call"}},
                   {"denormals", call.flushes, {"kept", "flushed"}},
                   {"share", call.share},
                   {"unreadable", call.unreadable},
                   {"specials", call.specials},
                   {"beside", call.side_by_side}};
  add_extras(fields, call.extras);
  add_placement(fields, "a", call.a);
  add_placement(fields, "b", call.b);
  add_placement(fields, "c", call.c);
  fields.emplace_back("integers", call.integers);
  fields.emplace_back("seed", call.seed);
  return fields;
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

}  // namespace

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
