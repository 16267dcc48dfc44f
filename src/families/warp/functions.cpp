// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions of Family::warp.
#include <algorithm>

#include "families/warp/facts.h"
#include "rules/arch_costs.h"
#include "rules/cost_terms.h"
#include "rules/family.h"
#include "rules/fill.h"
#include "rules/rejects.h"

namespace bwgemm::warp {
namespace {

const char* rejects(const Problem& problem, const KernelConfig& config, const Texts&) {
  if (problem.epilogue.gate != Gate::none) return "has no gate";
  if (problem.k > longest_k) return "k is too large for 32-bit positions";
  return tile_rejects(problem, config.tile.m, config.tile.n);
}

// Warps never meet.
SplitLimits split_limits(const Problem&, const KernelConfig&) {
  return {.can_split = false};
}

// Whether a warp kernel loads neighbours along k two at a time (families/warp/operand.h).
bool loads_pairs(const Problem& problem, const Matrix& matrix, Major major) {
  return major == Major::k && !problem.is_pointer_array && lies_in_pairs(problem, matrix);
}

// Warps wait for the loads of each step of k, the longer the fewer steps are ahead, or take what
// their SM gives all.
double predicted_us(const Prediction& of) {
  const auto& [problem, facts, config, tile_n, splits, reduction, known] = of;
  const ArchCosts& costs = costs_of(config.arch);
  const auto units =
      static_cast<double>(tile_counts(problem, config.tile.m, config.tile.n).total());
  const auto steps = static_cast<double>(k_steps(problem, config));
  const bool in_pairs = loads_pairs(problem, problem.a, a_major(problem)) &&
                        loads_pairs(problem, problem.b, b_major(problem));
  const WorkStep& step = in_pairs ? costs.warp_pairs : costs.warp_elements;
  const double blocks = (config.tile.m + config.tile.n) / 32.0;  // loads, of those of 16x16
  const double area = config.tile.m * config.tile.n / 256.0;
  const double unit_us = costs.warp_unit_us * area * output_bytes_per_element(problem) / 2;
  const double waves =
      std::max(1.0, units / static_cast<double>(resident_clusters(facts, config) * warps));
  constexpr double ahead = 4;  // steps whose loads are in flight, of the kernel that was measured
  const double latency_us = step.latency_us * ahead / steps_ahead(config);
  const double compute_us =
      std::max(waves * steps * latency_us,
               units / facts.sm_count * (unit_us + steps * step.us * blocks)) +
      (is_fused(problem, config) || problem.reads_c() ? waves * costs.warp_fused_us : 0);
  return total_us(of, costs, costs.unmapped_launch_us, compute_us, 0);
}

}  // namespace

constinit const FamilyFunctions functions{.tiles = tiles_of_clusters,
                                          .rejects = rejects,
                                          .split_limits = split_limits,
                                          .predicted_us = predicted_us,
                                          .fill = fill_unmapped};

}  // namespace bwgemm::warp
