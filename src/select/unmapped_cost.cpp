// SPDX-License-Identifier: Apache-2.0
#include "select/unmapped_cost.h"

#include <algorithm>
#include <cmath>

#include "core/tiling.h"
#include "kernels/output_path.h"
#include "kernels/shape.h"
#include "select/cost_terms.h"

namespace bwgemm {
namespace {

// Whether pairs of neighbours lie at multiples of 4 bytes, in every batch.
bool lies_in_pairs(const Problem& problem, const Matrix& matrix) {
  constexpr int pair_bytes = 4;
  return begins_at_multiples(matrix, pair_bytes) &&
         (problem.batch == 1 || matrix.batch_stride % 2 == 0);
}

// A step of two operands that the kernel moves as this one (kernels/direct/slab.h).
const WorkStep& direct_step(const Problem& problem, const Matrix& matrix, const ArchCosts& costs) {
  if (is_wide(matrix)) return costs.direct_wide;
  return lies_in_pairs(problem, matrix) ? costs.direct_pairs : costs.direct_narrow;
}
WorkStep direct_step(const Problem& problem, const ArchCosts& costs) {
  const WorkStep& a = direct_step(problem, problem.a, costs);
  const WorkStep& b = direct_step(problem, problem.b, costs);
  return {(a.latency_us + b.latency_us) / 2, (a.us + b.us) / 2};
}

// Whether a warp kernel loads neighbours along k two at a time (kernels/warp/operand.h).
bool loads_pairs(const Problem& problem, const Matrix& matrix, Major major) {
  return major == Major::k && !problem.is_pointer_array && lies_in_pairs(problem, matrix);
}

// A team that stages activations (kernels/dot/activations.h) on an SM that `sharing` teams share.
// Lanes load what lies eight elements apart, or all rows of such, and L1 looks up one line after
// the other.
double staging_us(const Problem& problem, const KernelConfig& config, int rows, std::int64_t unit_k,
                  double sharing, const ArchCosts& costs) {
  constexpr double line_elements = 64, unit_elements = dot::unit_elements;
  const bool in_units = a_major(problem) == Major::k && is_wide(problem.a);
  const auto inner = a_major(problem) == Major::k ? 1.0 : static_cast<double>(problem.a.ld);
  const int neighbours = a_major(problem) == Major::k ? 1 : rows;  // in memory
  const double units = rows * static_cast<double>(unit_k) / unit_elements;
  const int at_once = 32 * dot::team_warps(config) * (in_units ? 8 : 2);
  const double lines_of_unit =
      in_units ? unit_elements / line_elements
               : unit_elements * std::min(1.0, inner * unit_elements / line_elements) / neighbours;
  return std::ceil(units / at_once) * costs.dot_staging_us +
         units * lines_of_unit * sharing / costs.dot_lines_per_us;
}

// How often a team does so. Its next unit has the same activations only if it is of the same split
// of the same batch, and if they all fit.
double stagings(const Problem& problem, const KernelConfig& config, int rows, std::int64_t unit_k,
                int splits, std::int64_t units, std::int64_t resident) {
  const bool is_one = problem.a.batch_stride == 0 || problem.batch <= 1;
  const std::int64_t alike = units / (splits * (is_one && splits == 1 ? 1 : problem.batch));
  const bool fits = unit_k <= dot::activation_positions(config, rows);
  return static_cast<double>(ceil_div(units, fits && alike >= resident ? alike : resident));
}

// Weights stream at the rate of the memory, or of what the teams at work have in flight.
double dot_compute_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                      int splits, const ArchCosts& costs) {
  const std::int64_t units = cluster_tiles(problem, config, config.tile.n).total() * splits;
  const std::int64_t resident = resident_clusters(facts, config) * dot::teams(config);
  const double team_bytes_per_us = costs.dot_cta_bytes_per_us / dot::teams(config);
  const double outputs = static_cast<double>(config.tile.m) * config.tile.n;
  const int rows = static_cast<int>(std::clamp<std::int64_t>(problem.m, 1, config.tile.m));
  const std::int64_t unit_k = ceil_div(k_steps(problem, config), splits) * config.tile.k;
  const double unit_bytes = static_cast<double>(unit_k) * (config.tile.m + config.tile.n) * 2 +
                            outputs * output_bytes_per_element(problem);
  const double outputs_per_thread = 1.0 * rows * config.tile.n / (32 * dot::team_warps(config));
  const double unit_us = costs.dot_output_us * outputs_per_thread;
  const double sharing =
      std::max(1.0, static_cast<double>(std::min(units, resident)) / facts.sm_count);
  const double staging = stagings(problem, config, rows, unit_k, splits, units, resident) *
                         staging_us(problem, config, rows, unit_k, sharing, costs);
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
  const std::int64_t units = cluster_tiles(problem, config, config.tile.n).total() * splits;
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

double direct_compute_us(const Problem& problem, const DeviceFacts& facts,
                         const KernelConfig& config, int splits, const ArchCosts& costs) {
  const bool has_gate = problem.epilogue.gate != Gate::none;  // each tile twice: for x and for y
  const std::int64_t tiles =
      tile_counts(problem, config.tile.m, config.tile.n * (has_gate ? 2 : 1)).total();
  const auto steps =
      static_cast<double>(ceil_div(k_steps(problem, config), splits) * (has_gate ? 2 : 1));
  const WorkStep step = direct_step(problem, costs);
  const double tile_us = costs.direct_tile_us * output_bytes_per_element(problem) / 2;
  // CTAs of an SM hide each other's latency, or take turns.
  const auto wave_us = [&](std::int64_t ctas) {
    const double sharing = std::max(1.0, static_cast<double>(ctas) / facts.sm_count);
    return steps * std::max(step.latency_us, sharing * step.us) + sharing * tile_us;
  };
  const std::int64_t units = tiles * splits;
  const std::int64_t resident = resident_clusters(facts, config);
  const std::int64_t full_waves = units / resident, left = units % resident;
  const double merge = splits > 1 ? costs.merge_us + splits * costs.direct_merge_us : 0;
  return static_cast<double>(full_waves) * wave_us(resident) + (left > 0 ? wave_us(left) : 0) +
         merge;
}

// A warp waits for its loads and goes on; or all warps together take what a multiprocessor gives.
double warp_compute_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                       const ArchCosts& costs) {
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
      std::max(1.0, units / static_cast<double>(resident_clusters(facts, config) * warp::warps));
  constexpr double ahead = 4;  // steps whose loads are in flight, of the kernel that was measured
  const double latency_us = step.latency_us * ahead / warp::steps_ahead(config);
  return std::max(waves * steps * latency_us,
                  units / facts.sm_count * (unit_us + steps * step.us * blocks)) +
         (is_fused(problem, config) || problem.reads_c() ? waves * costs.warp_fused_us : 0);
}

double dot_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
              int splits, SplitReduction reduction, const ArchCosts& costs) {
  return dot::is_of_vectors(config)
             ? vectors_us(problem, facts, config, splits, reduction, costs)
             : costs.unmapped_launch_us + dot_compute_us(problem, facts, config, splits, costs);
}

}  // namespace bwgemm
