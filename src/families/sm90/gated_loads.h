// SPDX-License-Identifier: Apache-2.0
// load_gated: the loads of the operand whose columns, or rows, a gate reorders.
#pragma once

#include "device/ptx/cp_async_bulk.h"
#include "families/sm90/producer.h"

namespace bwgemm::sm90 {

// Loads the part of this CTA. FusedParams::columns says what the order is.
template <OperandTile tile>
BWGEMM_DEVICE void load_gated(const TensorMap& map, const OperandPart& part,
                              std::uint32_t destination, int mn, int k, int batch,
                              std::uint32_t barrier) {
  constexpr int group = 16;  // x and y
  static_assert(tile.part() % group == 0 && tile.box() == tile.part());
  const std::uint32_t to = destination + part.first * swizzle_row_bytes;
  const int first = (mn + part.first) / group;
  if constexpr (tile.sharers == 1)
    ptx::cp_async_bulk_tensor_5d(to, map, k, 0, 0, first, batch, barrier);
  else
    ptx::cp_async_bulk_tensor_5d_multicast(to, map, k, 0, 0, first, batch, barrier, part.mask);
}

}  // namespace bwgemm::sm90
