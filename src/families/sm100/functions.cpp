// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions of the Blackwell kernels, and what they ask of the width of a tile.
#include "families/sm100/functions.h"

#include "families/sm100/facts.h"

namespace bwgemm::sm100 {
namespace {

const char* tile_n_rejects(const KernelConfig& config, const Problem& problem, int tile_n) {
  const bool has_gate = problem.epilogue.gate != Gate::none;
  if (const char* reason = invalid_because(config, tile_n, b_major(problem), has_gate))
    return reason;
  // Nothing orders these loads before the stores of whole boxes by TMA.
  const bool is_in_place = problem.reads_c() && problem.c.data == problem.d.data;
  if (is_in_place && problem.epilogue.any() && leaves_rest(config, tile_n))
    return "tile_n must be a multiple of 32 where a fused epilogue adds a C that is D: threads "
           "load such a C otherwise";
  return nullptr;
}

// Whether a tile of no whole boxes makes one or two waves, and the next narrower tile one more.
// Else that one is predicted to take less time; of more waves the last, which is not full, takes
// less than the others, so that one wave less gains nothing (bench/log/2026-11-26.md).
bool may_tile_n_be_best(const Problem& problem, const KernelConfig& config, std::int64_t resident,
                        int tile_n) {
  if (!leaves_rest(config, tile_n)) return true;
  const auto waves = [&](int columns) {
    const ClusterTile tile = cluster_tile(config, columns);
    return ceil_div(tile_counts(problem, tile.m, tile.n).total(), resident);
  };
  constexpr int most_waves = 2;
  return waves(tile_n) <= most_waves && waves(tile_n - tile_n_step) > waves(tile_n);
}

}  // namespace

constinit const FamilyFunctions functions{.tiles = tiles_of_clusters,
                                          .rejects = rejects,
                                          .split_limits = split_limits,
                                          .predicted_us = predicted_us,
                                          .fill = fill,
                                          .tile_n_rejects = tile_n_rejects,
                                          .may_tile_n_be_best = may_tile_n_be_best,
                                          .without_splits = without_splits};

}  // namespace bwgemm::sm100
