// SPDX-License-Identifier: Apache-2.0
// Choice: a recipe for one problem, with what the problem makes of it.
#pragma once

#include <cstdint>

#include "core/tiling.h"
#include "rules/parts.h"
#include "rules/recipe.h"

namespace bwgemm {

struct Choice : Recipe {
  std::int64_t split_tiles = 0;  // how many tiles are cut along k: the last ones
  int raster_group = 0;          // see device/raster.h
  double predicted_us = 0;
  Division division = {};  // split_tiles and raster_group are of its first part

  bool operator==(const Choice&) const = default;
};

// A call so short that the next one should start while it ends. Behind a longer one, that costs
// more than it saves: CTAs of the next kernel then take whatever multiprocessor is free first, no
// longer those over which the hardware spreads a grid evenly (bench/log/2026-11-27.md).
inline constexpr double longest_short_us = 4;
inline constexpr double longest_short_with_copies_us = 10;  // for copies and their product
inline bool is_short(const Choice& choice) {
  return choice.predicted_us <= longest_short_us;
}

// Tiles that are whole, and splits of the others.
inline std::int64_t work_units(const TileCounts& tiles, const Choice& choice) {
  return tiles.total() + choice.split_tiles * (choice.splits - 1);
}

}  // namespace bwgemm
