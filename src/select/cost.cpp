// SPDX-License-Identifier: Apache-2.0
// The constants and the arithmetic of the model described in cost.h.
#include "select/cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/tiling.h"
#include "kernels/shape.h"

namespace bwgemm {
namespace {

struct ArchCosts {
  double launch_us;            // launch, prologue, first load
  double cluster_us;           // start and end together, of a cluster of more than one CTA
  double memory_bytes_per_us;  // device memory, whole chip
  double overlap_loss;         // part of the shorter of compute and memory that is not hidden
  double fill_us;              // the ring runs empty between two waves
  double
      sm_flop_per_us;  // tensor cores of one SM with power to spare; unused where clocks are known
  double powered_flop_per_us;   // what the chip's power would sustain if only products cost energy,
  double powered_bytes_per_us;  // and if only delivery of operands did
  double mma_clocks_per_us;     // sustained clock, for kernels costed in clocks
  double sm_bytes_per_us;       // operand delivery to one SM that has the chip for itself
  double straddling_lines;      // L2's work for rows of 128 bytes that lie in two lines
  double outside_row_us;        // a row of a bulk load that lies outside of the operand
  double chip_bytes_per_us;     // operand delivery to all SMs together
  double block_floor_us;        // handing one ring slot over and back, whatever it holds
  double epilogue_bytes_per_us;  // output (and C) of one SM through its staging buffers
  double exposed_epilogue;       // part of it that another CTA of the same SM does not hide
  double merge_us;               // a split tile: partial sums out, arrival, the last one goes on
  double merge_bytes_per_us;     // partial sums that the last one reads back
  double direct_step_us;         // one step of a direct CTA, its SM full
  double direct_narrow_step_us;  // the same with operands that cannot be read 16 bytes at a time
  double direct_merge_us;        // adding one slice of one tile
  double dot_launch_us;          // launch and first loads of a kernel without tensor maps
  double dot_cta_bytes_per_us;   // weights that the loads in flight of one CTA bring
  double dot_tile_us;            // sums of the warps, output
};

// clang-format off
constexpr ArchCosts h200_costs = {
    // Fitted 2026-11-21 on an H200 to a sweep of 4900 times of 170 problems (bench/NOTES.md), unless a
    // line says otherwise.
    .launch_us = 2.85,
    .cluster_us = 0.5,
    .memory_bytes_per_us = 4.45e6,     // of 4.64 TB/s that a kernel which only reads gets
    .overlap_loss = 0.35,
    .fill_us = 0.218,
    .sm_flop_per_us = 7.3e6,
    .powered_flop_per_us = 780e6,      // fitted 2026-11-21, H200: 128x128 and 128x256 tiles at 4096^3,
    .powered_bytes_per_us = 108e6,     // 655 and 686 TFLOP/s sustained
    .mma_clocks_per_us = 0,            // not used
    .sm_bytes_per_us = 180e3,
    .straddling_lines = 1.31,
    .outside_row_us = 0.0012,
    .chip_bytes_per_us = 13.5e6,       // measured 2026-11-21, H200: loads alone 13.7 TB/s
    .block_floor_us = 0.06,
    .epilogue_bytes_per_us = 53e3,
    .exposed_epilogue = 2.0,           // two CTAs of an SM do not hide each other's: they are in step
    .merge_us = 2.13,
    .merge_bytes_per_us = 68e3,
    .direct_step_us = 1.47,            // measured 2026-11-21, H200: 4096^3 in 1498 us
    .direct_narrow_step_us = 2.45,     // measured 2026-11-21, H200: 4093x4091x4099 in 2515 us
    .direct_merge_us = 0.15,
    .dot_launch_us = 2.22,
    .dot_cta_bytes_per_us = 29.7e3,
    .dot_tile_us = 0.05,
};

// Nothing here was measured by us: predicted from the data sheet and published figures.
constexpr ArchCosts b200_costs = {
    .launch_us = 2.4,                  // as H200
    .cluster_us = 0,                   // in launch_us: every kernel of pairs has one
    .memory_bytes_per_us = 7.0e6,      // data sheet 7.67 TB/s, less what H200 loses of its own
    .overlap_loss = 0.05,              // placeholder
    .fill_us = 0.8,                    // TMA latency and first block, 1000-1500 clocks
    .sm_flop_per_us = 0,               // not used
    .powered_flop_per_us = 0,          // unknown: in mma_clocks_per_us
    .powered_bytes_per_us = 0,         // unknown
    .mma_clocks_per_us = 1400,         // cuBLAS sustains 1400-1600 of the 2250 TFLOP/s at 1.855 GHz
    .sm_bytes_per_us = 90e3,           // 64 bytes per clock, as on Hopper; not established
    .straddling_lines = 1.4,           // as H200
    .outside_row_us = 0.004,           // as H200
    .chip_bytes_per_us = 13.3e6,       // no chip-wide limit known below that of the SMs
    .block_floor_us = 0.06,            // as H200
    .epilogue_bytes_per_us = 46e3,     // 128 rows x 64 columns of 16 bits in 500 clocks
    .exposed_epilogue = 0.3,           // as H200
    .merge_us = 1.5,                   // as H200
    .merge_bytes_per_us = 80e3,        // as H200
    .direct_step_us = 1.5,             // as H200
    .direct_narrow_step_us = 2.45,     // as H200
    .direct_merge_us = 0.35,           // as H200
    .dot_launch_us = 2.6,              // as H200
    .dot_cta_bytes_per_us = 32e3,      // as H200
    .dot_tile_us = 0.3,                // as H200
};
// clang-format on

constexpr const ArchCosts& costs_of(Arch arch) {
  return arch == Arch::sm90 ? h200_costs : b200_costs;
}

constexpr int min_steps_per_split = 4;

// Clocks between two tcgen05.mma of a CTA pair with 256 rows and 16 of k: published measurements on
// a GB300 at 64, 128 and 256 columns, joined by straight lines. Below 64 columns nothing is gained.
double pair_mma_clocks(int tile_n) {
  if (tile_n <= 64) return 52;
  if (tile_n <= 128) return 52 + (70 - 52) * (tile_n - 64) / 64.0;
  return 70 + (134 - 70) * (tile_n - 128) / 128.0;
}

// What one k block of one CTA asks for.
struct Block {
  double flop;
  double bytes;     // of operands that arrive in shared memory, multicast ones included
  double l2_bytes;  // the same as L2 delivers it: what CTAs of a cluster share leaves L2 once
  double outside;   // rows of its loads that lie outside of the operands, on an average tile
};

// Rows of 128 bytes that do not start at multiples of 128 touch two lines of L2 each.
double lines_touched(const ArchCosts& costs, const Matrix& matrix) {
  constexpr std::int64_t line_bytes = 128;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(matrix.data) % line_bytes == 0 &&
                          matrix.ld * size_bytes(matrix.type) % line_bytes == 0;
  return is_aligned ? 1 : costs.straddling_lines;
}

// TMA makes the zeros of rows outside of an operand, slowly. Chunks of 64 may stick out of a tile.
Block block_of(const Problem& problem, const ArchCosts& costs, const KernelConfig& config,
               const KernelShape& shape, const TileCounts& tiles) {
  const double depth = 2.0 * config.tile.k;  // bytes of a row
  if (config.family == Family::pair) {
    const double bytes = depth * (config.tile.m + shape.tile_n) / 2;
    return {2.0 * config.tile.m * shape.tile_n * config.tile.k, bytes, bytes, 0};
  }
  const double a_rows = sm90::operand_rows(config.a, config.tile.m);
  const double b_rows = sm90::operand_rows(config.b, shape.tile_n);
  const double a_lines = lines_touched(costs, problem.a), b_lines = lines_touched(costs, problem.b);
  const auto covered_m = static_cast<double>(tiles.m * shape.cluster_tile_m);
  const auto covered_n = static_cast<double>(tiles.n * shape.cluster_tile_n);
  const double outside =
      (covered_m - static_cast<double>(problem.m)) / static_cast<double>(tiles.m) +
      (covered_n - static_cast<double>(problem.n)) / static_cast<double>(tiles.n);
  return {2.0 * config.tile.m * shape.tile_n * config.tile.k, depth * (a_rows + b_rows),
          depth * (a_rows * a_lines / config.cluster.n + b_rows * b_lines / config.cluster.m),
          outside};
}

double mma_us(const ArchCosts& costs, const KernelConfig& config, const Block& block, int tile_n) {
  if (config.family == Family::pair)
    return config.tile.k / 16.0 * pair_mma_clocks(tile_n) / costs.mma_clocks_per_us;
  return block.flop / costs.sm_flop_per_us;
}

// Power is shared: with all SMs at work, products and deliveries cost time in proportion to their
// energy, however fast each could be alone.
double power_us(const ArchCosts& costs, const Block& block) {
  if (costs.powered_flop_per_us == 0) return 0;
  return block.flop / costs.powered_flop_per_us + block.bytes / costs.powered_bytes_per_us;
}

// Time of delivery to a shape's tiles over what the constants say: narrow tiles of neighbouring SMs
// share lines, which then leave L2 once.
struct ShapeFactor {
  Output output;
  int tile_m, tile_n;
  Cluster cluster;
  int ctas_per_sm;
  double factor;
};

constexpr std::array<ShapeFactor, 16> shape_factors = {{
    {Output::rows, 128, 128, {1, 1}, 1, 0.95},
    {Output::rows, 128, 64, {1, 1}, 1, 0.81},
    {Output::rows, 128, 64, {1, 2}, 1, 1.13},
    {Output::rows, 128, 64, {1, 1}, 2, 0.95},
    {Output::rows, 192, 128, {1, 1}, 1, 1.17},
    {Output::rows, 64, 256, {1, 1}, 1, 0.90},
    {Output::rows, 64, 128, {1, 1}, 1, 0.77},
    {Output::rows, 64, 128, {1, 1}, 2, 0.93},
    {Output::rows, 64, 64, {1, 1}, 1, 0.75},
    {Output::rows, 64, 64, {1, 1}, 2, 0.95},
    {Output::columns, 128, 64, {1, 1}, 1, 0.94},
    {Output::columns, 128, 32, {1, 1}, 1, 0.94},
    {Output::columns, 64, 64, {1, 1}, 1, 0.95},
    {Output::columns, 64, 8, {1, 1}, 1, 0.96},
    {Output::scattered, 128, 256, {1, 1}, 1, 1.10},  // a guess
    {Output::scattered, 128, 128, {1, 1}, 1, 1.10},  // a guess
}};

double shape_factor(const KernelConfig& config) {
  if (config.family != Family::cooperative) return 1;
  for (const ShapeFactor& shape : shape_factors)
    if (shape.output == config.output && shape.tile_m == config.tile.m &&
        shape.tile_n == config.tile.n && shape.cluster == config.cluster &&
        shape.ctas_per_sm == config.ctas_per_sm)
      return shape.factor;
  return 1;
}

// One k block of every CTA at work; CTAs that share an SM take turns.
double block_us(const ArchCosts& costs, const KernelConfig& config, const Block& block, int tile_n,
                int sm_count, std::int64_t active_ctas) {
  const auto active = static_cast<double>(active_ctas);
  const double sharing = std::max(1.0, active / sm_count);
  const double delivery = std::max(
      sharing * (block.bytes / costs.sm_bytes_per_us + block.outside * costs.outside_row_us),
      active * block.l2_bytes / costs.chip_bytes_per_us);
  return std::max({sharing * mma_us(costs, config, block, tile_n), shape_factor(config) * delivery,
                   active * power_us(costs, block), costs.block_floor_us});
}

int output_bytes_per_element(const Problem& problem) {
  return size_bytes(problem.d.type) * (problem.reads_c() ? 2 : 1);
}

double memory_us(const Problem& problem, const ArchCosts& costs) {
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.scale_only() ? 0 : problem.k);
  const auto batch = static_cast<double>(problem.batch);
  const double a_batch = problem.a.batch_stride == 0 ? 1 : batch;
  const double b_batch = problem.b.batch_stride == 0 ? 1 : batch;
  const double bytes = (a_batch * m * k + b_batch * k * n) * size_bytes(problem.a.type) +
                       batch * m * n * output_bytes_per_element(problem);
  return bytes / costs.memory_bytes_per_us;
}

double tma_compute_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                      int tile_n, int splits, const ArchCosts& costs) {
  const KernelShape shape = kernel_shape(config, tile_n, problem.d.type);
  const double cta_outputs = static_cast<double>(config.tile.m) * shape.tile_n /
                             (config.family == Family::pair ? config.cluster.size() : 1);
  const double epilogue =
      cta_outputs * output_bytes_per_element(problem) / costs.epilogue_bytes_per_us;
  // The pair computes the next tile during an epilogue, having two accumulators.
  const bool hides_epilogue = config.family == Family::pair;
  const double exposed = hides_epilogue           ? 0
                         : config.ctas_per_sm > 1 ? costs.exposed_epilogue * epilogue
                                                  : epilogue;
  const auto blocks = static_cast<double>(ceil_div(k_steps(problem, config), splits));
  const TileCounts tiles = tile_counts(problem, shape.cluster_tile_m, shape.cluster_tile_n);
  const Block block = block_of(problem, costs, config, shape, tiles);
  const auto wave_us = [&](std::int64_t clusters) {
    const double each = block_us(costs, config, block, shape.tile_n, facts.sm_count,
                                 clusters * config.cluster.size());
    return blocks * each + costs.fill_us + exposed;
  };
  const std::int64_t units = tiles.total() * splits;
  const std::int64_t resident = resident_clusters(facts, config);
  const std::int64_t full_waves = units / resident, left = units % resident;
  const double merge = splits == 1 ? 0
                                   : costs.merge_us + splits * cta_outputs * sizeof(float) /
                                                          costs.merge_bytes_per_us;
  return static_cast<double>(full_waves) * wave_us(resident) + (left > 0 ? wave_us(left) : 0) +
         (epilogue - exposed) + merge;
}

// Whether an operand can be read 16 bytes at a time.
bool is_wide(const Matrix& matrix) {
  constexpr std::int64_t wide = 16;
  const std::int64_t wide_elements = wide / size_bytes(matrix.type);  // strides may be any number
  return reinterpret_cast<std::uintptr_t>(matrix.data) % wide == 0 &&
         matrix.ld % wide_elements == 0 && matrix.batch_stride % wide_elements == 0;
}

double direct_step_us(const Problem& problem, const ArchCosts& costs) {
  return is_wide(problem.a) && is_wide(problem.b) ? costs.direct_step_us
                                                  : costs.direct_narrow_step_us;
}

double direct_compute_us(const Problem& problem, const DeviceFacts& facts,
                         const KernelConfig& config, int splits, const ArchCosts& costs) {
  const std::int64_t tiles = tile_counts(problem, config.tile.m, config.tile.n).total();
  const std::int64_t waves = ceil_div(tiles * splits, resident_clusters(facts, config));
  const std::int64_t steps = ceil_div(k_steps(problem, config), splits);
  const double epilogue = static_cast<double>(config.tile.m) * config.tile.n *
                          output_bytes_per_element(problem) / costs.epilogue_bytes_per_us *
                          config.ctas_per_sm;
  const double merge = splits > 1 ? splits * costs.direct_merge_us : 0;
  return static_cast<double>(waves) * (static_cast<double>(steps) * direct_step_us(problem, costs) +
                                       costs.fill_us + epilogue) +
         merge;
}

// The dot kernels read the whole 16-byte unit in which an operand ends. No access can fault there,
// but memory checkers object where an allocation ends inside it: then they serve only when forced.
constexpr double unwanted_us = 1e9;

bool ends_with_a_unit(const Problem& problem) {
  const auto ends = [&](const Matrix& matrix, std::int64_t lines, std::int64_t length) {
    const std::int64_t elements =
        (problem.batch - 1) * matrix.batch_stride + (lines - 1) * matrix.ld + length;
    const auto address = reinterpret_cast<std::uintptr_t>(matrix.data);
    return (address + static_cast<std::uintptr_t>(elements * size_bytes(matrix.type))) % 16 == 0;
  };
  const bool a_along_k = a_major(problem) == Major::k, b_along_k = b_major(problem) == Major::k;
  return ends(problem.a, a_along_k ? problem.m : problem.k, a_along_k ? problem.k : problem.m) &&
         ends(problem.b, b_along_k ? problem.n : problem.k, b_along_k ? problem.k : problem.n);
}

// Weights stream at the rate of the memory, or of what the CTAs at work have in flight.
double dot_compute_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                      int splits, const ArchCosts& costs) {
  const KernelShape shape = kernel_shape(config, config.tile.n, problem.d.type);
  const std::int64_t units = cluster_tiles(problem, config, shape).total() * splits;
  const std::int64_t resident = resident_clusters(facts, config);
  const double outputs = static_cast<double>(config.tile.m) * config.tile.n;
  const double unit_bytes = static_cast<double>(ceil_div(k_steps(problem, config), splits)) *
                                config.tile.k * (config.tile.m + config.tile.n) * 2 +
                            outputs * output_bytes_per_element(problem);
  const auto wave_us = [&](std::int64_t ctas) {
    const double rate =
        std::min(costs.memory_bytes_per_us, static_cast<double>(ctas) * costs.dot_cta_bytes_per_us);
    return static_cast<double>(ctas) * unit_bytes / rate + costs.dot_tile_us;
  };
  const std::int64_t full_waves = units / resident, left = units % resident;
  const double merge =
      splits == 1 ? 0
                  : costs.merge_us + splits * outputs * sizeof(float) / costs.merge_bytes_per_us;
  return static_cast<double>(full_waves) * wave_us(resident) + (left > 0 ? wave_us(left) : 0) +
         merge;
}

}  // namespace

std::int64_t resident_clusters(const DeviceFacts& facts, const KernelConfig& config) {
  return std::max(
      1, std::min(config.ctas_per_sm, facts.ctas_per_sm) * facts.sm_count / config.cluster.size());
}

Splits splits_to_try(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                     std::size_t workspace_bytes, int forced) {
  Splits splits;
  if (!can_split(config)) return splits;
  const std::int64_t tiles =
      cluster_tiles(problem, config, kernel_shape(config, config.tile.n, problem.d.type)).total();
  const std::int64_t steps = k_steps(problem, config);
  if (steps == 0) return splits;
  const std::size_t slice_bytes = sizeof(float) * static_cast<std::size_t>(config.tile.m) *
                                  static_cast<std::size_t>(config.tile.n) *
                                  static_cast<std::size_t>(tiles * config.cluster.size());
  const std::int64_t most =
      std::min({resident_clusters(facts, config) / tiles,
                steps / (config.family == Family::dot ? 1 : min_steps_per_split),
                static_cast<std::int64_t>(workspace_bytes / slice_bytes)});
  const auto normalized = [&](std::int64_t wanted) {
    return static_cast<int>(ceil_div(steps, ceil_div(steps, wanted)));  // none is empty
  };
  if (forced > 0) {
    splits.number[0] =
        normalized(std::clamp<std::int64_t>(forced, 1, std::max<std::int64_t>(most, 1)));
    return splits;
  }
  // Halves of the most, down to two: what lies between them is never much better than both.
  for (std::int64_t wanted = most;
       wanted > 1 && splits.count<Splits::capacity; wanted = wanted> 2 && wanted < 4 ? 2
                                                                                     : wanted / 2) {
    const std::int64_t steps_per_split = ceil_div(steps, wanted);
    if (steps_per_split > std::numeric_limits<std::int32_t>::max() / config.tile.k) break;
    splits.add(normalized(wanted));
  }
  return splits;
}

double predicted_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                    int tile_n, int splits) {
  const ArchCosts& costs = costs_of(config.arch);
  const double memory = memory_us(problem, costs);
  if (config.family == Family::dot && !ends_with_a_unit(problem)) return unwanted_us;
  if (config.family == Family::dot)
    return costs.dot_launch_us +
           std::max(memory, dot_compute_us(problem, facts, config, splits, costs));
  const double compute = config.family == Family::direct
                             ? direct_compute_us(problem, facts, config, splits, costs)
                             : tma_compute_us(problem, facts, config, tile_n, splits, costs);
  return costs.launch_us + (config.cluster.size() > 1 ? costs.cluster_us : 0) +
         std::max(compute, memory) + costs.overlap_loss * std::min(compute, memory);
}

}  // namespace bwgemm
