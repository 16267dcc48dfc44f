// SPDX-License-Identifier: Apache-2.0
#include "rules/cost_terms.h"

#include <algorithm>

#include "core/tiling.h"

namespace bwgemm {
namespace {

// The weight of an operand along m or n whose tiles are no whole lines: about half of them begin in
// the middle of one. Each load of such a tile asks for two lines, but in tiles narrower than a
// line.
double weight_between_lines(std::int64_t extent, int tile_rows, const ArchCosts& costs) {
  constexpr int line_elements = 64;
  if (tile_rows % line_elements == 0 || extent <= tile_rows) return 1;
  return (1 + (tile_rows > line_elements ? costs.straddling_lines : costs.straddling_sectors)) / 2;
}

// Power is shared: with all SMs at work, products and deliveries cost time in proportion to their
// energy, however fast each could be alone.
double power_us(const ArchCosts& costs, const Block& block) {
  if (costs.powered_flop_per_us == 0) return 0;
  return block.flop / costs.powered_flop_per_us + block.bytes / costs.powered_bytes_per_us;
}

double row_weight(const Matrix& matrix, Major major, std::int64_t extent, int tile_rows,
                  const ArchCosts& costs) {
  if (straddles(matrix))
    return has_whole_sectors(matrix) ? costs.straddling_sectors : costs.straddling_lines;
  return major == Major::k ? 1 : weight_between_lines(extent, tile_rows, costs);
}

}  // namespace

RowBytes::RowBytes(const Problem& problem, const ArchCosts& costs, const KernelConfig& config,
                   Major a, Major b, int b_tile_rows)
    : depth_(operand_bits(config.mma) / 8.0 * config.tile.k),
      l2_{row_weight(problem.a, a, problem.m, config.tile.m, costs),
          row_weight(problem.b, b, problem.n, b_tile_rows, costs)} {}

double block_us(const ArchCosts& costs, const Block& block, double mma_us, double slowdown,
                int sm_count, std::int64_t active_ctas) {
  const auto active = static_cast<double>(active_ctas);
  const double sharing = std::max(1.0, active / sm_count);
  const double delivery = std::max(sharing * block.sm_bytes / costs.sm_bytes_per_us,
                                   active * block.l2_bytes / costs.chip_bytes_per_us);
  const double mma = sharing * mma_us;
  // No slowdown below 1 makes a block faster than the tensor cores.
  return std::max(mma, slowdown * std::max({mma, delivery, active * power_us(costs, block),
                                            costs.block_floor_us}));
}

}  // namespace bwgemm
