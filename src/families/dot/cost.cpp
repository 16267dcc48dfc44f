// SPDX-License-Identifier: Apache-2.0
#include "families/dot/cost.h"

#include <algorithm>
#include <cmath>

#include "families/dot/layout.h"
#include "rules/arch_costs.h"
#include "rules/cost_terms.h"

namespace bwgemm::dot {
namespace {

// A team that stages activations (families/dot/activations.h): a load brings eight of them, or, of
// those that do not lie so, two.
double staging_us(const Problem& problem, const KernelConfig& config, int rows, std::int64_t unit_k,
                  const ArchCosts& costs) {
  const bool in_units = a_major(problem) == Major::k && is_wide(problem.a);
  const double units = rows * static_cast<double>(unit_k) / unit_elements;
  const int at_once = 32 * teams_of(config).warps * (in_units ? 8 : 2);
  return std::ceil(units / at_once) * costs.dot_staging_us;
}

// How often a team does so. Its next unit has the same activations only if it is of the same split
// of the same batch, and if they all fit.
double stagings(const Problem& problem, const KernelConfig& config, int rows, std::int64_t unit_k,
                int splits, std::int64_t units, std::int64_t resident) {
  const bool is_one = problem.a.batch_stride == 0 || problem.batch <= 1;
  const std::int64_t alike = units / (splits * (is_one && splits == 1 ? 1 : problem.batch));
  const bool fits = unit_k <= activation_positions(config, rows);
  return static_cast<double>(ceil_div(units, fits && alike >= resident ? alike : resident));
}

// Weights stream at the rate of the memory, or of what the teams at work have in flight.
double dot_compute_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                      int splits, const ArchCosts& costs) {
  const std::int64_t units = tiles(problem, config, config.tile.n).total() * splits;
  const std::int64_t resident = resident_clusters(facts, config) * teams_of(config).count;
  const double team_bytes_per_us = costs.dot_cta_bytes_per_us / teams_of(config).count;
  const double outputs = static_cast<double>(config.tile.m) * config.tile.n;
  const int rows = static_cast<int>(std::clamp<std::int64_t>(problem.m, 1, config.tile.m));
  const std::int64_t unit_k = ceil_div(k_steps(problem, config), splits) * config.tile.k;
  const double unit_bytes = static_cast<double>(unit_k) * (config.tile.m + config.tile.n) * 2 +
                            outputs * output_bytes_per_element(problem);
  const double outputs_per_thread = 1.0 * rows * config.tile.n / (32 * teams_of(config).warps);
  const double unit_us = costs.dot_output_us * outputs_per_thread;
  const double staging = stagings(problem, config, rows, unit_k, splits, units, resident) *
                         staging_us(problem, config, rows, unit_k, costs);
  const auto wave_us = [&](std::int64_t teams) {
    const double rate = std::min(costs.dot_bytes_per_us * memory_speed(facts),
                                 static_cast<double>(teams) * team_bytes_per_us);
    return static_cast<double>(teams) * unit_bytes / rate + unit_us;
  };
  const std::int64_t full_waves = units / resident, left = units % resident;
  const double merge =
      splits == 1 ? 0
                  : costs.merge_us + splits * outputs * sizeof(float) / costs.merge_bytes_per_us;
  return static_cast<double>(full_waves) * wave_us(resident) + (left > 0 ? wave_us(left) : 0) +
         staging + merge;
}

// Launch included. Loads of a CTA's first unit are part of that, longer the more CTAs ask at once;
// each further unit waits for its own.
double vectors_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                  int splits, SplitReduction reduction, const ArchCosts& costs) {
  const std::int64_t units = tiles(problem, config, config.tile.n).total() * splits;
  const std::int64_t resident = resident_clusters(facts, config);
  const bool is_loose = !is_wide(problem.b) || !is_wide(problem.a) || a_major(problem) != Major::k;
  const std::int64_t unit_k =
      std::min(problem.k, ceil_div(k_steps(problem, config), splits) * config.tile.k);
  const double columns = static_cast<double>(std::min<std::int64_t>(problem.n, config.tile.n));
  const double column_bytes =
      static_cast<double>(unit_k) * size_bytes(problem.a.type) + output_bytes_per_element(problem);
  const double unit_us = columns * costs.vector_column_us +
                         (columns + 1) * column_bytes * (is_loose ? costs.loose_vectors : 1) /
                             costs.vector_cta_bytes_per_us;
  const auto waves = static_cast<double>(ceil_div(units, resident));
  const double work_us = waves * unit_us + (waves - 1) * costs.vector_unit_us;
  const double memory_us = static_cast<double>(units) * columns * column_bytes /
                           (costs.dot_bytes_per_us * memory_speed(facts));
  const double spread =
      std::sqrt(std::min(1.0, static_cast<double>(units) / static_cast<double>(resident)));
  return costs.vector_launch_us + costs.vector_spread_us * spread +
         together_us(costs, work_us, memory_us) +
         (splits > 1 && reduction == SplitReduction::workspace ? costs.vector_merge_us : 0);
}

}  // namespace

double predicted_us(const Prediction& of) {
  const auto& [problem, facts, config, tile_n, splits, reduction, known] = of;
  const ArchCosts& costs = costs_of(config.arch);
  return is_of_vectors(config)
             ? vectors_us(problem, facts, config, splits, reduction, costs)
             : costs.unmapped_launch_us + dot_compute_us(problem, facts, config, splits, costs);
}

}  // namespace bwgemm::dot
