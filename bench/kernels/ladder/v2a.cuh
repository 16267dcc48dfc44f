// SPDX-License-Identifier: Apache-2.0
// v2a: rows of 128 bytes with the 128-byte swizzle, in the maps and in the descriptors: 64 of k are
// one box, and 8 rows of it are 1024 bytes that lie together.
#pragma once

#include "ladder/v1a.cuh"

namespace bwgemm::ladder::v2a {

inline constexpr Shape shape = shape_of("v2a");

struct Technique : v1a::Technique {
  template <int depth, int rows>
  BWGEMM_DEVICE static void load(std::uint32_t to, const TensorMap& map, int row, int k,
                                 std::uint32_t barrier) {
#pragma unroll
    for (int box = 0; box < depth / 64; ++box)
      ptx::cp_async_bulk_tensor_2d(to + box * rows * 128, map, k + 64 * box, row, barrier);
  }
  // Four instructions walk along the rows of a box: the address moves, hardware swizzles it. The
  // leading offset has no meaning, and is the smallest.
  template <int rows>
  BWGEMM_DEVICE static std::uint64_t descriptor(std::uint32_t address, int instruction) {
    const int box = instruction / 4, in_row = instruction % 4;
    return matrix_descriptor(address + box * rows * 128 + in_row * 32, 16, 8 * 128, 2);
  }
};

}  // namespace bwgemm::ladder::v2a
