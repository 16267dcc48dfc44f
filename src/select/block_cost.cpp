// SPDX-License-Identifier: Apache-2.0
// The arithmetic of block and delivery in the model described in cost.h.
#include "select/block_cost.h"

#include <algorithm>

#include "core/tiling.h"
#include "kernels/shape.h"
#include "kernels/variants.h"
#include "select/cost_terms.h"

namespace bwgemm {
namespace {

double mma_clocks(const KernelConfig& config, int tile_n) {
  return config.family == Family::pair ? sm100::row_blocks(config) * pair_mma_clocks(tile_n)
                                       : single_mma_clocks(tile_n);
}

// An operand along m or n with so few of them that a line of L2 holds rows of several k: all CTAs
// ask for each of these rows.
double requests_for_a_line(const Matrix& matrix, Major major, std::int64_t readers) {
  constexpr int line_bytes = 128;
  const auto row_bytes = static_cast<double>(matrix.ld * size_bytes(matrix.type));
  if (major == Major::k || row_bytes >= line_bytes) return 0;
  return static_cast<double>(readers) * line_bytes / row_bytes;
}

// Rows of an operand that a CTA loads for its tile: what is outside of the operand is not asked
// for, but where a gate reorders it. The fullest tile is the slowest, all together weigh on L2.
// Lines along m or n that end early cost time all the same: 64 of which 16 elements are inside take
// longer than 64 that are full.
struct LoadedRows {
  double most, mean;
  double unused;  // those outside that lie along m or n, of the fullest tile
};
LoadedRows loaded_rows(Major major, std::int64_t extent, int tile, std::int64_t ctas,
                       bool is_gated) {
  const auto rows_of = [&](std::int64_t rows) -> std::int64_t {
    return sm90::operand_rows(major, static_cast<int>(rows));
  };
  const std::int64_t whole = rows_of(tile);
  const double unused =
      major == Major::k ? 0 : static_cast<double>(std::max<std::int64_t>(0, whole - extent));
  if (is_gated) return {static_cast<double>(whole), static_cast<double>(whole), 0};
  const std::int64_t full_tiles = extent / tile;
  const std::int64_t all = full_tiles * whole + rows_of(extent % tile);
  return {static_cast<double>(rows_of(std::min<std::int64_t>(extent, tile))),
          static_cast<double>(all) / static_cast<double>(ctas), unused};
}

// Whether many tiles of an operand along m or n begin in the middle of a line.
bool begins_inside_lines(Major major, std::int64_t extent, int tile_rows) {
  constexpr int line_elements = 64;
  return major == Major::mn && tile_rows % line_elements != 0 && extent > tile_rows;
}

double mma_us(const ArchCosts& costs, const KernelConfig& config, const Block& block, int tile_n) {
  if (uses_tensor_memory(config))
    return config.tile.k / 16.0 * mma_clocks(config, tile_n) / costs.mma_clocks_per_us;
  return block.flop / costs.sm_flop_per_us;
}

// Power is shared: with all SMs at work, products and deliveries cost time in proportion to their
// energy, however fast each could be alone.
double power_us(const ArchCosts& costs, const Block& block) {
  if (costs.powered_flop_per_us == 0) return 0;
  return block.flop / costs.powered_flop_per_us + block.bytes / costs.powered_bytes_per_us;
}

}  // namespace

Block block_of(const Problem& problem, const ArchCosts& costs, const KernelConfig& config,
               int tile_n, const TileCounts& tiles) {
  const double depth = 2.0 * config.tile.k;  // bytes of a row
  const double flop = 2.0 * config.tile.m * tile_n * config.tile.k;
  // More for rows that are pieces of lines, or that begin inside of lines, all or many tiles'.
  const auto work = [&](const Matrix& matrix, Major major, std::int64_t extent, int tile_rows,
                        double sectors, double lines) {
    if (straddles(matrix)) return has_whole_sectors(matrix) ? sectors : lines;
    return begins_inside_lines(major, extent, tile_rows) ? (1 + sectors) / 2 : 1;
  };
  // Each CTA of a pair has its own part of B's columns, and the launch chooses the majors.
  const bool is_sm100 = uses_tensor_memory(config);
  const Major b_lines = is_sm100 ? b_major(problem) : config.b;
  const int b_rows = is_sm100 ? tile_n / sm100::group_ctas(config) : tile_n;
  const auto bytes_of = [&](double a, double b, double sectors, double lines) {
    return depth * (a * work(problem.a, config.a, problem.m, config.tile.m, sectors, lines) +
                    b * work(problem.b, b_lines, problem.n, b_rows, sectors, lines));
  };
  // What other CTAs of its cluster ask for arrives as whole rows, however the rows lie in memory.
  const auto sm_bytes = [&](double a, double b, double own_a, double own_b) {
    return bytes_of(own_a, own_b, costs.sm_straddling_sectors, costs.sm_straddling_lines) +
           depth * (a - own_a + b - own_b);
  };
  const auto l2_bytes = [&](double a, double b) {
    return bytes_of(a, b, costs.l2_straddling_sectors, costs.l2_straddling_lines);
  };
  if (is_sm100) {
    const double a = static_cast<double>(config.tile.m) / sm100::group_ctas(config);
    const double b = sm100::held_b_columns(config, tile_n, b_major(problem));
    // Two single CTAs on neighbouring SMs ask for the same rows of B, one above the other, which
    // leave L2 once.
    const int neighbours = config.family == Family::single && tiles.m > 1 ? 2 : 1;
    const int b_shared_by = neighbours * sm100::groups(config);
    return {.flop = flop,
            .bytes = depth * (a + b),
            .sm_bytes = sm_bytes(a, b, a, b / sm100::groups(config)),
            .l2_bytes = l2_bytes(a, b / b_shared_by),
            .l2_delivers = depth * (a + b / b_shared_by)};
  }
  const bool has_gate = problem.epilogue.gate != Gate::none;
  const LoadedRows a = loaded_rows(config.a, problem.m, config.tile.m, tiles.m * config.cluster.m,
                                   has_gate && sm90::gates_rows(config));
  const LoadedRows b = loaded_rows(config.b, problem.n, tile_n, tiles.n * config.cluster.n,
                                   has_gate && sm90::gates_columns(config));
  return {
      .flop = flop,
      .bytes = depth * (a.mean + b.mean),
      .sm_bytes = sm_bytes(a.most, b.most, a.most / config.cluster.n, b.most / config.cluster.m) +
                  depth * (a.unused + b.unused) * costs.unused_parts_of_lines,
      .l2_bytes = l2_bytes(a.mean / config.cluster.n, b.mean / config.cluster.m),
      .l2_delivers = depth * (a.mean / config.cluster.n + b.mean / config.cluster.m),
      .line_requests = std::max(requests_for_a_line(problem.a, config.a, tiles.n),
                                requests_for_a_line(problem.b, config.b, tiles.m))};
}

double block_us(const ArchCosts& costs, const KernelConfig& config, const Block& block, int tile_n,
                double slowdown, int sm_count, std::int64_t active_ctas, SplitReduction reduction) {
  const auto active = static_cast<double>(active_ctas);
  const double sharing = std::max(1.0, active / sm_count);
  const double delivery = std::max(sharing * block.sm_bytes / costs.sm_bytes_per_us,
                                   active * block.l2_bytes / costs.chip_bytes_per_us);
  const double mma = sharing * mma_us(costs, config, block, tile_n);
  // No slowdown below 1 makes a block faster than the tensor cores.
  const double us = std::max(
      mma,
      slowdown * std::max({mma, delivery, active * power_us(costs, block), costs.block_floor_us,
                           block.line_requests * costs.line_request_us}));
  // In clusters of splits neighbours are of one tile and share no lines.
  return reduction == SplitReduction::workspace
             ? us
             : std::max(us, active * block.l2_bytes / costs.unshared_bytes_per_us);
}

double moving_block_us(const Problem& problem, const KernelConfig& config) {
  constexpr double lines_at_once = 128;
  const double columns = config.tile.n / lines_at_once;
  const double products = 0.07 + 0.37 * columns;
  const bool by_class = takes_k_by_class(problem, config);
  double moves = 0;
  const auto add = [&](const Matrix& matrix, Major major, double lines) {
    const bool is_in_place = is_wide(matrix);
    if (major == Major::k)
      moves += by_class ? 0.39 * lines : is_in_place ? 0 : 0.23 * lines;
    else
      moves += is_in_place ? 0 : 0.30 * lines;
  };
  add(problem.a, config.a, config.tile.m / lines_at_once);
  add(problem.b, config.b, columns);
  if (moves == 0) return products;
  const bool loads_all_by_class = config.a == Major::mn && config.b == Major::mn;
  if (loads_all_by_class) moves += 0.09 + 0.15 * columns;
  return std::max(products + 0.16, 0.64 + moves);
}

double loading_block_us(const Problem& problem, const KernelConfig& config, int tile_n) {
  constexpr double step_us = 0.35;
  constexpr int step_rows = sm100::cta_rows;
  const bool loads_a = is_loaded_by_threads(config, problem.a, problem.batch);
  const bool loads_b = is_loaded_by_threads(config, problem.b, problem.batch);
  return step_us *
         ((loads_a ? 1 : 0) + (loads_b ? static_cast<double>(ceil_div(tile_n, step_rows)) : 0));
}

}  // namespace bwgemm
