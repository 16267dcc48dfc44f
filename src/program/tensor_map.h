// SPDX-License-Identifier: Apache-2.0
// TensorMapKey: every input of cuTensorMapEncodeTiled as one value without padding, built from a
// matrix and the box that a kernel moves. TensorMapCache: encoded maps by key. Equal keys are equal
// maps, which is what lets the cache compare bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <memory>
#include <mutex>
#include <type_traits>

#include "core/problem.h"
#include "device/params.h"

namespace bwgemm {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

inline constexpr int max_tensor_map_rank = 5;
inline constexpr int matrix_map_rank = 3;

struct TensorMapKey {
  std::uint64_t address;
  std::uint64_t dims[max_tensor_map_rank];         // elements; of a matrix: inner, outer, batch
  std::uint64_t strides[max_tensor_map_rank - 1];  // bytes; of a matrix: outer, batch
  std::uint32_t box[max_tensor_map_rank];
  std::uint32_t element_stride;  // in every dimension
  std::uint32_t type, rank;
  std::uint32_t interleave, swizzle, promotion, oob_fill;

  bool operator==(const TensorMapKey&) const = default;
};
static_assert(std::has_unique_object_representations_v<TensorMapKey>, "the key has padding");

// A matrix as TMA sees it: `inner` is the contiguous index.
struct MapExtent {
  std::int64_t inner, outer, batch;
};
struct MapBox {
  int inner, outer;
};

// Whether L2 fetches more from memory than a box asks for, namely what its neighbours will need.
enum class Promotion { none, l2_256b };

// The swizzle is as wide as a row of the box: 128, 64 or 32 bytes; none for rows of 16. A matrix
// that repeats over the batch has one batch in its map; a map of two dimensions is of one.
TensorMapKey tensor_map_key(const Matrix& matrix, const MapExtent& extent, const MapBox& box,
                            int rank = matrix_map_rank, Promotion promotion = Promotion::l2_256b);

std::uint64_t hash(const TensorMapKey& key);

// Throws INTERNAL_ERROR with every input in its text if the driver refuses.
TensorMap encoded(EncodeTiled encode, const TensorMapKey& key);

// Bounded, of constant cost, usable from any threads,
// and without heap after construction. A map depends on nothing but its key, so entries never go
// stale: memory that is freed and reused for another shape has another key.
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
