// SPDX-License-Identifier: Apache-2.0
// Facts of the Blackwell kernels for the host: see rules/shape.h. Beside them, which operands
// threads load, and which widths of tile a problem allows.
#pragma once

#include "core/tiling.h"
#include "families/sm100/valid.h"
#include "rules/rejects.h"
#include "rules/shape.h"

namespace bwgemm::sm100 {

constexpr void fill_shape(const KernelConfig& config, Dtype d_type, Major b, KernelShape& shape) {
  shape.threads = role_threads + (has_loaders(config) ? loader_threads : 0);
  shape.stages = stages_that_fit(config, shape.tile_n, b);
  shape.smem_bytes = layout(config, shape.tile_n, b, shape.stages).bytes;
  shape.map_rank = config.choices.map_rank;
  shape.operand_box_columns = operand_block(config).elements;
  shape.a_box_rows = cta_tiles(config).row_blocks * cta_rows;
  shape.b_box_rows = shape.tile_n / config.cluster.size();
  if (config.store == Store::elements) return;
  shape.d_box_rows = staging_lines(config, shape.tile_n);
  shape.d_box_columns = config.swaps_ab ? swizzle_row_bytes / size_bytes(d_type)
                                        : staging_columns(shape.tile_n, size_bytes(d_type));
}

// Variants that differ from the usual choices.
constexpr bool shows_technique(const KernelConfig& config) {
  Sm100Choices choices = config.choices;
  // Tensor memory holds but one accumulator of this height.
  if (config.tile.m > 2 * cta_rows) choices.accumulators = Sm100Choices{}.accumulators;
  return choices != Sm100Choices{};
}

static_assert(tile_n_step == bwgemm::tile_n_step);

constexpr ImageHeaders image_headers(const KernelConfig& config) {
  return {"gemm.cuh", has_loaders(config) ? "loaders.h" : "",
          config.store == Store::elements ? "scatter.h"
          : config.swaps_ab               ? "columns.h"
                                          : "",
          config.choices.schedule == Schedule::launch_control ? "scheduler.h" : ""};
}

inline constexpr FamilyFacts facts{.folder = "sm100",
                                   .invalid_because = invalid_because,
                                   .fill_shape = fill_shape,
                                   .image_headers = image_headers,
                                   .tile_n_invalid_because =
                                       [](const KernelConfig& config, int tile_n, Major b) {
                                         return sm100::tile_n_invalid_because(config, tile_n, b);
                                       },
                                   .shows_technique = shows_technique,
                                   .has_rasters = true};

// Whether threads load the operand, because TMA cannot address it (sm100/operands.h is the device's
// view).
inline bool is_loaded_by_threads(const KernelConfig& config, const Matrix& matrix,
                                 std::int64_t batch) {
  constexpr std::int64_t unit_elements = 8;
  if (!has_loaders(config)) return false;
  return !starts_at_units(matrix) || (batch > 1 && matrix.batch_stride % unit_elements != 0);
}

// Whether a tile of so many columns is no whole boxes of output. Threads then store some columns of
// D and load those of C, in a fused epilogue all of C. The problem is as the kernel sees it.
inline bool leaves_rest(const Problem& problem, const KernelConfig& config, int tile_n) {
  const bool has_gate = problem.epilogue.gate != Gate::none;
  return leaves_rest(config, has_gate ? tile_n / 2 : tile_n);
}

inline SplitLimits split_limits(const Problem&, const KernelConfig&) {
  return {.has_tails = true};
}

extern const FamilyFunctions functions;

}  // namespace bwgemm::sm100
