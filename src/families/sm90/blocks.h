// SPDX-License-Identifier: Apache-2.0
// Blocks: the walk of a CTA over the blocks of k of all its tiles, for roles that are at different
// blocks at one time.
#pragma once

#include "families/sm90/cta.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class Blocks {
 public:
  BWGEMM_DEVICE Blocks(const KernelParams& params, const Cta<config>& cta, int k_blocks)
      : tiles_(cta.all_tiles(params)), k_blocks_(k_blocks) {
    locate(params, cta);
  }

  BWGEMM_DEVICE bool valid() const { return tiles_.valid(); }
  BWGEMM_DEVICE void advance(const KernelParams& params, const Cta<config>& cta) {
    if (++block_ < split_.end) return;
    tiles_.advance();
    locate(params, cta);
  }

  BWGEMM_DEVICE bool starts_split() const { return block_ == split_.first; }
  BWGEMM_DEVICE std::uint32_t tile(const KernelParams& params) const {
    return tiles_.number(params);
  }
  BWGEMM_DEVICE int block() const { return block_; }
  BWGEMM_DEVICE int row() const { return row_; }
  BWGEMM_DEVICE int column() const { return column_; }
  BWGEMM_DEVICE int batch() const { return batch_; }

 private:
  // To the first block of the next tile that has any.
  BWGEMM_DEVICE void locate(const KernelParams& params, const Cta<config>& cta) {
    for (; tiles_.valid(); tiles_.advance()) {
      split_ = k_split<config.tile.k>(params, tiles_, tiles_.is_split(params), k_blocks_);
      if (split_.first < split_.end) break;
    }
    if (!tiles_.valid()) return;
    const TileIndex tile = tiles_.at(params);
    row_ = cta.row(tile);
    column_ = cta.column(tile);
    batch_ = tile.batch;
    block_ = split_.first;
  }

  Tiles tiles_;
  int k_blocks_;
  KSplit split_{};
  int block_ = 0, row_ = 0, column_ = 0, batch_ = 0;
};

}  // namespace bwgemm::sm90
