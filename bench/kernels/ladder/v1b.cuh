// SPDX-License-Identifier: Apache-2.0
// v1b: the same columns of 16 bytes by one TMA an operand. A map of three dimensions cuts k into
// columns: {8 of k, rows, columns}.
#pragma once

#include "ladder/v1a.cuh"

namespace bwgemm::ladder::v1b {

inline constexpr Shape shape = shape_of("v1b");

struct Technique : v1a::Technique {
  template <int depth, int rows>
  BWGEMM_DEVICE static void load(std::uint32_t to, const TensorMap& map, int row, int k,
                                 std::uint32_t barrier) {
    ptx::cp_async_bulk_tensor_3d(to, map, 0, row, k / 8, barrier);
  }
};

}  // namespace bwgemm::ladder::v1b
