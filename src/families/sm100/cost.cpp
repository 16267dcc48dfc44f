// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "families/sm100/facts.h"
#include "families/sm100/functions.h"
#include "rules/arch_costs.h"
#include "rules/cost_terms.h"

namespace bwgemm::sm100 {
namespace {

// Clocks between two tcgen05.mma of a CTA pair with 256 rows and 16 of k: published measurements on
// a GB300 at 64, 128 and 256 columns, joined by straight lines. Below 64 columns nothing is gained.
constexpr double pair_mma_clocks(int tile_n) {
  if (tile_n <= 64) return 52;
  if (tile_n <= 128) return 52 + (70 - 52) * (tile_n - 64) / 64.0;
  return 70 + (134 - 70) * (tile_n - 128) / 128.0;
}

// The same for one CTA with 128 rows.
constexpr double single_mma_clocks(int tile_n) {
  if (tile_n <= 64) return 56;
  if (tile_n <= 128) return 56 + (79 - 56) * (tile_n - 64) / 64.0;
  return 79 + (140 - 79) * (tile_n - 128) / 128.0;
}

double mma_clocks(const KernelConfig& config, int tile_n) {
  return config.family == Family::pair ? cta_tiles(config).row_blocks * pair_mma_clocks(tile_n)
                                       : single_mma_clocks(tile_n);
}

double mma_us(const ArchCosts& costs, const KernelConfig& config, int tile_n) {
  return config.tile.k / 16.0 * mma_clocks(config, tile_n) / costs.mma_clocks_per_us;
}

// One k block of a kernel whose threads load what TMA cannot address, in us: predicted, as all of
// b200_costs. Loads of 128 rows are under way while those before are shifted and stored: each takes
// half of the latency of a busy L2, more than its 48 KiB of traffic with L1.
double loading_block_us(const Problem& problem, const KernelConfig& config, int tile_n) {
  constexpr double step_us = 0.35;
  constexpr int step_rows = cta_rows;
  const bool loads_a = is_loaded_by_threads(config, problem.a, problem.batch);
  const bool loads_b = is_loaded_by_threads(config, problem.b, problem.batch);
  return step_us *
         ((loads_a ? 1 : 0) + (loads_b ? static_cast<double>(ceil_div(tile_n, step_rows)) : 0));
}

// Each CTA of a pair has its own part of B's columns, and the launch chooses the majors.
Block block_of(const Problem& problem, const ArchCosts& costs, const KernelConfig& config,
               int tile_n, const TileCounts& tiles) {
  const RowBytes bytes(problem, costs, config, config.a, b_major(problem),
                       tile_n / groups_of(config).ctas);
  const double a = static_cast<double>(config.tile.m) / groups_of(config).ctas;
  const double b = held_b_columns(config, tile_n, b_major(problem));
  // Two single CTAs on neighbouring SMs ask for the same rows of B, one above the other, which
  // leave L2 once.
  const int neighbours = config.family == Family::single && tiles.m > 1 ? 2 : 1;
  const OperandRows shared{a, b / (neighbours * groups_of(config).count)};
  return {.flop = 2.0 * config.tile.m * tile_n * config.tile.k,
          .bytes = bytes.plain({a, b}),
          .sm_bytes = bytes.plain({a, b}),
          .l2_bytes = bytes.of_l2(shared)};
}

double cta_outputs(const KernelConfig& config, int tile_n) {
  return static_cast<double>(config.tile.m) * tile_n / groups_of(config).ctas;
}

}  // namespace

WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int tile_n) {
  const ClusterTile tile = cluster_tile(config, tile_n);
  return {1, block_of(problem, costs_of(config.arch), config, tile_n,
                      tile_counts(problem, tile.m, tile.n))};
}

double predicted_us(const Prediction& of) {
  const auto& [problem, facts, config, tile_n, splits, reduction, known] = of;
  const ArchCosts& costs = costs_of(config.arch);
  const std::int64_t tiles = tiles_of_clusters(problem, config, tile_n).total();
  const std::int64_t resident = resident_clusters(facts, config);
  const std::int64_t cut =
      split_tiles(tiles, resident, splits, sm100::split_limits(problem, config));
  const std::int64_t whole = tiles - cut, partials = cut * splits;
  const std::int64_t steps = k_steps(problem, config), split_steps = ceil_div(steps, splits);
  const double epilogue =
      cta_outputs(config, tile_n) * output_bytes_per_element(problem) / costs.epilogue_bytes_per_us;
  // With two accumulators the next tile is computed during an epilogue.
  const bool hides_epilogue = config.choices.accumulators == 2;
  const double exposed = hides_epilogue ? 0 : epilogue;
  const double loading = loading_block_us(problem, config, tile_n);
  const double partial_block = problem.k % config.tile.k != 0 ? costs.partial_block : 0;
  const auto wave_us = [&, tile_n = tile_n](std::int64_t clusters, std::int64_t blocks) {
    if (clusters == 0) return 0.0;
    const double each =
        std::max(loading, block_us(costs, of.known.block, mma_us(costs, of.config, tile_n),
                                   of.known.slowdown, of.facts.sm_count,
                                   clusters * of.config.cluster.size()));
    return (static_cast<double>(blocks) + partial_block) * each + costs.fill_us + exposed;
  };
  const std::int64_t full_waves = whole / resident, left = whole % resident;
  const double compute_us = static_cast<double>(full_waves) * wave_us(resident, steps) +
                            wave_us(left, steps) + wave_us(partials, split_steps) +
                            (hides_epilogue ? epilogue : 0);
  const double merge =
      splits == 1 ? 0
                  : workspace_merge_us(costs, cta_outputs(config, tile_n) * sizeof(float), splits,
                                       static_cast<double>(partials * config.cluster.size()));
  return total_us(of, costs, costs.launch_us, compute_us, merge);
}

}  // namespace bwgemm::sm100
