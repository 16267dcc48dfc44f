// SPDX-License-Identifier: Apache-2.0
// PingPong: two consumer warpgroups multiply one after the other, each its own tiles. One phase bit
// tells consecutive fills of a slot apart, so a consumer may lag by less than one trip round the
// ring. A warpgroup therefore starts only when the other has waited for every slot of its tile.
#pragma once

#include "families/sm90/consumer.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class PingPong {
 public:
  BWGEMM_DEVICE PingPong(int warpgroup, int k_blocks, OperandReader<config>& operands)
      : mine_(1 + warpgroup),
        others_(2 - warpgroup),
        k_blocks_(k_blocks),
        is_first_(warpgroup == 0) {
    if (!is_first_) pass(operands);
  }
  BWGEMM_DEVICE void wait() {
    if (!is_first_) ptx::barrier_sync(mine_, threads);
    is_first_ = false;
  }
  BWGEMM_DEVICE void hand_over(bool is_awaited) const {
    if (is_awaited) ptx::barrier_arrive(others_, threads);
  }
  // Passes by the slots of the other warpgroup's tile.
  BWGEMM_DEVICE void pass(OperandReader<config>& operands) const { operands.pass(k_blocks_); }

 private:
  static constexpr int threads = 2 * 128;
  int mine_, others_;  // barriers
  int k_blocks_;
  bool is_first_;  // nobody multiplies before this tile
};

}  // namespace bwgemm::sm90
