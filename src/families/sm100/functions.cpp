// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions of the Blackwell kernels: what they refuse, how their parameters are filled, and
// what they ask of the width of a tile.
#include "families/sm100/functions.h"

#include "families/sm100/facts.h"
#include "rules/fill.h"
#include "rules/rejects.h"

namespace bwgemm::sm100 {
namespace {

const char* operands_reject(const Problem& problem, const KernelConfig& config,
                            const Texts& texts) {
  const auto reason_of = [&](const Matrix& matrix, std::int64_t outer, const MatrixTexts& of) {
    return is_loaded_by_threads(config, matrix, problem.batch)
               ? nullptr
               : tma_rejects(matrix, outer, problem.batch, of);
  };
  if (const char* reason = reason_of(problem.a, lines_of_a(problem), texts.a)) return reason;
  return reason_of(problem.b, lines_of_b(problem), texts.b);
}

// The halves of a stacked gate are loaded apart.
const char* gate_rejects(const Problem& problem, const KernelConfig& config) {
  if (problem.epilogue.gate == Gate::none) return nullptr;
  if (!can_gate(config)) return "has no gate: D's columns are rows of its tile";
  const bool begins_inside =
      problem.epilogue.gate == Gate::stacked && b_major(problem) == Major::mn &&
      problem.n / 2 * size_bytes(problem.b.type) % tma_alignment_bytes != 0 &&
      !is_loaded_by_threads(config, problem.b, problem.batch);
  return begins_inside ? "the second half of a row of B does not start at 16 bytes" : nullptr;
}

// The narrowest run-time tile makes the most tiles.
const char* tiles_reject(const Problem& problem, const KernelConfig& config, const Texts& texts) {
  const int widest = cta_tiles(config).most_columns * config.cluster.n;
  const int narrowest = cta_tiles(config).columns_at_once * config.cluster.n;
  const int tile_m = cluster_tile(config, narrowest).m;
  if (const char* reason = size_rejects(problem, config, tile_m, widest, texts)) return reason;
  if (const char* reason = tile_rejects(problem, tile_m, narrowest)) return reason;
  const bool is_too_much_for_grid =
      config.choices.schedule != Schedule::persistent &&
      tile_counts(problem, tile_m, narrowest).total() > index_limit / config.cluster.size();
  return is_too_much_for_grid ? "more CTAs than a grid has" : nullptr;
}

const char* rejects(const Problem& problem, const KernelConfig& config, const Texts& texts) {
  if (const char* reason = order_rejects(problem, config)) return reason;
  if (problem.is_pointer_array) return "takes no arrays of pointers";
  if (const char* reason = gate_rejects(problem, config)) return reason;
  if (const char* reason = fused_matrices_reject(problem, config)) return reason;
  if (config.choices.map_rank == 2 && problem.batch > 1)
    return "its tensor maps have two dimensions: no batches";
  if (const char* reason = tiles_reject(problem, config, texts)) return reason;
  if (const char* reason = operands_reject(problem, config, texts)) return reason;
  return config.store == Store::tma ? output_map_rejects(problem, config) : nullptr;
}

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

const char* tile_n_rejects(const KernelConfig& config, const Problem& problem, int tile_n) {
  const bool has_gate = problem.epilogue.gate != Gate::none;
  if (const char* reason = tile_n_invalid_because(config, tile_n, b_major(problem), has_gate))
    return reason;
  // Nothing orders these loads before the stores of whole boxes by TMA.
  const bool is_in_place = problem.reads_c() && problem.c.data == problem.d.data;
  if (is_in_place && problem.epilogue.any() && leaves_rest(config, tile_n))
    return "tile_n must be a multiple of 32 where a fused epilogue adds a C that is D: threads "
           "load such a C otherwise";
  return nullptr;
}

// Whether a tile of no whole boxes makes one or two waves, and the next narrower tile one more.
// Else that one is predicted to take less time; of more waves the last, which is not full, takes
// less than the others, so that one wave less gains nothing (bench/log/2026-11-26.md).
bool may_tile_n_be_best(const Problem& problem, const KernelConfig& config, std::int64_t resident,
                        int tile_n) {
  if (!leaves_rest(config, tile_n)) return true;
  const auto waves = [&](int columns) {
    const ClusterTile tile = cluster_tile(config, columns);
    return ceil_div(tile_counts(problem, tile.m, tile.n).total(), resident);
  };
  constexpr int most_waves = 2;
  return waves(tile_n) <= most_waves && waves(tile_n - tile_n_step) > waves(tile_n);
}

}  // namespace

constinit const FamilyFunctions functions{.tiles = tiles_of_clusters,
                                          .rejects = rejects,
                                          .split_limits = split_limits,
                                          .predicted_us = predicted_us,
                                          .fill = fill,
                                          .tile_n_rejects = tile_n_rejects,
                                          .may_tile_n_be_best = may_tile_n_be_best,
                                          .without_splits = without_splits};

}  // namespace bwgemm::sm100
