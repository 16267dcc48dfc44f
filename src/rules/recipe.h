// SPDX-License-Identifier: Apache-2.0
// Recipe: how a product is computed: the kernel and all that is chosen with it. Selection chooses
// one, an algo value names one, the tuning cache keeps one.
#pragma once

#include <optional>
#include <string_view>

#include "device/raster.h"
#include "rules/copies.h"
#include "rules/splits.h"

namespace bwgemm {

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

}  // namespace bwgemm
