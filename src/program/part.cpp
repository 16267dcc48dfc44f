// SPDX-License-Identifier: Apache-2.0
#include "program/part.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace bwgemm {
namespace {

// Where workspace and counters are taken to be until a call has some.
constexpr std::uint64_t nominal_scratch = 256;

void set(Values& values, Argument argument, const Scalar& scalar) {
  if (scalar.device != nullptr)
    values.set(argument, scalar.device);
  else
    values.set(argument, scalar.value);
}

}  // namespace

Provenance provenance(const Problem& problem, bool is_exchanged) {
  Provenance from;
  if (problem.c.data != problem.d.data) from.c = Argument::c;
  return is_exchanged ? from.transposed() : from;
}

Values values_of(const Problem& problem, bool is_exchanged) {
  const Provenance from = provenance(problem, is_exchanged);
  const Epilogue& epilogue = problem.epilogue;
  const Vector& bias = epilogue.row_bias.data != nullptr ? epilogue.row_bias : epilogue.column_bias;
  Values values;
  set(values, Argument::alpha, problem.alpha);
  set(values, Argument::beta, problem.beta);
  values.set(from.a, problem.a.data);
  values.set(from.b, problem.b.data);
  values.set(Argument::c, problem.c.data);
  values.set(Argument::d, problem.d.data);
  values.set(from.row_scale, epilogue.row_scale.data);
  values.set(from.column_scale, epilogue.column_scale.data);
  values.set(Argument::bias, bias.data);
  values.set(Argument::aux, epilogue.aux.data);
  values.set(Argument::bias_gradient, problem.bias_gradient.to.data);
  values[Argument::workspace] = values[Argument::counters] = nominal_scratch;
  return values;
}

void Part::add(Step step, const void* params, std::size_t bytes) {
  const std::size_t begin = this->bytes();
  if (step_count_ == most_steps || begin + bytes > most_bytes)
    throw Error(BWGEMM_STATUS_INTERNAL_ERROR, "a part of a call has too many steps");
  params_.resize(params_.size() + (bytes + sizeof(Chunk) - 1) / sizeof(Chunk));
  bytes_ = sizeof(Chunk) * params_.size();
  std::memcpy(params_[0].bytes + begin, params, bytes);  // with padding: equal parts, equal bytes
  if (step_count_ == 0) step.overlap = first_;
  step.params_at = static_cast<std::uint32_t>(begin);
  steps_[step_count_++] = step;
}

// Where not all fields could be written, the next move writes all.
void Part::relocate(const Values& to, TensorMapCache& maps) {
  const bool was_placed = is_placed_;
  is_placed_ = false;
  std::byte* const params = params_[0].bytes;
  const Relocation* last_map = nullptr;
  for (const Relocation& relocation : relocations_) {
    const auto& [argument, kind, key, at, delta] = relocation;
    if (was_placed && at_[argument] == to[argument]) continue;
    const std::uint64_t value = to[argument] + delta;
    if (kind == FieldKind::word) {
      std::memcpy(params + at, &value, sizeof(std::uint32_t));
    } else if (kind == FieldKind::address) {
      std::memcpy(params + at, &value, sizeof value);
    } else if (last_map != nullptr && last_map->key == key) {
      std::memcpy(params + at, params + last_map->at, sizeof(TensorMap));
    } else {
      keys_[key].address = value;
      const TensorMap map = maps.get(keys_[key]);
      std::memcpy(params + at, &map, sizeof map);
      last_map = &relocation;
    }
  }
  at_ = to;
  is_placed_ = true;
}

void Linker::scalar(const Scalar& field, Argument argument) {
  if (field.device != nullptr)
    address(field.device, argument);
  else
    add(FieldKind::word, &field.value, argument, base_[argument], 0);
}

void Linker::map(const TensorMap& field, const TensorMapKey& key, Argument argument) {
  std::vector<TensorMapKey>& keys = part_.keys_;
  const auto follows_equal_map = [&] {
    const Relocation& last = part_.relocations_.back();
    return last.kind == FieldKind::map && last.argument == argument && keys.back() == key;
  };
  if (keys.empty() || !follows_equal_map()) keys.push_back(key);
  add(FieldKind::map, &field, argument, key.address, keys.size() - 1);
}

void Linker::add(FieldKind kind, const void* field, Argument argument, std::uint64_t value,
                 std::size_t key) {
  part_.used_ = std::max(part_.used_, static_cast<std::size_t>(argument) + 1);
  const auto at = to_integer(field) - to_integer(params_) + part_.bytes();
  part_.relocations_.push_back({argument, kind, static_cast<std::uint16_t>(key),
                                static_cast<std::uint32_t>(at), value - base_[argument]});
}

}  // namespace bwgemm
