// SPDX-License-Identifier: Apache-2.0
// v2b: the same by one TMA an operand: {64 of k, rows, boxes}.
#pragma once

#include "ladder/v2a.cuh"

namespace bwgemm::ladder::v2b {

inline constexpr Shape shape = shape_of("v2b");

struct Technique : v2a::Technique {
  template <int depth, int rows>
  BWGEMM_DEVICE static void load(std::uint32_t to, const TensorMap& map, int row, int k,
                                 std::uint32_t barrier) {
    ptx::cp_async_bulk_tensor_3d(to, map, 0, row, k / 64, barrier);
  }
};

}  // namespace bwgemm::ladder::v2b
