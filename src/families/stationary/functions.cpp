// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions of Family::stationary.
#include <algorithm>

#include "families/stationary/facts.h"
#include "rules/arch_costs.h"
#include "rules/cost_terms.h"
#include "rules/family.h"
#include "rules/fill.h"
#include "rules/rejects.h"

namespace bwgemm::stationary {
namespace {

const char* unit_rejects(const Problem& problem, const KernelConfig& config, const Texts& texts) {
  if (problem.batch > 1 || problem.is_pointer_array) return "takes one product, no batch";
  if (problem.n > config.tile.n) return "D has more columns than a tile";
  if (problem.k > slab_depth) return "k is larger than what shared memory holds of B";
  if (problem.k % unit_elements != 0) return "k is no multiple of 8";
  if (problem.a.ld % unit_elements != 0) return texts.a.ld;
  return starts_at_units(problem.a) ? nullptr : texts.a.base;
}

const char* rejects(const Problem& problem, const KernelConfig& config, const Texts& texts) {
  if (problem.epilogue.gate != Gate::none) return "has no gate";
  if (problem.scale_only()) return "k or alpha is zero: no A to stream";
  // Positions along k are 32-bit, and in bytes.
  if (problem.k > longest_k / 2) return "k is too large for 32-bit positions";
  // Rows and columns are counted beyond the edge of D, by less than a tile.
  if (problem.m > index_limit - config.tile.m) return texts.m_limit;
  if (problem.n > index_limit - config.tile.n) return texts.n_limit;
  if (const char* reason = order_rejects(problem, config)) return reason;
  if (config.load == Load::units)
    if (const char* reason = unit_rejects(problem, config, texts)) return reason;
  return tile_rejects(problem, config.tile.m, config.tile.n);
}

// All of k is one warp's.
SplitLimits split_limits(const Problem&, const KernelConfig&) {
  return {.can_split = false};
}

const char* batch_invariance_rejects(const Problem&, const KernelConfig&) {
  return "adds in an order that is not batch-invariant";
}

// Each tile of a CTA waits for its loads, step by step, or CTAs take what their SM gives all.
double predicted_us(const Prediction& of) {
  const auto& [problem, facts, config, tile_n, splits, reduction, known] = of;
  const ArchCosts& costs = costs_of(config.arch);
  const auto tiles =
      static_cast<double>(tile_counts(problem, config.tile.m, config.tile.n).total());
  const auto steps = static_cast<double>(k_steps(problem, config));
  const bool is_loose = config.load == Load::threads;
  const WorkStep& step = is_loose ? costs.stationary_threads : costs.stationary_units;
  const double width = config.tile.n / 32.0;
  const bool stores_units = is_wide(problem.d) && problem.n % unit_elements == 0;
  const double output_us = stores_units
                               ? costs.stationary_tile_us * output_bytes_per_element(problem) / 2
                               : costs.stationary_elements_us;
  const Epilogue& epilogue = problem.epilogue;
  const bool reads_more = problem.reads_c() || epilogue.row_bias.data != nullptr ||
                          epilogue.column_bias.data != nullptr || epilogue.aux.data != nullptr;
  const double fused_us =
      is_loose ? costs.stationary_fused_loose_us : costs.stationary_fused_tile_us;
  const double tile_us = width * (output_us + steps * step.us + (reads_more ? fused_us : 0));
  const double waves = std::max(1.0, tiles / static_cast<double>(resident_clusters(facts, config)));
  const auto further_slabs = static_cast<double>(ceil_div(problem.k, slab_depth) - 1);
  const double wait_us =
      (is_loose ? costs.stationary_wait_us + further_slabs * costs.stationary_slab_us : 0) +
      steps * step.latency_us + (reads_more ? costs.stationary_fused_us : 0);
  const double compute_us = std::max(waves * wait_us, tiles / facts.sm_count * tile_us);
  return total_us(of, costs, costs.unmapped_launch_us, compute_us, 0);
}

}  // namespace

constinit const FamilyFunctions functions{.tiles = tiles_of_clusters,
                                          .rejects = rejects,
                                          .split_limits = split_limits,
                                          .predicted_us = predicted_us,
                                          .fill = fill_unmapped,
                                          .batch_invariance_rejects = batch_invariance_rejects};

}  // namespace bwgemm::stationary
