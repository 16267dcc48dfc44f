// SPDX-License-Identifier: Apache-2.0
// The functions of each family (rules/family.h), and what selection, programs and launches ask of a
// kernel, which goes to the kernel's family.
#pragma once

#include <cstddef>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/kernel_name.h"
#include "core/problem.h"
#include "families/facts.h"
#include "program/part.h"
#include "rules/choice.h"
#include "rules/family.h"
#include "rules/shape.h"

namespace bwgemm {

inline const FamilyFunctions& functions_of(const KernelConfig& config) {
  switch (config.family) {
    case Family::cooperative: break;
    case Family::pair:
    case Family::single: return sm100::functions;
    case Family::direct: return direct::functions;
    case Family::dot: return dot::functions;
    case Family::warp: return warp::functions;
    case Family::stationary: return stationary::functions;
  }
  return sm90::functions;
}

inline TileCounts cluster_tiles(const Problem& problem, const KernelConfig& config, int tile_n) {
  return functions_of(config).tiles(problem, config, tile_n);
}

inline SplitLimits split_limits(const Problem& problem, const KernelConfig& config) {
  return functions_of(config).split_limits(problem, config);
}

// Null, or why the kernel cannot serve the problem: static text, which speaks of the problem as it
// is given, also where the kernel sees it transposed (`seen`). facts.sm_count is what the call may
// occupy.
const char* rejects(const Problem& given, const Problem& seen, const DeviceFacts& facts,
                    const KernelConfig& config);
inline const char* rejects(const Problem& given, const DeviceFacts& facts,
                           const KernelConfig& config) {
  return rejects(given, seen_by(config, given), facts, config);
}

// All below take the problem as the kernel sees it (core/tiling.h).

// What predictions for a tile have in common, however many splits there are.
inline WithoutSplits without_splits(const Problem& problem, const KernelConfig& config,
                                    int tile_n) {
  return functions_of(config).without_splits(problem, config, tile_n);
}

// The predicted time in microseconds, by the model of rules/cost_terms.h. facts.sm_count is what
// the call may occupy. tile_n: of the config, or the run-time value. `reduction`: cluster only
// where can_reduce_in_cluster().
inline double predicted_us(const Problem& problem, const DeviceFacts& facts,
                           const KernelConfig& config, int tile_n, int splits,
                           SplitReduction reduction, const WithoutSplits& known) {
  return functions_of(config).predicted_us(
      {problem, facts, config, tile_n, splits, reduction, known});
}
inline double predicted_us(const Problem& problem, const DeviceFacts& facts,
                           const KernelConfig& config, int tile_n, int splits,
                           SplitReduction reduction = SplitReduction::workspace) {
  return predicted_us(problem, facts, config, tile_n, splits, reduction,
                      without_splits(problem, config, tile_n));
}

// Tile rows that are walked together, see device/raster.h.
int raster_group(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                 int tile_n);

// Every kernel by its number, as loading it needs it: variants and helpers.
struct LaunchedKernel {
  KernelName name;
  KernelShape shape;  // the largest
  int cluster;
  bool has_large_clusters;  // of more CTAs than every device can run, where a launch says so
};

LaunchedKernel kernel_of(int kernel, Arch arch);

// What the step of a product depends on besides the problem and the choice.
struct ProductContext {
  DeviceFacts facts;
  int sm_limit = 0;  // multiprocessors the call may occupy; 0: all
  // On the whole device: this kernel's clusters, and clusters of a CTA for each split, where the
  // choice adds splits in clusters; 0 of the latter also where the driver does not say.
  int resident_clusters = 0, resident_split_clusters = 0;
  std::size_t copied_bytes = 0;  // at the beginning of the workspace
  bool lets_next_start = false;  // when it has multiplied, however long it takes
};

// Appends the step that multiplies: its grid, its cluster, and all parameters of its kernel. Throws
// NOT_SUPPORTED if not even one cluster fits the device. `config` is the variant that `choice`
// names, the problem one it can serve, whose operands are what `from` says of the arguments `base`.
void add_product(const Problem& problem, const Provenance& from, const Values& base,
                 const KernelConfig& config, const Choice& choice, const ProductContext& context,
                 Part& part);

}  // namespace bwgemm
