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

// How the warps of a CTA share its units and their k.
struct Teams {
  int positions;  // steps of k that a warp reads in one round
  int stages;     // of a round, each loaded again as soon as it is multiplied
  int warps;      // of a team, which share the k of a unit
  int count;      // of a CTA, each with units of its own
};
constexpr Teams teams_of(const KernelConfig& config) {
  const bool is_k_major = config.b == Major::k;
  const int positions = is_of_vectors(config) ? 32 * 8 : is_k_major ? 128 : 32;
  const int team_warps = config.tile.k / positions;
  return {positions, is_k_major ? 4 : 2, team_warps, warps / (team_warps > 0 ? team_warps : 1)};
}

struct Layout {
  // Activations come first. Their rows are padded so that the lanes of one load meet different
  // banks.
  int team_activation_bytes, activation_pad;
  // Partial sums [warp]: tile.m rows of f32; of vectors one f32 for each lane.
  int partials, partials_bytes, partials_pitch;
  int received, splits;  // of vectors: a barrier, and 16 bytes for each sum of a split
  int bytes;
};

constexpr Layout layout(const KernelConfig& config) {
  Layout at{};
  at.team_activation_bytes = activation_bytes / teams_of(config).count;
  at.activation_pad = config.b == Major::k ? 64 : 32;
  at.partials_pitch = config.tile.n + 4;
  at.partials_bytes = is_of_vectors(config) ? 32 * 4 : config.tile.m * at.partials_pitch * 4;
  at.partials = is_of_vectors(config) ? 0 : activation_bytes;
  const int end = at.partials + warps * at.partials_bytes;
  at.received = end;
  at.splits = is_of_vectors(config) ? end + 16 : end;
  at.bytes = is_of_vectors(config) ? at.splits + 16 * config.tile.n * most_cluster_splits : end;
  return at;
}

// Steps of k for which activations of `rows` rows fit.
constexpr int activation_positions(const KernelConfig& config, int rows) {
  const Layout at = layout(config);
  return (at.team_activation_bytes / rows - at.activation_pad) / 2 / 128 * 128;
}

constexpr const char* invalid_because(const KernelConfig& config) {
  if (config.b == Major::any) return "B is read in its own direction: say k or mn";
  if (is_of_vectors(config)) {
    if (config.b != Major::k || config.tile.n > 8 || (config.tile.n & (config.tile.n - 1)) != 0)
      return "one row: 1, 2, 4 or 8 columns that lie along k";
    if (teams_of(config).warps != warps) return "one row: tile.k must be 2048";
  } else if (config.tile.m != 8 || config.tile.n != (config.b == Major::k ? 16 : 64)) {
    return "tile must be 8x16 (B contiguous along k) or 8x64, or of one row";
  }
  if (teams_of(config).warps != 1 && teams_of(config).warps != warps)
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
