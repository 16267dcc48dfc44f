// SPDX-License-Identifier: Apache-2.0
// Layout of Family::dot: how the warps of a CTA share k, where activations and partial sums lie in
// shared memory, and what a config may be. All is computed from the config, for host and device
// alike.
#pragma once

#include "core/kernel_config.h"
#include "families/dot/tiles.h"

namespace bwgemm::dot {

inline constexpr int warps = 8;
inline constexpr int threads = 32 * warps;
inline constexpr int activation_bytes = 8 * (2 * 4224 + 64);  // eight rows, 4096 of k and some more

// CTAs that are the splits of one unit, in a cluster.
inline constexpr int most_cluster_splits = 16;

// Steps of k that a warp reads in one round.
constexpr int warp_positions(const KernelConfig& config) {
  if (is_of_vectors(config)) return 32 * 8;
  return config.b == Major::k ? 128 : 32;
}
// Stages of a round, each loaded again as soon as it is multiplied.
constexpr int stages(const KernelConfig& config) {
  return config.b == Major::k ? 4 : 2;
}
// The warps that share the k of a unit are a team, and each team of a CTA works on its own units.
constexpr int team_warps(const KernelConfig& config) {
  return config.tile.k / warp_positions(config);
}
constexpr int teams(const KernelConfig& config) {
  return warps / team_warps(config);
}

// Rows of activations are padded so that the lanes of one load meet different banks.
constexpr int activation_pad(const KernelConfig& config) {
  return config.b == Major::k ? 64 : 32;
}
constexpr int team_activation_bytes(const KernelConfig& config) {
  return activation_bytes / teams(config);
}
// Steps of k for which activations of `rows` rows fit.
constexpr int activation_positions(const KernelConfig& config, int rows) {
  return (team_activation_bytes(config) / rows - activation_pad(config)) / 2 / 128 * 128;
}

// A warp's partial sums are tile.m rows of f32; of vectors one for each lane.
constexpr int partials_pitch(const KernelConfig& config) {
  return config.tile.n + 4;
}
constexpr int partials_bytes(const KernelConfig& config) {
  return is_of_vectors(config) ? 32 * 4 : config.tile.m * partials_pitch(config) * 4;
}

struct Layout {
  int partials;          // [warp]; activations lie before them
  int received, splits;  // of vectors: a barrier, and 16 bytes for each sum of a split
  int bytes;
};

constexpr Layout layout(const KernelConfig& config) {
  if (!is_of_vectors(config)) {
    const int end = activation_bytes + warps * partials_bytes(config);
    return {activation_bytes, end, end, end};
  }
  const int received = warps * partials_bytes(config), splits = received + 16;
  return {0, received, splits, splits + 16 * config.tile.n * most_cluster_splits};
}

constexpr const char* invalid_because(const KernelConfig& config) {
  if (config.b == Major::any) return "B is read in its own direction: say k or mn";
  if (is_of_vectors(config)) {
    if (config.b != Major::k || config.tile.n > 8 || (config.tile.n & (config.tile.n - 1)) != 0)
      return "one row: 1, 2, 4 or 8 columns that lie along k";
    if (team_warps(config) != warps) return "one row: tile.k must be 2048";
  } else if (config.tile.m != 8 || config.tile.n != (config.b == Major::k ? 16 : 64)) {
    return "tile must be 8x16 (B contiguous along k) or 8x64, or of one row";
  }
  if (team_warps(config) != 1 && team_warps(config) != warps)
    return "tile.k must be what one warp reads in a round (128 or, B contiguous along n, 32), or "
           "eight";
  if (config.cluster.size() != 1) return "cluster must be 1x1";
  if (config.ctas_per_sm != 2) return "2 CTAs per multiprocessor: 128 registers, 112 KiB each";
  if (config.a != Major::any) return "A may have any strides: say any";
  if (config.load != Load::threads || config.store != Store::elements)
    return "A and D may have any strides: threads load A and B, and store D by elements";
  return nullptr;
}

}  // namespace bwgemm::dot
