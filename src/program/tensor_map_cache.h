// SPDX-License-Identifier: Apache-2.0
// TensorMapCache: encoded tensor maps by key. Bounded, of constant cost, usable from any threads,
// and without heap after construction. A map depends on nothing but its key, so entries never go
// stale: memory that is freed and reused for another shape has another key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "program/tensor_map.h"

namespace bwgemm {

class TensorMapCache {
 public:
  struct Counters {
    std::uint64_t hits, misses, evictions;
  };

  // Holds at most `capacity` maps, at least one.
  explicit TensorMapCache(EncodeTiled encode, std::size_t capacity = 1024);

  // Encodes on a miss, once per key however many threads ask, and passes on what encoding throws.
  TensorMap get(const TensorMapKey& key);

  Counters counters() const;

 private:
  static constexpr std::size_t max_ways = 8;

  // Keys whose hash picks the same set share its entries; the least recently used one makes room.
  struct alignas(64) Set {
    mutable std::mutex mutex;
    std::uint64_t clock = 0;
    Counters counters{};
    std::array<std::uint64_t, max_ways> last_use{};  // 0: empty
    std::array<std::uint64_t, max_ways> hashes{};
    std::array<TensorMapKey, max_ways> keys{};
    std::array<TensorMap, max_ways> maps{};
  };

  std::size_t victim(const Set& set) const;

  EncodeTiled encode_;
  std::size_t ways_, set_count_;
  std::unique_ptr<Set[]> sets_;
};

}  // namespace bwgemm
