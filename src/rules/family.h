// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions: what host code asks of the kernels of one folder of families/ about a problem:
// whether they can serve it, how long they take, and their parameters. A family has one such table;
// families/registry.h finds it. What follows from a config alone is in FamilyFacts (rules/shape.h).
//
// All problems are as the kernel sees them (core/tiling.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/clusters.h"
#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "core/tiling.h"
#include "device/residues.h"
#include "program/part.h"
#include "rules/choice.h"
#include "rules/rejects.h"
#include "rules/shape.h"

namespace bwgemm {

// What one k block of one CTA asks for, of the families that load operands by TMA.
struct Block {
  double flop;
  double bytes;     // of operands that arrive in shared memory, multicast ones included
  double sm_bytes;  // of the fullest tile, as an SM takes them: narrow chunks as wide ones
  double l2_bytes;  // the same by L2's time; what CTAs of a cluster, or neighbours, share once
};

// What predictions for a tile have in common, however many splits there are: most of the work.
// Empty for kernels without tensor maps.
struct WithoutSplits {
  double slowdown = 0;
  Block block = {};

  // Hopper's kernels alone have these.
  double epilogue_us = 0;       // of a tile
  double only_epilogue_us = 0;  // the same where a CTA has no other tile
  double moving_us = 0;         // of a k block, by threads
  double partial_block = 0;     // what a k that ends inside a block adds, in blocks
  // The stores write whole sectors of D, even where two rows share one.
  bool stores_whole_sectors = false;
};

// A kernel and what is chosen with it, whose time is to be predicted. facts.sm_count is what the
// call may occupy.
struct Prediction {
  const Problem& problem;
  const DeviceFacts& facts;
  const KernelConfig& config;
  int tile_n;  // of the config, or the run-time value
  int splits;
  SplitReduction reduction;  // cluster only where can_reduce_in_cluster()
  const WithoutSplits& known;
};

// A product's parameters while they are filled. What all families share is filled already.
struct Filling {
  const Problem& problem;
  const KernelConfig& config;
  const KernelShape& shape;
  const TileCounts& tiles;  // of whole clusters
  bool is_transposed;       // the problem is the transpose of the call's
  const Provenance& from;
  std::int64_t l2_bytes;
  ResidueParams& params;  // a kernel has the first params_bytes() of it
  Linker& linker;
};

struct FamilyFunctions {
  // Output tiles of whole clusters.
  TileCounts (*tiles)(const Problem&, const KernelConfig&, int tile_n);
  // Null, or why the kernel cannot serve the problem. `texts` names operands as the call has them.
  const char* (*rejects)(const Problem&, const KernelConfig&, const Texts& texts);
  SplitLimits (*split_limits)(const Problem&, const KernelConfig&);
  // In microseconds: all of the launch.
  double (*predicted_us)(const Prediction&);
  void (*fill)(const Filling&);

  // What most families leave as it is.

  // Null, or why tiles of a kernel that leaves their width to the launch cannot be so wide.
  const char* (*tile_n_rejects)(const KernelConfig&, const Problem&, int tile_n) =
      [](const KernelConfig&, const Problem&, int) -> const char* { return nullptr; };
  // False where another width is predicted to take less time.
  bool (*may_tile_n_be_best)(const Problem&, const KernelConfig&, std::int64_t resident,
                             int tile_n) = [](const Problem&, const KernelConfig&, std::int64_t,
                                              int) { return true; };
  // Null, or why an element of D is not formed by the additions of batch-invariant kernels.
  const char* (*batch_invariance_rejects)(const Problem&, const KernelConfig&) =
      [](const Problem&, const KernelConfig&) -> const char* { return nullptr; };
  // What predictions for all numbers of splits have in common.
  WithoutSplits (*without_splits)(const Problem&, const KernelConfig&, int tile_n) =
      [](const Problem&, const KernelConfig&, int) { return WithoutSplits{}; };
};

inline TileCounts tiles_of_clusters(const Problem& problem, const KernelConfig& config,
                                    int tile_n) {
  const ClusterTile tile = cluster_tile(config, tile_n);
  return tile_counts(problem, tile.m, tile.n);
}

// Clusters that compute at the same time. facts.sm_count is what the call may occupy.
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
