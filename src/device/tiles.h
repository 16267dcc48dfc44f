// SPDX-License-Identifier: Apache-2.0
// Tiles: the persistent walk of one cluster over the output. Every role of a kernel walks the same
// sequence, so none needs to be told what the others work on. OutputBoxes: the walk of the output
// role over the same tiles, box by box.
#pragma once

#include "device/params.h"
#include "device/ptx/attributes.h"
#include "device/raster.h"

namespace bwgemm {

// First come the tiles that are whole, then, where k is split, all others once for every split of
// k. So neighbouring CTAs work on neighbouring tiles, and lines that they share leave L2 once.
class Tiles {
 public:
  BWGEMM_DEVICE Tiles(const KernelParams& params, int cluster_size)
      : index_(blockIdx.x / cluster_size),
        step_(gridDim.x / cluster_size),
        tiles_(params.tiles_m * params.tiles_n * params.batch),
        count_(tiles_ + (tiles_ - params.whole_tiles) * (params.splits - 1)) {}

  BWGEMM_DEVICE bool valid() const { return index_ < count_; }
  BWGEMM_DEVICE void advance() { index_ += step_; }
  BWGEMM_DEVICE void go_to(std::uint32_t index) { index_ = index; }
  // For walks whose tiles are all split.
  BWGEMM_DEVICE void go_to_split(std::uint32_t tile, std::uint32_t split) {
    index_ = split * tiles_ + tile;
  }
  BWGEMM_DEVICE void end() { index_ = count_; }
  BWGEMM_DEVICE void advance_behind(const Tiles& first_ones) {
    while (index_ < first_ones.count_) advance();
  }
  BWGEMM_DEVICE std::uint32_t split(const KernelParams& params) const {
    if (index_ < tiles_) return 0;  // whole ones are not counted
    return divided(index_ - params.whole_tiles, tiles_ - params.whole_tiles,
                   params.split_tiles_reciprocal);
  }
  BWGEMM_DEVICE std::uint32_t number(const KernelParams& params) const {
    return index_ - split(params) * (tiles_ - params.whole_tiles);
  }
  BWGEMM_DEVICE bool is_split(const KernelParams& params) const {
    return index_ >= params.whole_tiles;
  }
  // Every second tile of this walk, from the first or the second one on.
  BWGEMM_DEVICE Tiles every_second(int first) const {
    Tiles some = *this;
    some.index_ += first * step_;
    some.step_ *= 2;
    return some;
  }
  // In such a walk: whether the tile in between, the next of all, exists.
  BWGEMM_DEVICE bool has_tile_between() const { return index_ + step_ / 2 < count_; }
  // The walk's whole tiles.
  BWGEMM_DEVICE Tiles whole_ones(const KernelParams& params) const {
    Tiles whole = *this;
    whole.count_ = min(count_, params.whole_tiles);
    return whole;
  }
  // The tile where this walk stands, and no other.
  BWGEMM_DEVICE Tiles alone() const {
    Tiles one = *this;
    one.count_ = index_ + 1;
    return one;
  }
  BWGEMM_DEVICE TileIndex at(const KernelParams& params) const {
    return tile_at(number(params), params.tiles_m, params.tiles_n, params.raster_group,
                   params.reciprocals);
  }

 private:
  std::uint32_t index_, step_, tiles_, count_;
};

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
