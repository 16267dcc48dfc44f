// SPDX-License-Identifier: Apache-2.0
// Choice: how one product is computed: a Recipe, which is the kernel and all that is chosen with
// it, and what the problem makes of that.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "core/next_start.h"
#include "core/tiling.h"
#include "rules/rasters.h"

namespace bwgemm {

// Where the sums of a tile's splits are added.
enum class SplitReduction : std::uint8_t {
  workspace,  // by the last to have left its own in global memory
  cluster,    // by the first CTA of the tile's cluster, to which the others send theirs
};

constexpr std::string_view name(SplitReduction reduction) {
  return reduction == SplitReduction::workspace ? "memory" : "cluster";
}

// Whether a kernel finds the operands where the caller has them. Where TMA can load neither, one of
// them may be copied and the other stay: all the workspace is the one's.
enum class Operands : std::uint8_t { in_place, copied, copied_a, copied_b };

inline constexpr std::initializer_list<Operands> all_operands{
    Operands::in_place, Operands::copied, Operands::copied_a, Operands::copied_b};

constexpr std::string_view name(Operands operands) {
  switch (operands) {
    case Operands::in_place: return "in_place";
    case Operands::copied: return "copied";
    case Operands::copied_a: return "copied_a";
    case Operands::copied_b: return "copied_b";
  }
  return "";
}

// Selection chooses one, an algo value names one, the tuning cache keeps one.
struct Recipe {
  int variant = 0;  // index into the variants
  int tile_n = 0;   // the config's, or the run-time value
  int splits = 1;   // split-K: splits of k; 1: none
  Raster raster = Raster::grouped;
  Operands operands = Operands::in_place;
  // Where the sums of splits are added. Open in what is picked or kept: the rest decides.
  std::optional<SplitReduction> reduction = std::nullopt;

  bool operator==(const Recipe&) const = default;
};

// What of a recipe somebody has decided, where a kernel can do it. "", 0 or nothing: is chosen.
struct ForcedRecipe {
  std::string_view kernel = {};
  int splits = 0;
  int tile_n = 0;  // where the config leaves it to the launch
  std::optional<Raster> raster = std::nullopt;
  std::optional<SplitReduction> reduction = std::nullopt;
  std::optional<Operands> operands = std::nullopt;  // of a forced kernel else in place

  bool operator==(const ForcedRecipe&) const = default;
  bool any() const { return *this != ForcedRecipe{}; }
  bool has_kernel() const { return !kernel.empty(); }
  bool allows(SplitReduction one) const { return reduction.value_or(one) == one; }
  bool allows(Operands one) const { return operands.value_or(one) == one; }
};

// A product whose copied operand does not fit the workspace, as products of some of its rows or
// columns each, one after the other. What a part computes is not changed by where it begins.
struct Division {
  int parts = 1;
  bool of_n = false;       // each part has some columns of D; else some rows
  std::int64_t lines = 0;  // so many, but the last, which may have less; undivided: not looked at

  bool operator==(const Division&) const = default;
};

// A recipe for one problem, with what the problem makes of it.
struct Choice : Recipe {
  std::int64_t split_tiles = 0;  // how many tiles are cut along k: the last ones
  int raster_group = 0;          // see device/raster.h
  double predicted_us = 0;
  Division division = {};  // split_tiles and raster_group are of its first part

  bool operator==(const Choice&) const = default;
};

// A kernel of up to 15 us lets the next one start. The next kernel's CTAs take whatever
// multiprocessor is free first, one after the other: the hardware does not spread them evenly, and
// neighbours no longer ask for lines at the same time. So most kernels of more than 6 us wait until
// they have multiplied, and the next CTAs come nearly together. A short k brings neighbours
// together again at each tile, and a grid that leaves half of the multiprocessors free has all of
// the next kernel's start at once (bench/log/2026-11-28.md).
inline constexpr double longest_short_us = 6;
inline constexpr double longest_early_us = 15;
inline constexpr double longest_short_with_copies_us = 10;  // for copies and their product
struct LaunchedGrid {
  std::int64_t ctas, sm_count;
  std::int64_t k_elements;  // that a CTA multiplies for a tile, or for a split of one
};
inline NextStart next_start(const Choice& choice, const LaunchedGrid& grid) {
  constexpr std::int64_t short_k = 1024;
  if (choice.predicted_us > longest_early_us) return NextStart::when_gone;
  const bool is_narrow = 2 * grid.ctas <= grid.sm_count || grid.k_elements <= short_k;
  return is_narrow || choice.predicted_us <= longest_short_us ? NextStart::when_loaded
                                                              : NextStart::when_multiplied;
}

// Tiles that are whole, and splits of the others.
inline std::int64_t work_units(const TileCounts& tiles, const Choice& choice) {
  return tiles.total() + choice.split_tiles * (choice.splits - 1);
}

}  // namespace bwgemm
