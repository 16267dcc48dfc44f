// SPDX-License-Identifier: Apache-2.0
// Walk: the tiles of one cluster, and splits of their k, by the config's schedule. Every role walks
// the same sequence. With launch control (Schedule::launch_control) each role learns the next one
// from a ring of responses that scheduler.h fills; it must not leave any unread.
#pragma once

#include "device/ptx/launch_control.h"
#include "device/ptx/sync.h"
#include "device/tile_order.h"
#include "families/sm100/cta.h"

namespace bwgemm::sm100 {

// A walk over a single tile.
class AloneTile {
 public:
  BWGEMM_DEVICE explicit AloneTile(const TileIndex& tile) : tile_(tile) {}
  BWGEMM_DEVICE bool valid() const { return is_valid_; }
  BWGEMM_DEVICE void advance() { is_valid_ = false; }
  BWGEMM_DEVICE const TileIndex& at(const KernelParams&) const { return tile_; }

 private:
  TileIndex tile_;
  bool is_valid_ = true;
};

// Whole tiles first, then splits of k of the others, as in device/tiles.h. `of_warp`: all lanes of
// a warp walk together, converged; else one lane alone.
template <KernelConfig config, bool of_warp = false>
class Walk {
 public:
  BWGEMM_DEVICE Walk(const KernelParams& params, const Cta<config>& cta)
      : cta_(cta), tiles_(params, config.cluster.size()) {}

  BWGEMM_DEVICE bool valid() const { return tiles_.valid(); }

  BWGEMM_DEVICE void advance() {
    if constexpr (config.choices.schedule == Schedule::persistent)
      tiles_.advance();
    else if constexpr (config.choices.schedule == Schedule::one_tile)
      tiles_.end();
    else
      take_over();
  }

  // Launch control: said once at each tile, by the producer of the cluster's first CTA.
  BWGEMM_DEVICE void want_next() const {
    if constexpr (config.choices.schedule == Schedule::launch_control)
      if (cta_.rank == 0) ptx::mbarrier_arrive(cta_.response_wanted().address);
  }

  BWGEMM_DEVICE bool is_split(const KernelParams& params) const { return tiles_.is_split(params); }
  BWGEMM_DEVICE std::uint32_t number(const KernelParams& params) const {
    return tiles_.number(params);
  }
  // The tile's number among those whose k is split, from 0 on.
  BWGEMM_DEVICE std::uint32_t split_number(const KernelParams& params) const {
    return number(params) - params.whole_tiles;
  }
  BWGEMM_DEVICE std::uint32_t split(const KernelParams& params) const {
    return tiles_.split(params);
  }
  BWGEMM_DEVICE TileIndex at(const KernelParams& params) const {
    return tile_in_order(params.raster, tiles_.number(params), params.tiles_m, params.tiles_n,
                         params.raster_group, params.reciprocals);
  }

  // The whole tiles of the walk. Not with launch control, which tells one tile at a time.
  BWGEMM_DEVICE Walk whole_ones(const KernelParams& params) const {
    Walk whole = *this;
    whole.tiles_ = tiles_.whole_ones(params);
    return whole;
  }
  // From where they end on, or to the end.
  BWGEMM_DEVICE void advance_behind(const Walk& first_ones) {
    tiles_.advance_behind(first_ones.tiles_);
  }

 private:
  BWGEMM_DEVICE void take_over() {
    const Ring ring = cta_.response_ring();
    ring.wait_full(response_);  // the response's write before its reads
    const ptx::CanceledCluster canceled =
        ptx::clusterlaunchcontrol_query_cancel(cta_.response(response_));
    if constexpr (of_warp) __syncwarp();  // all lanes' reads before the arrival of one
    // The reads before the next response's write, which the CTA's scheduler answers for.
    if (!of_warp || ptx::laneid() == 0) ptx::mbarrier_arrive(ring.empty(response_).address);
    response_.advance(responses);
    if (canceled.exists)
      tiles_.go_to(canceled.first_cta / config.cluster.size());
    else
      tiles_.end();
  }

  const Cta<config>& cta_;
  Tiles tiles_;
  Cursor response_;
};

// Blocks of k that one walk of the main loop takes.
struct KSplit {
  int first, end;

  BWGEMM_DEVICE int blocks() const { return end - first; }
};

template <KernelConfig config, bool of_warp>
BWGEMM_DEVICE KSplit k_split(const KernelParams& params, const Walk<config, of_warp>& walk,
                             int k_blocks) {
  if (!walk.is_split(params)) return {0, k_blocks};
  const int blocks = params.k_per_split / k_block;
  const int first = min(static_cast<int>(walk.split(params)) * blocks, k_blocks);
  return {first, min(first + blocks, k_blocks)};
}

}  // namespace bwgemm::sm100
