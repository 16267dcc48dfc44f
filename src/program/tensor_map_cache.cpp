// SPDX-License-Identifier: Apache-2.0
// A set-associative table with one mutex per set.
#include "program/tensor_map_cache.h"

#include <algorithm>
#include <bit>

namespace bwgemm {

TensorMapCache::TensorMapCache(EncodeTiled encode, std::size_t capacity)
    : encode_(encode),
      ways_(std::clamp<std::size_t>(capacity, 1, max_ways)),
      set_count_(std::bit_floor(std::max<std::size_t>(capacity, 1) / ways_)),
      sets_(std::make_unique<Set[]>(set_count_)) {}

TensorMap TensorMapCache::get(const TensorMapKey& key) {
  const std::uint64_t hashed = hash(key);
  Set& set = sets_[hashed & (set_count_ - 1)];
  const std::lock_guard lock(set.mutex);
  const std::uint64_t now = ++set.clock;
  for (std::size_t way = 0; way < ways_; ++way) {
    if (set.hashes[way] != hashed || set.last_use[way] == 0 || set.keys[way] != key) continue;
    set.last_use[way] = now;
    ++set.counters.hits;
    return set.maps[way];
  }
  ++set.counters.misses;
  const TensorMap map = encoded(encode_, key);
  const std::size_t way = victim(set);
  if (set.last_use[way] != 0) ++set.counters.evictions;
  set.last_use[way] = now;
  set.hashes[way] = hashed;
  set.keys[way] = key;
  set.maps[way] = map;
  return map;
}

std::size_t TensorMapCache::victim(const Set& set) const {
  const auto begin = set.last_use.begin();
  return static_cast<std::size_t>(
      std::min_element(begin, begin + static_cast<std::ptrdiff_t>(ways_)) - begin);
}

TensorMapCache::Counters TensorMapCache::counters() const {
  Counters sum{};
  for (std::size_t i = 0; i < set_count_; ++i) {
    const std::lock_guard lock(sets_[i].mutex);
    sum.hits += sets_[i].counters.hits;
    sum.misses += sets_[i].counters.misses;
    sum.evictions += sets_[i].counters.evictions;
  }
  return sum;
}

}  // namespace bwgemm
