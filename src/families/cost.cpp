// SPDX-License-Identifier: Apache-2.0
#include "families/cost.h"

#include <algorithm>
#include <cmath>

#include "core/tiling.h"
#include "families/registry.h"
#include "rules/arch_costs.h"

namespace bwgemm {

// A wave of R tiles that is g tiles high and R/g wide reads g * tile_m rows of A and R/g * tile_n
// columns of B. Columns are shared by neighbours, who keep in step, rows by CTAs far apart, who do
// not, and count w times: the sum is least for g = sqrt(R * tile_n / (w * tile_m)). Bands are then
// made equally high.
// Where a wave spans all of n, bands of one tile give it the same operands, and the CTAs that share
// the rows of A, the longer operand, are neighbours: their loads leave memory once. Not so where n
// has many tiles: neighbours would read the same rows of A but different columns of B, which takes
// up to 1.5 times as long (bench/log/2026-11-27.md; an H100, and assumed of Blackwell).
int raster_group(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                 int tile_n) {
  const ClusterTile tile = cluster_tile(config, tile_n);
  const TileCounts tiles = tile_counts(problem, tile.m, tile.n);
  const std::int64_t wave = std::min(resident_clusters(facts, config), tiles.m * tiles.n);
  const double rows_count = costs_of(config.arch).distant_rows;
  const double best = std::sqrt(static_cast<double>(wave) * tile.n / (rows_count * tile.m));
  constexpr int few_tiles = 7;
  const bool is_narrow =
      tiles.n <= few_tiles && static_cast<double>(tiles.n) * best <= static_cast<double>(wave);
  if (problem.m > problem.n && is_narrow) return 1;
  const std::int64_t rows = std::clamp<std::int64_t>(std::llround(best), 1, tiles.m);
  const std::int64_t bands = ceil_div(tiles.m, rows);
  return static_cast<int>(ceil_div(tiles.m, bands));
}

WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int tile_n) {
  return functions_of(config).without_splits(problem, config, tile_n);
}

double predicted_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                    int tile_n, int splits, SplitReduction reduction) {
  return predicted_us(problem, facts, config, tile_n, splits, reduction,
                      without_splits(problem, config, tile_n));
}

double predicted_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                    int tile_n, int splits, SplitReduction reduction, const WithoutSplits& known) {
  return functions_of(config).predicted_us(
      {problem, facts, config, tile_n, splits, reduction, known});
}

}  // namespace bwgemm
