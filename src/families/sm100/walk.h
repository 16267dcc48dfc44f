// SPDX-License-Identifier: Apache-2.0
// Walk: the tiles of one cluster, and splits of their k, by the config's schedule. Every role walks
// the same sequence. With launch control (Schedule::launch_control) each role learns the next one
// from a ring of responses that scheduler.h fills; it must not leave any unread.
#pragma once

#include <type_traits>

#include "device/tile_order.h"
#include "device/walk.h"
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

// The TileMap: numbers as in a BandMap, in the order that the launch has chosen.
struct RasterMap : BandMap {
  using BandMap::BandMap;

  BWGEMM_DEVICE static TileIndex at(const KernelParams& params, std::uint32_t number) {
    return tile_in_order(params.raster, number, params.tiles_m, params.tiles_n, params.raster_group,
                         params.reciprocals);
  }
};

// The NextTile of Schedule::one_tile.
struct NoTile {
  template <class Cta>
  BWGEMM_DEVICE explicit NoTile(const Cta&) {}
  BWGEMM_DEVICE void advance(std::uint32_t& index, std::uint32_t end) const { index = end; }
};

template <KernelConfig config, bool of_warp>
class TakenOver;  // that of Schedule::launch_control: scheduler.h, which its images include

template <KernelConfig config, bool of_warp>
using NextTile =
    std::conditional_t<config.choices.schedule == Schedule::persistent, Stride,
                       std::conditional_t<config.choices.schedule == Schedule::one_tile, NoTile,
                                          TakenOver<config, of_warp>>>;

template <KernelConfig config, bool of_warp = false>
using Walk = bwgemm::Walk<NextTile<config, of_warp>, RasterMap>;

}  // namespace bwgemm::sm100
