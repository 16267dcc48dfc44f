// SPDX-License-Identifier: Apache-2.0
// Splits of k as all families see them (split-K): where their sums can be added, what a family
// allows, and how many tiles are split. facts.sm_count is what the call may occupy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/clusters.h"
#include "core/device_facts.h"
#include "core/kernel_config.h"

namespace bwgemm {

// Where the sums of a tile's splits are added.
enum class SplitReduction : std::uint8_t {
  workspace,  // by the last to have left its own in global memory
  cluster,    // by the first CTA of the tile's cluster, to which the others send theirs
};

constexpr std::string_view name(SplitReduction reduction) {
  return reduction == SplitReduction::workspace ? "memory" : "cluster";
}

// How a family lets k be split.
struct SplitLimits {
  bool can_split = true;
  bool has_tails = false;  // the last tiles alone can be split
  int least_steps = 4;     // of tile.k, in each split
};

// Clusters that compute at the same time.
inline std::int64_t resident_clusters(const DeviceFacts& facts, const KernelConfig& config) {
  const int ctas = std::min(config.ctas_per_sm, facts.ctas_per_sm), size = config.cluster.size();
  const std::int64_t clusters =
      ctas * (size > 1 ? clusters_that_fit(facts, size) : std::int64_t{facts.sm_count});
  return std::max<std::int64_t>(1, clusters);
}

// How many of the tiles are cut into so many splits: all if the device has room for them, else
// those of the last wave, which would leave it partly idle. 0: k is not split, or the kernel
// cannot.
inline std::int64_t split_tiles(std::int64_t tiles, std::int64_t resident, int splits,
                                const SplitLimits& limits) {
  if (splits == 1) return 0;
  if (tiles <= resident) return tiles;
  return limits.has_tails ? tiles % resident : 0;
}

}  // namespace bwgemm
