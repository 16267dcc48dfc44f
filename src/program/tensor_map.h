// SPDX-License-Identifier: Apache-2.0
// TensorMapKey: every input of cuTensorMapEncodeTiled as one value without padding, built from a
// matrix and the box that a kernel moves. Equal keys are equal maps, which is what lets the cache
// compare bytes.
#pragma once

#include <cstdint>
#include <cuda.h>
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

}  // namespace bwgemm
