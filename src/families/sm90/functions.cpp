// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions of the Hopper kernels: what they refuse, and how their parameters are filled.
#include "families/sm90/functions.h"

#include "device/residues.h"
#include "families/sm90/facts.h"
#include "families/sm90/residue_operands.h"
#include "program/tensor_map.h"
#include "rules/fill.h"
#include "rules/rejects.h"

namespace bwgemm::sm90 {
namespace {

const char* operands_reject(const Problem& problem, const KernelConfig& config,
                            const Texts& texts) {
  if (has_loose_rows(config)) {
    if (problem.a.ld > longest_loose_row)
      return "rows that threads copy lie more than 2^25 elements apart";
    if (problem.k > longest_k / 2) return "k is too large for 32-bit positions";
  } else if (const char* reason =
                 tma_rejects(problem.a, lines_of_a(problem), problem.batch, texts.a)) {
    return reason;
  }
  return tma_rejects(problem.b, lines_of_b(problem), problem.batch, texts.b);
}

const char* gate_rejects(const Problem& problem, const KernelConfig& config, const Parts& parts) {
  constexpr std::int64_t group = 16;  // columns: x, then their y
  if (problem.epilogue.gate == Gate::none) return nullptr;
  // Texts name operands and columns as the problem is given: D in rows.
  const bool in_columns = config.swaps_ab;
  const Matrix& operand = in_columns ? problem.a : problem.b;
  if (config.store == Store::elements || (in_columns ? config.a : config.b) != Major::k)
    return "a gate needs columns of B contiguous along k, and D stored by TMA";
  if (contiguous_extent(problem) % group != 0)
    return "with a gate the product must have whole groups of 16 columns";
  if (problem.epilogue.aux.data != nullptr) return "stores no aux of a gate";
  if (parts.gates == Gates::none) return "half of its tile is not made of whole boxes";
  const std::int64_t limit = tma_stride_limit_bytes / size_bytes(operand.type);
  return operand.ld > limit / contiguous_extent(problem) ? "B is too large for the map of a gate"
                                                         : nullptr;
}

const char* rejects(const Problem& problem, const KernelConfig& config, const Texts& texts) {
  if (const char* reason = order_rejects(problem, config)) return reason;
  const Parts parts = derived(config).parts;
  if (!parts.takes_matrices && (problem.reads_c() || problem.epilogue.aux.data != nullptr))
    return "stores parts of D twice, and so takes neither C nor aux";
  if (problem.is_pointer_array) return "takes no arrays of pointers";
  if (const char* reason = gate_rejects(problem, config, parts)) return reason;
  if (const char* reason = fused_matrices_reject(problem, config)) return reason;
  const ClusterTile tile = cluster_tile(config, config.tile.n);
  if (const char* reason = size_rejects(problem, config, tile.m, tile.n, texts)) return reason;
  if (const char* reason = tile_rejects(problem, tile.m, tile.n)) return reason;
  if (has_residues(config)) return residues_reject(problem, texts);
  if (const char* reason = operands_reject(problem, config, texts)) return reason;
  return stores_of(problem, config, parts) == Stores::by_map ? output_map_rejects(problem, config)
                                                             : nullptr;
}

// A K-major operand, that along D's contiguous dimension, whose columns (or rows) arrive as
// FusedParams::columns says; `box_rows` at a time.
TensorMapKey gated_key(const Problem& problem, const Matrix& operand, const KernelShape& shape,
                       int box_rows, Promotion promotion) {
  const std::int64_t extent = contiguous_extent(problem);
  TensorMapKey key =
      tensor_map_key(operand, {problem.k, extent, problem.batch},
                     {shape.operand_box_columns, box_rows}, matrix_map_rank, promotion);
  const GateColumns columns = gate_columns(problem);
  const std::uint64_t column_bytes = key.strides[0];
  const auto bytes = [&](std::int64_t step) {
    return static_cast<std::uint64_t>(step) * column_bytes;
  };
  key.rank = 5;
  key.dims[4] = key.dims[2];
  key.strides[3] = key.strides[1];
  key.dims[1] = gate_group;  // k, columns (or rows) of a gate_group, x and y, gate_groups, batches
  key.dims[2] = 2;
  key.dims[3] = static_cast<std::uint64_t>(extent / gate_group / 2);
  key.strides[0] = bytes(columns.step);
  key.strides[1] = bytes(columns.half);
  key.strides[2] = bytes(columns.block);
  key.box[1] = gate_group;
  key.box[2] = 2;
  key.box[3] = static_cast<std::uint32_t>(box_rows) / (2 * gate_group);
  key.box[4] = 1;
  return key;
}

// The rows of an operand that are left where its boxes end, if kernels load them by a map of their
// own: MN-major operands are cut along k, and boxes of gates are of groups.
std::uint32_t rest_rows(const TensorMapKey& key, Major major, std::int64_t rows) {
  if (major != Major::k || key.rank != matrix_map_rank) return 0;
  return static_cast<std::uint32_t>(rows % std::int64_t{key.box[along_rows]});
}

OutputMap output_map(const Problem& problem, const KernelConfig& config, const KernelShape& shape) {
  if (!config.swaps_ab)
    return {{d_columns(problem), problem.m, problem.batch},
            {shape.d_box_columns, shape.d_box_rows}};
  const bool has_gate = problem.epilogue.gate != Gate::none;
  return {{d_rows(problem), problem.n, problem.batch},
          {has_gate ? gated_box_rows : shape.d_box_columns, shape.d_box_rows}};
}

void fill_operand_maps(const Filling& filling) {
  const auto& [problem, config, shape, tiles, is_transposed, from, l2_bytes, params, linker] =
      filling;
  const bool has_gate = problem.epilogue.gate != Gate::none;
  const auto key = [&](const Matrix& matrix, Major major, std::int64_t lines, const OperandBox& box,
                       std::int64_t readers, bool is_along_d) {
    const Promotion promotion = promotion_for(matrix, readers);
    if (has_gate && is_along_d)
      return gated_key(filling.problem, matrix, filling.shape, box.mn, promotion);
    const MapBox map_box = major == Major::k ? MapBox{box.k, box.mn} : MapBox{box.mn, box.k};
    return operand_key(filling, matrix, major, lines, map_box, promotion);
  };
  if (has_loose_rows(config)) {
    params.a = strided(problem.a, true, problem.batch);
    linker.address(params.a.data, from.a);
  } else {
    const TensorMapKey a =
        key(problem.a, config.a, problem.m, operand_boxes(config).a, tiles.n, config.swaps_ab);
    link_maps(a, rest_rows(a, config.a, problem.m), from.a, params.a_map, params.a_rest_map,
              linker);
  }
  const TensorMapKey b =
      key(problem.b, config.b, problem.n, operand_boxes(config).b, tiles.m, !config.swaps_ab);
  link_maps(b, rest_rows(b, config.b, problem.n), from.b, params.b_map, params.b_rest_map, linker);
}

void fill_output(const Filling& filling) {
  const Problem& problem = filling.problem;
  KernelParams& params = filling.params;
  params.stores = stores_of(problem, filling.config);
  if (params.stores == Stores::by_map)
    return link_output_maps(filling, output_map(problem, filling.config, filling.shape));
  params.d = strided(problem.d, true, problem.batch);  // outer: from line to line
  filling.linker.address(params.d.data, Argument::d);
}

void fill(const Filling& filling) {
  const bool is_shifted = has_residues(filling.config);
  if (is_shifted) fill_strided(filling);
  fill_fused(filling);
  if (is_shifted)
    return fill_residues(filling.problem, filling.config, filling.from, filling.params,
                         filling.linker);
  fill_operand_maps(filling);
  fill_output(filling);
}

const char* batch_invariance_rejects(const Problem& problem, const KernelConfig& config) {
  return takes_k_by_class(problem, config)
             ? "takes k of unaligned operands in an order that is not batch-invariant"
             : nullptr;
}

}  // namespace

constinit const FamilyFunctions functions{.tiles = tiles_of_clusters,
                                          .rejects = rejects,
                                          .split_limits = split_limits,
                                          .predicted_us = predicted_us,
                                          .fill = fill,
                                          .batch_invariance_rejects = batch_invariance_rejects,
                                          .without_splits = without_splits};

}  // namespace bwgemm::sm90
