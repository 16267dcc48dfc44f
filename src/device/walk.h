// SPDX-License-Identifier: Apache-2.0
// Walk: the tiles of one cluster, and splits of their k. Every role of a kernel walks the same
// sequence, so none needs to be told what the others work on. A walk is made of a NextTile, which
// says what number follows, and of a TileMap, which says which tile a number is.
#pragma once

#include "device/params.h"
#include "device/ptx/attributes.h"
#include "device/raster.h"

namespace bwgemm {

// The TileMap of a dense product. First come the tiles that are whole, then, where k is split, all
// others once for every split of k. So neighbouring CTAs work on neighbouring tiles, and lines that
// they share leave L2 once.
struct BandMap {
  std::uint32_t tiles;  // of all batches

  BWGEMM_DEVICE explicit BandMap(const KernelParams& params)
      : tiles(params.tiles_m * params.tiles_n * params.batch) {}

  BWGEMM_DEVICE std::uint32_t count(const KernelParams& params) const {
    return tiles + (tiles - params.whole_tiles) * (params.splits - 1);
  }
  BWGEMM_DEVICE std::uint32_t split(const KernelParams& params, std::uint32_t index) const {
    if (index < tiles) return 0;  // whole ones are not counted
    return divided(index - params.whole_tiles, tiles - params.whole_tiles,
                   params.split_tiles_reciprocal);
  }
  BWGEMM_DEVICE static TileIndex at(const KernelParams& params, std::uint32_t number) {
    return tile_at(number, params.tiles_m, params.tiles_n, params.raster_group, params.reciprocals);
  }
};

// The NextTile of a persistent kernel: a fixed stride.
struct Stride {
  std::uint32_t step;

  template <class Cta>
  BWGEMM_DEVICE explicit Stride(const Cta& cta) : step(gridDim.x / cta.cluster_size) {}
  BWGEMM_DEVICE void advance(std::uint32_t& index, std::uint32_t) const { index += step; }
};

template <class NextTile, class TileMap>
class Walk {
 public:
  // From the tile of the CTA's cluster on.
  template <class Cta>
  BWGEMM_DEVICE Walk(const KernelParams& params, const Cta& cta)
      : index_(blockIdx.x / cta.cluster_size), map_(params), end_(map_.count(params)), next_(cta) {}

  BWGEMM_DEVICE bool valid() const { return index_ < end_; }
  BWGEMM_DEVICE void advance() { next_.advance(index_, end_); }

  BWGEMM_DEVICE bool is_split(const KernelParams& params) const {
    return index_ >= params.whole_tiles;
  }
  BWGEMM_DEVICE std::uint32_t split(const KernelParams& params) const {
    return map_.split(params, index_);
  }
  BWGEMM_DEVICE std::uint32_t number(const KernelParams& params) const {
    return index_ - split(params) * (map_.tiles - params.whole_tiles);
  }
  // The tile's number among those whose k is split, from 0 on.
  BWGEMM_DEVICE std::uint32_t split_number(const KernelParams& params) const {
    return number(params) - params.whole_tiles;
  }
  BWGEMM_DEVICE TileIndex at(const KernelParams& params) const {
    return map_.at(params, number(params));
  }

  // The whole tiles of the walk. This and the next two are not for launch control: a copy of the
  // walk would take answers that the walk itself waits for.
  BWGEMM_DEVICE Walk whole_ones(const KernelParams& params) const {
    Walk whole = *this;
    whole.end_ = min(end_, params.whole_tiles);
    return whole;
  }
  // The tile where the walk stands, and no other.
  BWGEMM_DEVICE Walk alone() const {
    Walk one = *this;
    one.end_ = index_ + 1;
    return one;
  }
  // Goes to where such a part ends.
  BWGEMM_DEVICE void advance_behind(const Walk& part) {
    while (index_ < part.end_) advance();
  }

  // The rest is for walks with a stride.

  // Where all tiles are split: to this one alone, if the grid has a cluster for each.
  BWGEMM_DEVICE void go_to_split(std::uint32_t tile, std::uint32_t split) {
    index_ = split * map_.tiles + tile;
  }
  // Every second tile, from the first or the second one on.
  BWGEMM_DEVICE Walk every_second(int first) const {
    Walk some = *this;
    some.index_ += first * next_.step;
    some.next_.step *= 2;
    return some;
  }
  // In such a walk: whether the tile in between, the next of all, exists.
  BWGEMM_DEVICE bool has_tile_between() const { return index_ + next_.step / 2 < end_; }

 private:
  std::uint32_t index_;
  TileMap map_;
  std::uint32_t end_;
  NextTile next_;
};

// Blocks of k that one run of the main loop takes.
struct KSplit {
  int first, end;

  BWGEMM_DEVICE int blocks() const { return end - first; }
};

// Those of the tile, or of the split of its k, at which `walk` stands. k has `k_blocks` blocks of
// `k_block` elements.
template <int k_block, class Walk>
BWGEMM_DEVICE KSplit k_split(const KernelParams& params, const Walk& walk, bool is_split,
                             int k_blocks) {
  if (!is_split) return {0, k_blocks};
  const int blocks = params.k_per_split / k_block;
  const int first = min(static_cast<int>(walk.split(params)) * blocks, k_blocks);
  return {first, min(first + blocks, k_blocks)};
}

}  // namespace bwgemm
