// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions of Family::direct. Its tiles are D's, not the product's.
#include <algorithm>

#include "families/direct/facts.h"
#include "rules/arch_costs.h"
#include "rules/cost_terms.h"
#include "rules/family.h"
#include "rules/fill.h"

namespace bwgemm::direct {
namespace {

TileCounts tiles(const Problem& problem, const KernelConfig& config, int) {
  TileCounts counts = tile_counts(problem, config.tile.m, config.tile.n);
  counts.n = ceil_div(d_columns(problem), config.tile.n);
  return counts;
}

const char* rejects(const Problem& problem, const KernelConfig& config, const Texts&) {
  // One less: the loop over them takes one step more.
  if (k_steps(problem, config) >= index_limit) return "k is too large for 32-bit step numbers";
  return tile_rejects(problem, config.tile.m, config.tile.n);
}

// A gate leaves no room for partial sums of x and y both.
SplitLimits split_limits(const Problem& problem, const KernelConfig&) {
  return {.can_split = problem.epilogue.gate == Gate::none};
}

// A step of two operands that the kernel moves as this one (families/direct/slab.h).
const WorkStep& direct_step(const Problem& problem, const Matrix& matrix, const ArchCosts& costs) {
  if (is_wide(matrix)) return costs.direct_wide;
  return lies_in_pairs(problem, matrix) ? costs.direct_pairs : costs.direct_narrow;
}
WorkStep direct_step(const Problem& problem, const ArchCosts& costs) {
  const WorkStep& a = direct_step(problem, problem.a, costs);
  const WorkStep& b = direct_step(problem, problem.b, costs);
  return {(a.latency_us + b.latency_us) / 2, (a.us + b.us) / 2};
}

// Launch, waves, output and merge of its own kind. A step of k goes at a rate that depends on
// alignment alone.
double predicted_us(const Prediction& of) {
  const auto& [problem, facts, config, tile_n, splits, reduction, known] = of;
  const ArchCosts& costs = costs_of(config.arch);
  const bool has_gate = problem.epilogue.gate != Gate::none;  // each tile twice: for x and for y
  const std::int64_t tiles =
      tile_counts(problem, config.tile.m, config.tile.n * (has_gate ? 2 : 1)).total();
  const auto steps =
      static_cast<double>(ceil_div(k_steps(problem, config), splits) * (has_gate ? 2 : 1));
  const WorkStep step = direct_step(problem, costs);
  const double tile_us = costs.direct_tile_us * output_bytes_per_element(problem) / 2 +
                         (is_fused(problem, config) ? costs.direct_fused_us : 0);
  // CTAs of an SM hide each other's latency, or take turns.
  const int sm_count = facts.sm_count;
  const auto wave_us = [&](std::int64_t ctas) {
    const double sharing = std::max(1.0, static_cast<double>(ctas) / sm_count);
    return steps * std::max(step.latency_us, sharing * step.us) + sharing * tile_us;
  };
  const std::int64_t units = tiles * splits;
  const std::int64_t resident = resident_clusters(facts, config);
  const std::int64_t full_waves = units / resident, left = units % resident;
  const double merge = splits > 1 ? costs.merge_us + splits * costs.direct_merge_us : 0;
  const double compute_us =
      static_cast<double>(full_waves) * wave_us(resident) + (left > 0 ? wave_us(left) : 0) + merge;
  return total_us(of, costs, costs.unmapped_launch_us, compute_us, 0);
}

// With a gate the kernel computes D's columns, of x first, then of y.
void fill(const Filling& filling) {
  fill_unmapped(filling);
  const Problem& problem = filling.problem;
  if (problem.epilogue.gate == Gate::none) return;
  KernelParams& params = filling.params;
  params.n = problem.n / 2;
  params.fused.to_y = columns_to_y(problem);
  params.fused.b_to_y = params.fused.to_y * params.b.outer_stride;
  params.b.outer_stride *= params.fused.columns.step;
}

}  // namespace

constinit const FamilyFunctions functions{.tiles = tiles,
                                          .rejects = rejects,
                                          .split_limits = split_limits,
                                          .predicted_us = predicted_us,
                                          .fill = fill};

}  // namespace bwgemm::direct
