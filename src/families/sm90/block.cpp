// SPDX-License-Identifier: Apache-2.0
#include "families/sm90/block.h"

#include <algorithm>

#include "core/tiling.h"
#include "families/sm90/functions.h"
#include "families/sm90/residue_maps.h"
#include "families/sm90/variants.h"
#include "rules/arch_costs.h"
#include "rules/block_cost.h"
#include "rules/cost_terms.h"

namespace bwgemm::sm90 {
namespace {

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
// Lines along m or n that end early cost time all the same: a chunk of 64 of which 16 elements are
// inside takes longer than one that is full.
struct LoadedRows {
  double most, mean;
  double unused;  // those outside that lie along m or n, of the fullest tile
};
LoadedRows loaded_rows(Major major, std::int64_t extent, int tile, std::int64_t ctas,
                       bool is_gated) {
  constexpr std::int64_t wide_chunk = 64;
  const std::int64_t chunk = major == Major::mn ? chunk_of(major, tile) : 1;
  const auto rows_of = [&](std::int64_t rows) { return ceil_div(rows, chunk) * chunk; };
  const std::int64_t whole = rows_of(tile);
  const double unused =
      major == Major::k ? 0 : static_cast<double>(std::max<std::int64_t>(0, whole - extent));
  if (is_gated) return {static_cast<double>(whole), static_cast<double>(whole), 0};
  const std::int64_t full_tiles = extent / tile;
  const std::int64_t all = full_tiles * whole + rows_of(extent % tile);
  const std::int64_t most = rows_of(std::min<std::int64_t>(extent, tile));
  // A narrow chunk has as many rows of k as a wide one, and each takes TMA as long.
  return {static_cast<double>(major == Major::mn ? most / chunk * wide_chunk : most),
          static_cast<double>(all) / static_cast<double>(ctas), unused};
}

Block block_of(const Problem& problem, const ArchCosts& costs, const KernelConfig& config,
               const TileCounts& tiles) {
  const bool has_gate = problem.epilogue.gate != Gate::none;
  const LoadedRows a = loaded_rows(config.a, problem.m, config.tile.m, tiles.m * config.cluster.m,
                                   has_gate && gates_rows(config));
  const LoadedRows b = loaded_rows(config.b, problem.n, config.tile.n, tiles.n * config.cluster.n,
                                   has_gate && gates_columns(config));
  const RowBytes bytes(problem, costs, config, config.a, config.b, config.tile.n);
  constexpr double depth = swizzle_row_bytes;
  const OperandRows shared{a.mean / config.cluster.n, b.mean / config.cluster.m};
  return {.flop = 2.0 * config.tile.m * config.tile.n * config.tile.k,
          .bytes = bytes.plain({a.mean, b.mean}),
          .sm_bytes = bytes.of_sm({a.most, b.most},
                                  {a.most / config.cluster.n, b.most / config.cluster.m}) +
                      depth * (a.unused + b.unused) * costs.unused_parts_of_lines,
          .l2_bytes = bytes.of_l2(shared),
          .l2_delivers = bytes.plain(shared),
          .line_requests = std::max(requests_for_a_line(problem.a, config.a, tiles.n),
                                    requests_for_a_line(problem.b, config.b, tiles.m))};
}

}  // namespace

WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int) {
  const ClusterTile tile = cluster_tile(config, config.tile.n);
  return {slowdown_of(config),
          block_of(problem, costs_of(config.arch), config, tile_counts(problem, tile.m, tile.n))};
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

}  // namespace bwgemm::sm90
