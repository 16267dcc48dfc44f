// SPDX-License-Identifier: Apache-2.0
#include "rules/fill.h"

#include "families/sm100/facts.h"
#include "families/sm100/functions.h"

namespace bwgemm::sm100 {
namespace {

OutputMap output_map(const Problem& problem, const KernelConfig& config, const KernelShape& shape) {
  const bool has_gate = problem.epilogue.gate != Gate::none;
  if (config.swaps_ab)
    return {{d_rows(problem), problem.n, problem.batch}, {shape.d_box_columns, shape.d_box_rows}};
  const int columns = has_gate ? staging_columns(shape.tile_n / 2, size_bytes(problem.d.type))
                               : shape.d_box_columns;
  return {{d_columns(problem), problem.m, problem.batch}, {columns, shape.d_box_rows}};
}

// One CTA alone loads the x and the y of a stacked gate apart.
int b_box_rows(const Problem& problem, const KernelConfig& config, const KernelShape& shape) {
  const bool is_apart = config.family == Family::single && problem.epilogue.gate == Gate::stacked;
  return is_apart ? shape.b_box_rows / 2 : shape.b_box_rows;
}

void fill_operand_maps(const Filling& filling) {
  const auto& [problem, config, shape, tiles, is_transposed, from, l2_bytes, params, linker] =
      filling;
  constexpr std::uint32_t no_rest = 0;
  const auto box = [&](Major major, int k_major_rows) -> MapBox {
    return {filling.shape.operand_box_columns,
            major == Major::k ? k_major_rows : filling.config.tile.k};
  };
  if (!is_loaded_by_threads(config, problem.a, problem.batch))
    link_maps(
        operand_key(filling, problem.a, a_major(problem), problem.m,
                    box(a_major(problem), shape.a_box_rows), promotion_for(problem.a, tiles.n)),
        no_rest, from.a, params.a_map, params.a_rest_map, linker);
  if (!is_loaded_by_threads(config, problem.b, problem.batch))
    link_maps(operand_key(filling, problem.b, b_major(problem), problem.n,
                          box(b_major(problem), b_box_rows(problem, config, shape)),
                          promotion_for(problem.b, tiles.m)),
              no_rest, from.b, params.b_map, params.b_rest_map, linker);
}

}  // namespace

void fill(const Filling& filling) {
  const Problem& problem = filling.problem;
  const KernelConfig& config = filling.config;
  const bool has_rest = leaves_rest(problem, config, filling.shape.tile_n);
  if (config.store == Store::elements || has_rest) fill_strided(filling);
  fill_fused(filling, has_rest);
  fill_operand_maps(filling);
  if (config.store == Store::tma)
    link_output_maps(filling, output_map(problem, config, filling.shape));
}

}  // namespace bwgemm::sm100
