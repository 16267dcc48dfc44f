// SPDX-License-Identifier: Apache-2.0
#include "select/splits.h"

#include <algorithm>
#include <limits>

#include "core/tiling.h"
#include "families/facts.h"
#include "families/registry.h"

namespace bwgemm {
namespace {

// The most splits of so many tiles that can be the CTAs of clusters; 1: none can.
int most_in_cluster(const KernelConfig& config, const DeviceFacts& facts, std::int64_t tiles) {
  int ctas = most_cluster_splits(config);
  while (ctas > 1 && clusters_that_fit(facts, ctas) < tiles) --ctas;
  return ctas;
}

}  // namespace

std::int64_t split_tiles(const Problem& problem, const DeviceFacts& facts,
                         const KernelConfig& config, int tile_n, int splits) {
  return split_tiles(cluster_tiles(problem, config, tile_n).total(),
                     resident_clusters(facts, config), splits, split_limits(problem, config));
}

Splits splits_to_try(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                     std::size_t workspace_bytes, int forced, int tile_n) {
  Splits splits;
  const ClusterTile tile = cluster_tile(config, tile_n);
  const std::int64_t steps = k_steps(problem, config);
  const SplitLimits limits = split_limits(problem, config);
  if (steps == 0 || tile.n == 0 || !limits.can_split) return splits;
  const std::int64_t cut = split_tiles(problem, facts, config, tile_n, 2);
  if (cut == 0) return splits;
  const std::size_t partial_bytes = sizeof(float) * static_cast<std::size_t>(tile.m) *
                                    static_cast<std::size_t>(tile.n) *
                                    static_cast<std::size_t>(cut);
  const std::int64_t most =
      std::min({resident_clusters(facts, config) / cut, steps / limits.least_steps,
                static_cast<std::int64_t>(workspace_bytes / partial_bytes)});
  const auto normalized = [&](std::int64_t wanted) {
    return static_cast<int>(ceil_div(steps, ceil_div(steps, wanted)));  // none is empty
  };
  const std::int64_t most_steps = std::numeric_limits<std::int32_t>::max() / config.tile.k;
  if (forced > 0) {
    // Splits are counted in 32 bits; what is not split has no such limit.
    const std::int64_t least = ceil_div(steps, most_steps);
    const std::int64_t wanted =
        std::min(std::max<std::int64_t>(forced, least), std::max<std::int64_t>(most, 1));
    splits.number[0] = forced == 1 || wanted < least ? 1 : normalized(wanted);
    return splits;
  }
  // Halves of the most, down to two: what lies between them is never much better than both.
  const auto half = [](std::int64_t number) { return number == 3 ? 2 : number / 2; };
  constexpr int most_halves = Splits::capacity - 1;
  for (std::int64_t wanted = most; wanted > 1 && splits.count < most_halves;
       wanted = half(wanted)) {
    if (ceil_div(steps, wanted) > most_steps) break;
    splits.add(normalized(wanted));
  }
  if (cut != cluster_tiles(problem, config, tile_n).total()) return splits;
  const std::int64_t in_cluster = std::min<std::int64_t>(most, most_in_cluster(config, facts, cut));
  if (in_cluster > 1 && ceil_div(steps, in_cluster) <= most_steps)
    splits.add(normalized(in_cluster));
  return splits;
}

bool can_reduce_in_cluster(const Problem& problem, const DeviceFacts& facts,
                           const KernelConfig& config, int tile_n, int splits) {
  if (splits < 2 || splits > most_cluster_splits(config)) return false;
  const std::int64_t tiles = cluster_tiles(problem, config, tile_n).total();
  return tiles <= clusters_that_fit(facts, splits);
}

}  // namespace bwgemm
