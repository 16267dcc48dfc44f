// SPDX-License-Identifier: Apache-2.0
// Walk: the tiles of one cluster, and slices of their k, by the config's schedule. Every role walks
// the same sequence. With launch control (Schedule::launch_control) each role learns the next one
// from a ring of responses that scheduler.h fills; it must not leave any unread.
#pragma once

#include "kernels/ptx/launch_control.h"
#include "kernels/ptx/sync.h"
#include "kernels/sm100/cta.h"

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

// Where k is split, all tiles come once for every slice of k, as in kernels/tiles.h. `of_warp`: all
// lanes of a warp walk together, converged; else one lane alone.
template <KernelConfig config, bool of_warp = false>
class Walk {
 public:
  BWGEMM_DEVICE Walk(const KernelParams& params, const Cta<config>& cta)
      : cta_(cta),
        index_(blockIdx.x / config.cluster.size()),
        tiles_(params.tiles_m * params.tiles_n * params.batch),
        count_(tiles_ * params.splits) {}

  BWGEMM_DEVICE bool valid() const { return index_ < count_; }

  BWGEMM_DEVICE void advance() {
    if constexpr (config.choices.schedule == Schedule::persistent)
      index_ += gridDim.x / config.cluster.size();
    else if constexpr (config.choices.schedule == Schedule::one_tile)
      index_ = count_;
    else
      take_over();
  }

  BWGEMM_DEVICE std::uint32_t split() const { return index_ < tiles_ ? 0 : index_ / tiles_; }
  BWGEMM_DEVICE std::uint32_t number() const { return index_ - split() * tiles_; }
  BWGEMM_DEVICE TileIndex at(const KernelParams& params) const {
    return tile_in_order(params.raster, number(), params.tiles_m, params.tiles_n,
                         params.raster_group);
  }

 private:
  BWGEMM_DEVICE void take_over() {
    const Ring ring = cta_.response_ring();
    ring.wait_full(response_);  // the response's write before its reads
    const ptx::CanceledCluster canceled =
        ptx::clusterlaunchcontrol_query_cancel(cta_.response(response_));
    // This thread's reads before the next response's write.
    ptx::fence_proxy_async_shared();
    if constexpr (of_warp) __syncwarp();  // all lanes' reads and fences before the arrival of one
    if (!of_warp || ptx::laneid() == 0)
      ptx::mbarrier_arrive_cluster(ptx::mapa(ring.empty(response_).address, 0));
    response_.advance(responses);
    index_ = canceled.exists ? canceled.first_cta / config.cluster.size() : count_;
  }

  const Cta<config>& cta_;
  std::uint32_t index_, tiles_, count_;
  Cursor response_;
};

// Blocks of k that one walk of the main loop takes.
struct KSlice {
  int first, end;

  BWGEMM_DEVICE int blocks() const { return end - first; }
};

BWGEMM_DEVICE KSlice k_slice(const KernelParams& params, std::uint32_t split, int k_blocks) {
  if (params.splits == 1) return {0, k_blocks};
  const int blocks = params.k_per_split / k_block;
  const int first = min(static_cast<int>(split) * blocks, k_blocks);
  return {first, min(first + blocks, k_blocks)};
}

}  // namespace bwgemm::sm100
