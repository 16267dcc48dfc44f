// SPDX-License-Identifier: Apache-2.0
// OutputBoxes: the walk of the output role over the tiles of its kernel, box by box.
#pragma once

#include "device/params.h"
#include "device/ptx/attributes.h"
#include "device/raster.h"

namespace bwgemm {

// The part of a cluster's tile that one output stack (a set of staging buffers) covers, in the
// directions of memory: D's elements are contiguous along inner, which is n, or m where D lies in
// column order.
struct OutputWindow {
  bool inner_is_m;
  int tile_inner, tile_outer;  // extent of the cluster's tile
  int inner, outer;            // of the window inside the cluster's tile
  int inner_extent, outer_extent;
  int box_inner, box_outer;  // what one staging buffer holds; see OutputBoxes
};

// The boxes of an output stack in the order in which they pass through its staging buffers: along
// the lines of each window, then line after line, then tile after tile. `may_overlap`: boxes need
// not divide a line; the last box of a line then begins inside the one before.
template <class Walk, bool may_overlap = false>
class OutputBoxes {
 public:
  BWGEMM_DEVICE OutputBoxes(const KernelParams& params, const OutputWindow& window,
                            const Walk& tiles)
      : window_(window), tiles_(tiles) {
    locate(params);
  }

  BWGEMM_DEVICE bool valid() const { return tiles_.valid(); }
  BWGEMM_DEVICE int inner() const { return first_inner_ + done_inner_; }
  BWGEMM_DEVICE int outer() const { return first_outer_ + done_outer_; }
  BWGEMM_DEVICE int batch() const { return batch_; }
  BWGEMM_DEVICE bool is_last_of_line() const {
    return done_inner_ + window_.box_inner == window_.inner_extent;
  }

  BWGEMM_DEVICE void advance(const KernelParams& params) {
    done_inner_ += window_.box_inner;
    if (done_inner_ != window_.inner_extent) {
      if constexpr (may_overlap)
        done_inner_ = min(done_inner_, window_.inner_extent - window_.box_inner);
      return;
    }
    done_inner_ = 0;
    done_outer_ += window_.box_outer;
    if (done_outer_ != window_.outer_extent) return;
    done_outer_ = 0;
    tiles_.advance();
    locate(params);
  }

 private:
  BWGEMM_DEVICE void locate(const KernelParams& params) {
    if (!tiles_.valid()) return;
    const TileIndex tile = tiles_.at(params);
    first_inner_ = (window_.inner_is_m ? tile.m : tile.n) * window_.tile_inner + window_.inner;
    first_outer_ = (window_.inner_is_m ? tile.n : tile.m) * window_.tile_outer + window_.outer;
    batch_ = tile.batch;
  }

  OutputWindow window_;
  Walk tiles_;
  int first_inner_ = 0, first_outer_ = 0, batch_ = 0;
  int done_inner_ = 0, done_outer_ = 0;
};

}  // namespace bwgemm
