// SPDX-License-Identifier: Apache-2.0
// A set-associative table with one mutex per set.
#include "api/plan_cache.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "core/hash.h"
#include "core/problem.h"

namespace bwgemm {
namespace {

std::uint64_t word(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

template <class Enumerator>
std::uint64_t half(Enumerator value) {
  return static_cast<std::uint32_t>(value);
}

// Log2 of the alignment, 8 for 256 bytes and more; 16 for null.
std::uint64_t traits(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return address == 0 ? 16 : static_cast<std::uint64_t>(std::countr_zero(address | 256));
}

// 0: a number, 1: zero, 2: on the device; nothing if it is neither.
std::optional<std::uint64_t> scalar_traits(const void* scalar, bwgemmPointerMode_t mode) {
  if (scalar == nullptr) return std::nullopt;
  if (mode == BWGEMM_POINTER_MODE_DEVICE) {
    if (reinterpret_cast<std::uintptr_t>(scalar) % alignof(float) != 0) return std::nullopt;
    return 2;
  }
  float value = 0;
  std::memcpy(&value, scalar, sizeof value);
  return is_zero(value) ? 1 : 0;
}

}  // namespace

std::optional<GemmKey> plan_key(const GemmArguments& arguments, bwgemmPointerMode_t pointer_mode,
                                int part) {
  if (arguments.m <= 0 || arguments.n <= 0 || arguments.batch_count <= 0) return std::nullopt;
  const auto alpha = scalar_traits(arguments.alpha, pointer_mode);
  const auto beta = scalar_traits(arguments.beta, pointer_mode);
  if (!alpha || !beta) return std::nullopt;
  const std::uint64_t all_traits = traits(arguments.a) | traits(arguments.b) << 5 |
                                   traits(arguments.c) << 10 | *alpha << 15 | *beta << 17 |
                                   half(arguments.batch_mode) << 19 | half(part) << 24;
  return GemmKey{{half(arguments.transa) | half(arguments.transb) << 32,
                  half(arguments.a_type) | half(arguments.b_type) << 32,
                  half(arguments.c_type) | half(arguments.compute_type) << 32,
                  half(arguments.algo) | all_traits << 32, word(arguments.m), word(arguments.n),
                  word(arguments.k), word(arguments.batch_count), word(arguments.lda),
                  word(arguments.ldb), word(arguments.ldc), word(arguments.stride_a),
                  word(arguments.stride_b), word(arguments.stride_c)}};
}

std::optional<MatmulKey> plan_key(const MatmulArguments& arguments,
                                  bwgemmPointerMode_t pointer_mode, int part) {
  const bwgemmMatmulDesc_t& desc = arguments.desc;
  if (desc.m <= 0 || desc.n <= 0 || desc.batchCount <= 0) return std::nullopt;
  const auto alpha = scalar_traits(arguments.alpha, pointer_mode);
  // Null is a zero in either mode.
  const auto beta = arguments.beta != nullptr ? scalar_traits(arguments.beta, pointer_mode)
                                              : std::optional<std::uint64_t>(1);
  if (!alpha || !beta) return std::nullopt;
  const bool is_c_d = arguments.c == arguments.d;
  const std::uint64_t operands = traits(arguments.a) | traits(arguments.b) << 5 |
                                 traits(arguments.c) << 10 | traits(arguments.d) << 15 |
                                 *alpha << 20 | *beta << 22 | std::uint64_t{is_c_d} << 24 |
                                 half(part) << 25;
  const std::uint64_t fused = traits(desc.bias) | traits(desc.rowScale) << 5 |
                              traits(desc.columnScale) << 10 | traits(desc.aux) << 15 |
                              traits(desc.workspace) << 20 | traits(desc.biasGradient) << 25;
  static_assert(std::has_unique_object_representations_v<bwgemmMatmulDesc_t>);
  MatmulKey key;  // a copy of something as long is a tenth of a warm call: there is none beside it
  std::memcpy(key.words.data(), &desc, sizeof desc);
  for (const std::size_t address :
       {offsetof(bwgemmMatmulDesc_t, bias), offsetof(bwgemmMatmulDesc_t, rowScale),
        offsetof(bwgemmMatmulDesc_t, columnScale), offsetof(bwgemmMatmulDesc_t, aux),
        offsetof(bwgemmMatmulDesc_t, workspace), offsetof(bwgemmMatmulDesc_t, biasGradient)})
    key.words[address / sizeof(std::uint64_t)] = 0;
  key.words.back() = operands | fused << 32;
  return key;
}

template <class Key>
std::optional<std::size_t> PlanCache<Key>::way_of(const Set& set, std::uint64_t hash,
                                                  const Key& key) {
  for (std::size_t way = 0; way < ways; ++way)
    if (set.hashes[way] == hash && set.last_use[way] != 0 && set.entries[way]->key == key)
      return way;
  return std::nullopt;
}

template <class Key>
typename PlanCache<Key>::Found PlanCache<Key>::find(const Key& key) {
  const std::uint64_t hash = hash_of(key.words);
  Set& set = sets_[hash % set_count];
  std::unique_lock lock(set.mutex);
  const auto way = way_of(set, hash, key);
  if (!way) return {{}, nullptr};
  set.last_use[*way] = ++set.clock;
  return {std::move(lock), &set.entries[*way]->known};
}

template <class Key>
void PlanCache<Key>::insert(const Key& key, const KnownPlan& known, std::uint64_t generation) {
  const std::uint64_t hash = hash_of(key.words);
  Set& set = sets_[hash % set_count];
  const std::lock_guard lock(set.mutex);
  if (generation != this->generation()) return;
  const auto oldest = static_cast<std::size_t>(
      std::min_element(set.last_use.begin(), set.last_use.end()) - set.last_use.begin());
  const std::size_t way = way_of(set, hash, key).value_or(oldest);
  if (set.entries[way] == nullptr) set.entries[way] = std::make_unique<Entry>();
  set.entries[way]->key = key;
  set.entries[way]->known = known;
  set.last_use[way] = ++set.clock;
  set.hashes[way] = hash;
}

template <class Key>
void PlanCache<Key>::clear() {
  // First: what is inserted into a set before it is emptied goes with it, and nothing comes after.
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (std::size_t i = 0; i < set_count; ++i) {
    const std::lock_guard lock(sets_[i].mutex);
    sets_[i].last_use.fill(0);
  }
}

template class PlanCache<GemmKey>;
template class PlanCache<MatmulKey>;

}  // namespace bwgemm
