// SPDX-License-Identifier: Apache-2.0
#include "api/choice_cache.h"

#include <algorithm>
#include <bit>

namespace bwgemm {
namespace {

// Log2 of the alignment, 8 for 256 bytes and more and for null.
std::uint64_t alignment(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return static_cast<std::uint64_t>(std::min(std::countr_zero(address), 8));
}

std::uint64_t traits(const Matrix& matrix) {
  return alignment(matrix.data) | static_cast<std::uint64_t>(matrix.type) << 4 |
         static_cast<std::uint64_t>(matrix.order) << 8 | std::uint64_t{matrix.data == nullptr} << 9;
}

std::uint64_t traits(const Scalar& scalar) {
  return scalar.device != nullptr ? 2 : scalar.value == 0 ? 1 : 0;
}

std::uint64_t word(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

ChoiceKey choice_key(const Problem& problem) {
  const Matrix &a = problem.a, &b = problem.b, &c = problem.c, &d = problem.d;
  const std::uint64_t traits_of_all =
      traits(a) | traits(b) << 10 | traits(c) << 20 | traits(d) << 30 |
      traits(problem.alpha) << 40 | traits(problem.beta) << 42 |
      std::uint64_t{c.data == d.data} << 44 | static_cast<std::uint64_t>(problem.epilogue) << 48;
  return {{word(problem.m), word(problem.n), word(problem.k), word(problem.batch), word(a.ld),
           word(b.ld), word(c.ld), word(d.ld), word(a.batch_stride), word(b.batch_stride),
           word(c.batch_stride), word(d.batch_stride), traits_of_all}};
}

ChoiceCache::Set& ChoiceCache::set_of(const ChoiceKey& key) {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : key.words)
    hash = (std::rotl(hash, 5) ^ word) * 0x9e3779b97f4a7c15;
  return sets_[hash >> 58];
}

std::optional<Choice> ChoiceCache::find(const ChoiceKey& key) {
  static_assert(set_count == 64, "set_of takes the upper 6 bits of the hash");
  const Set& set = set_of(key);
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : set.entries)
    if (entry.is_used && entry.key == key) return entry.choice;
  return std::nullopt;
}

void ChoiceCache::insert(const ChoiceKey& key, const Choice& choice) {
  Set& set = set_of(key);
  const std::lock_guard lock(mutex_);
  set.entries[set.next] = {true, key, choice};
  set.next = (set.next + 1) % ways;
}

void ChoiceCache::clear() {
  const std::lock_guard lock(mutex_);
  std::fill_n(sets_.get(), set_count, Set{});
}

}  // namespace bwgemm
