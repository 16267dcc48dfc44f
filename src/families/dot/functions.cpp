// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions of Family::dot.
#include "families/dot/cost.h"
#include "families/dot/facts.h"
#include "rules/family.h"
#include "rules/fill.h"

namespace bwgemm::dot {
namespace {

const char* rejects(const Problem& problem, const KernelConfig& config, const Texts& texts) {
  if (problem.m > config.tile.m)
    return is_of_vectors(config) ? "D has more rows and more columns than one"
                                 : "more than 8 rows and columns";
  if (problem.is_pointer_array) return "takes no arrays of pointers";
  if (problem.epilogue.gate != Gate::none) return "has no gate";
  if (problem.k > longest_k) return "k is too large for 32-bit positions";
  if (config.b == Major::mn && line_classes(problem.b.ld) > teams_of(config).warps)
    return texts.b.ld;  // a warp takes lines of one class
  if (problem.n > index_limit) return texts.n_limit;
  if (const char* reason = tile_rejects(problem, config.tile.m, config.tile.n)) return reason;
  return tiles(problem, config, config.tile.n).total() > index_limit ? "more than 2^31 - 1 tiles"
                                                                     : nullptr;
}

// However short splits are, each streams its own weights.
SplitLimits split_limits(const Problem&, const KernelConfig&) {
  return {.least_steps = 1};
}

const char* batch_invariance_rejects(const Problem&, const KernelConfig&) {
  return "adds in an order that is not batch-invariant";
}

}  // namespace

TileCounts tiles(const Problem& problem, const KernelConfig& config, int) {
  TileCounts counts = tile_counts(problem, config.tile.m, config.tile.n);
  counts.n = tiles_along_n(config, problem.n, reinterpret_cast<std::uintptr_t>(problem.b.data),
                           problem.b.ld, problem.batch > 1 ? problem.b.batch_stride : 0);
  return counts;
}

constinit const FamilyFunctions functions{.tiles = tiles,
                                          .rejects = rejects,
                                          .split_limits = split_limits,
                                          .predicted_us = predicted_us,
                                          .fill = fill_unmapped,
                                          .batch_invariance_rejects = batch_invariance_rejects};

}  // namespace bwgemm::dot
