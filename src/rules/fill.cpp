// SPDX-License-Identifier: Apache-2.0
#include "rules/fill.h"

#include "core/tiling.h"
#include "rules/rejects.h"

namespace bwgemm {
namespace {

// Whether D passes through L2: of half of L2 a reader to come may hope to find much. The kernel
// that sums D comes at once.
bool streams_by(const Problem& problem, std::int64_t l2_bytes) {
  if (problem.bias_gradient.of == Summed::d) return false;
  const std::int64_t bytes =
      problem.batch * d_rows(problem) * d_columns(problem) * size_bytes(problem.d.type);
  return bytes > l2_bytes / 2;
}

bool has_c_apart(const Problem& problem) {
  return problem.reads_c() && problem.c != problem.d;
}

}  // namespace

Promotion promotion_for(const Matrix& matrix, std::int64_t readers) {
  return readers == 1 || straddles(matrix) ? Promotion::none : Promotion::l2_256b;
}

TensorMapKey operand_key(const Filling& filling, const Matrix& matrix, Major major,
                         std::int64_t rows, const MapBox& box, Promotion promotion) {
  const Problem& problem = filling.problem;
  const MapExtent extent = major == Major::k ? MapExtent{problem.k, rows, problem.batch}
                                             : MapExtent{rows, problem.k, problem.batch};
  return tensor_map_key(matrix, extent, box, filling.shape.map_rank, promotion);
}

void link_maps(const TensorMapKey& key, std::uint32_t rest, Argument argument, TensorMap& map,
               TensorMap& rest_map, Linker& linker) {
  linker.map(map, key, argument);
  TensorMapKey rest_key = key;
  if (rest != 0) rest_key.box[along_rows] = rest;
  linker.map(rest_map, rest_key, argument);
}

void link_output_maps(const Filling& filling, const OutputMap& output) {
  const auto& [problem, config, shape, tiles, is_transposed, from, l2_bytes, params, linker] =
      filling;
  const int rank = shape.map_rank;
  const auto key = [&](const Matrix& matrix) {
    return tensor_map_key(matrix, output.extent, output.box, rank);
  };
  params.d_streams_by = streams_by(problem, l2_bytes);
  linker.map(params.d_map, key(problem.d), Argument::d);
  const bool has_map = has_c_apart(problem) && stages_c(problem, config);
  linker.map(params.c_map, key(has_map ? problem.c : problem.d), has_map ? from.c : Argument::d);
}

}  // namespace bwgemm
