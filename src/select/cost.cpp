// SPDX-License-Identifier: Apache-2.0
// The constants and the arithmetic of the model described in cost.h.
#include "select/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tiling.h"
#include "kernels/shape.h"

namespace bwgemm {
namespace {

struct ArchCosts {
  double launch_us;            // launch, prologue, first load
  double memory_bytes_per_us;  // device memory, whole chip
  double overlap_loss;         // part of the shorter of compute and memory that is not hidden
  double fill_us;              // the ring runs empty between two waves
  double
      sm_flop_per_us;  // tensor cores of one SM with power to spare; unused where clocks are known
  double powered_flop_per_us;   // what the chip's power would sustain if only products cost energy,
  double powered_bytes_per_us;  // and if only delivery of operands did
  double mma_clocks_per_us;     // sustained clock, for kernels costed in clocks
  double sm_bytes_per_us;       // operand delivery to one SM that has the chip for itself
  double chip_bytes_per_us;     // operand delivery to all SMs together
  double epilogue_bytes_per_us;  // output (and C) of one SM through its staging buffers
  double direct_step_us;         // one step of a direct CTA, its SM full
  double direct_narrow_step_us;  // the same with operands that cannot be read 16 bytes at a time
  double direct_merge_us;        // adding one slice of one tile
};

// clang-format off
constexpr ArchCosts h200_costs = {
    .launch_us = 2.4,                  // public models of persistent TMA kernels say 2.2-2.6
    .memory_bytes_per_us = 4.2e6,      // measured 2026-11-21, H200: copy 4.3 TB/s, cuBLAS at m = 1 4.15 TB/s
    .overlap_loss = 0.05,              // placeholder
    .fill_us = 0.1,                    // placeholder
    .sm_flop_per_us = 7.2e6,           // measured 2026-11-21, H200: 64 to 256 wide tiles on 2-8 SMs
    .powered_flop_per_us = 780e6,      // fitted 2026-11-21, H200: 128x128 and 128x256 tiles at 4096^3,
    .powered_bytes_per_us = 108e6,     // 655 and 686 TFLOP/s sustained
    .mma_clocks_per_us = 0,            // not used
    .sm_bytes_per_us = 140e3,          // measured 2026-11-21, H200: 128x64 tiles on 64 SMs, 137 GB/s
    .chip_bytes_per_us = 13.5e6,       // measured 2026-11-21, H200: loads alone 13.7 TB/s, sustained
    .epilogue_bytes_per_us = 100e3,    // public models say 0.4-0.8 us for a 128 x 256 tile of 16-bit output
    .direct_step_us = 1.47,            // measured 2026-11-21, H200: 4096^3 in 1498 us
    .direct_narrow_step_us = 2.45,     // measured 2026-11-21, H200: 4093x4091x4099 in 2515 us
    .direct_merge_us = 0.35,           // 16 KiB at 50 GB/s: one SM reading L2
};

// Nothing here was measured by us: predicted from the data sheet and published figures.
constexpr ArchCosts b200_costs = {
    .launch_us = 2.4,                  // as H200
    .memory_bytes_per_us = 7.0e6,      // data sheet 7.67 TB/s, less what H200 loses of its own
    .overlap_loss = 0.05,              // placeholder
    .fill_us = 0.8,                    // TMA latency and first block, 1000-1500 clocks
    .sm_flop_per_us = 0,               // not used
    .powered_flop_per_us = 0,          // unknown: in mma_clocks_per_us
    .powered_bytes_per_us = 0,         // unknown
    .mma_clocks_per_us = 1400,         // cuBLAS sustains 1400-1600 of the 2250 TFLOP/s at 1.855 GHz
    .sm_bytes_per_us = 90e3,           // 64 bytes per clock, as on Hopper; not established
    .chip_bytes_per_us = 13.3e6,       // no chip-wide limit known below that of the SMs
    .epilogue_bytes_per_us = 46e3,     // 128 rows x 64 columns of 16 bits in 500 clocks
    .direct_step_us = 1.5,             // as H200
    .direct_narrow_step_us = 2.45,     // as H200
    .direct_merge_us = 0.35,           // as H200
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

double mma_us(const ArchCosts& costs, const KernelConfig& config, int tile_n) {
  if (config.family == Family::pair)
    return config.tile.k / 16.0 * pair_mma_clocks(tile_n) / costs.mma_clocks_per_us;
  return 2.0 * config.tile.m * tile_n * config.tile.k / costs.sm_flop_per_us;
}

// Operand bytes that one CTA takes in for one k block, multicast ones included.
double block_bytes(const KernelConfig& config, int tile_n) {
  const int rows =
      config.family == Family::pair ? (config.tile.m + tile_n) / 2 : config.tile.m + tile_n;
  return 2.0 * rows * config.tile.k;
}

// Power is shared: with all SMs at work, products and deliveries cost time in proportion to their
// energy, however fast each could be alone.
double power_us(const ArchCosts& costs, const KernelConfig& config, int tile_n,
                std::int64_t active_ctas) {
  if (costs.powered_flop_per_us == 0) return 0;
  const double flop = 2.0 * config.tile.m * tile_n * config.tile.k;
  return static_cast<double>(active_ctas) *
         (flop / costs.powered_flop_per_us +
          block_bytes(config, tile_n) / costs.powered_bytes_per_us);
}

double block_us(const ArchCosts& costs, const KernelConfig& config, int tile_n,
                std::int64_t active_ctas) {
  return std::max(
      {mma_us(costs, config, tile_n), block_bytes(config, tile_n) / costs.sm_bytes_per_us,
       static_cast<double>(active_ctas) * block_bytes(config, tile_n) / costs.chip_bytes_per_us,
       power_us(costs, config, tile_n, active_ctas)});
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
                      int tile_n, const ArchCosts& costs) {
  const KernelShape shape = kernel_shape(config, tile_n, problem.d.type);
  const double cta_outputs =
      static_cast<double>(shape.cluster_tile_m) * shape.cluster_tile_n / config.cluster.size();
  const double epilogue =
      cta_outputs * output_bytes_per_element(problem) / costs.epilogue_bytes_per_us;
  // The pair computes the next tile during an epilogue, having two accumulators.
  const bool hides_epilogue = config.family == Family::pair;
  const auto wave_us = [&](std::int64_t clusters) {
    const double block = block_us(costs, config, shape.tile_n, clusters * config.cluster.size());
    return static_cast<double>(k_steps(problem, config)) * block + costs.fill_us +
           (hides_epilogue ? 0 : epilogue);
  };
  const std::int64_t tiles =
      tile_counts(problem, shape.cluster_tile_m, shape.cluster_tile_n).total();
  const std::int64_t resident = resident_clusters(facts, config);
  const std::int64_t full_waves = tiles / resident, left = tiles % resident;
  return static_cast<double>(full_waves) * wave_us(resident) + (left > 0 ? wave_us(left) : 0) +
         (hides_epilogue ? epilogue : 0);
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
                          direct::ctas_per_sm;
  const double merge = splits > 1 ? splits * costs.direct_merge_us : 0;
  return static_cast<double>(waves) * (static_cast<double>(steps) * direct_step_us(problem, costs) +
                                       costs.fill_us + epilogue) +
         merge;
}

}  // namespace

std::int64_t resident_clusters(const DeviceFacts& facts, const KernelConfig& config) {
  const int per_sm = config.family == Family::direct ? direct::ctas_per_sm : 1;
  return std::max(1, per_sm * facts.sm_count / config.cluster.size());
}

int direct_splits(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                  std::size_t workspace_bytes) {
  const ArchCosts& costs = costs_of(config.arch);
  const std::int64_t tiles = tile_counts(problem, config.tile.m, config.tile.n).total();
  const std::int64_t steps = k_steps(problem, config);
  const std::size_t slice_bytes = sizeof(float) * static_cast<std::size_t>(config.tile.m) *
                                  static_cast<std::size_t>(config.tile.n) *
                                  static_cast<std::size_t>(tiles);
  // With s slices a tile takes steps / s * step + s * merge: least at the square root.
  const double worthwhile = std::sqrt(static_cast<double>(steps) * direct_step_us(problem, costs) /
                                      costs.direct_merge_us);
  const std::int64_t splits =
      std::min({resident_clusters(facts, config) / tiles, steps / min_steps_per_split,
                static_cast<std::int64_t>(worthwhile),
                static_cast<std::int64_t>(workspace_bytes / slice_bytes)});
  if (splits <= 1) return 1;
  const std::int64_t steps_per_split = ceil_div(steps, splits);
  if (steps_per_split > std::numeric_limits<std::int32_t>::max() / config.tile.k) return 1;
  return static_cast<int>(ceil_div(steps, steps_per_split));  // none is empty
}

double predicted_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                    int tile_n, int splits) {
  const ArchCosts& costs = costs_of(config.arch);
  const double memory = memory_us(problem, costs);
  const double compute = config.family == Family::direct
                             ? direct_compute_us(problem, facts, config, splits, costs)
                             : tma_compute_us(problem, facts, config, tile_n, costs);
  return costs.launch_us + std::max(compute, memory) +
         costs.overlap_loss * std::min(compute, memory);
}

}  // namespace bwgemm
