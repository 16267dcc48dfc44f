// SPDX-License-Identifier: Apache-2.0
#include "program/fused.h"

#include <algorithm>

#include "core/tiling.h"
#include "kernels/output_path.h"

namespace bwgemm {
namespace {

constexpr std::int32_t group = 8;  // columns of x, and of y, that lie together

std::int64_t columns_to_y(const Problem& problem) {
  return problem.epilogue.gate == Gate::stacked ? contiguous_extent(problem) / 2 : 1;
}

// For kernels that refuse what 32 bits do not hold.
GateColumns gate_columns(const Problem& problem) {
  const auto half = static_cast<std::int32_t>(columns_to_y(problem));
  switch (problem.epilogue.gate) {
    case Gate::none: break;
    case Gate::interleaved: return {.block = 2 * group, .half = half, .step = 2};
    case Gate::stacked: return {.block = group, .half = half, .step = 1};
  }
  return {.block = 2 * group, .half = group, .step = 1};
}

// x * sigmoid(x * P): P of silu is 1, that of gelu 2 * sqrt(2 / pi) * (1 + 0.044715 * x^2). Kernels
// want it times -log2(e).
void fill_curve(Activation activation, FusedParams& fused) {
  constexpr double minus_log2e = -1.4426950408889634, gelu = 2 * 0.7978845608028654;
  const auto sigmoid = [&](double slope, double cubic) {
    fused.operations |= operation::sigmoid;
    fused.slope = static_cast<float>(minus_log2e * slope);
    fused.cubic = static_cast<float>(minus_log2e * cubic);
  };
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: fused.operations |= operation::relu; break;
    case Activation::gelu_tanh: sigmoid(gelu, gelu * 0.044715); break;
    case Activation::gelu_erf: fused.operations |= operation::erf; break;
    case Activation::silu: sigmoid(1, 0); break;
  }
}

std::uint32_t f32_bit(Dtype type, std::uint32_t operation) {
  return type == Dtype::f32 ? operation : 0;
}

FusedVector filled(const Vector& vector, std::uint32_t operation, std::uint32_t if_f32,
                   FusedParams& fused) {
  if (vector.data == nullptr) return {};
  fused.operations |= operation | f32_bit(vector.type, if_f32);
  return {vector.data, vector.batch_stride};
}

bool steps_through_batch(const Matrix& matrix, std::int64_t batch) {
  return batch > 1 && matrix.batch_stride != 0;
}

void link_fused(const FusedParams& fused, const Provenance& from, Linker& linker) {
  linker.address(fused.row_scale.data, from.row_scale);
  linker.address(fused.column_scale.data, from.column_scale);
  linker.address(fused.row_bias.data, Argument::bias);
  linker.address(fused.column_bias.data, Argument::bias);
  linker.address(fused.aux.data, Argument::aux);
}

}  // namespace

StridedMatrix strided(const Matrix& matrix, bool inner_is_contiguous, std::int64_t batch) {
  return {matrix.data, inner_is_contiguous ? matrix.ld : 1, inner_is_contiguous ? 1 : matrix.ld,
          steps_through_batch(matrix, batch) ? matrix.batch_stride : 0};
}

bool leaves_rest(const Problem& problem, const KernelConfig& config, int tile_n) {
  if (!uses_tensor_memory(config)) return false;
  const bool has_gate = problem.epilogue.gate != Gate::none;
  return sm100::leaves_rest(config, has_gate ? tile_n / 2 : tile_n);
}

void fill_fused(const Problem& problem, const KernelConfig& config, bool is_transposed,
                const Provenance& from, KernelParams& params, Linker& linker) {
  const Epilogue& epilogue = problem.epilogue;
  if (!is_fused(problem, config)) return;
  FusedParams& fused = params.fused;
  fused.operations = operation::any;
  fused.scales_exchanged = is_transposed;
  fused.columns = gate_columns(problem);
  fill_curve(epilogue.activation, fused);
  fused.row_scale = filled(epilogue.row_scale, operation::row_scale, 0, fused);
  fused.column_scale = filled(epilogue.column_scale, operation::column_scale, 0, fused);
  fused.row_bias = filled(epilogue.row_bias, operation::row_bias, operation::row_bias_f32, fused);
  fused.column_bias =
      filled(epilogue.column_bias, operation::column_bias, operation::column_bias_f32, fused);
  const bool has_rest = leaves_rest(problem, config, params.tile_n);
  if (problem.reads_c() && (has_rest || !stages_c(problem, config))) {
    fused.operations |= operation::loads_c | f32_bit(problem.c.type, operation::c_f32);
    // In those kernels it is filled like the operands.
    if (config.store != Store::elements && !has_rest) {
      params.c = strided(problem.c, problem.c.order == Order::row, problem.batch);
      linker.address(params.c.data, from.c);
    }
  }
  if (epilogue.aux.data != nullptr) {
    fused.operations |= (epilogue.differentiates ? operation::reads_aux : operation::writes_aux) |
                        f32_bit(epilogue.aux.type, operation::aux_f32);
    fused.aux = strided(epilogue.aux, epilogue.aux.order == Order::row, problem.batch);
  }
  link_fused(fused, from, linker);
  if (epilogue.gate != Gate::none) fused.operations |= operation::gate;
  if (config.family != Family::direct || epilogue.gate == Gate::none) return;
  // It computes D's columns, of x first, then of y.
  params.n = problem.n / 2;
  fused.to_y = columns_to_y(problem);
  fused.b_to_y = fused.to_y * params.b.outer_stride;
  params.b.outer_stride *= fused.columns.step;
}

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
  key.dims[1] = group;  // k, columns (or rows) of a group, x and y, groups, batches
  key.dims[2] = 2;
  key.dims[3] = static_cast<std::uint64_t>(extent / group / 2);
  key.strides[0] = bytes(columns.step);
  key.strides[1] = bytes(columns.half);
  key.strides[2] = bytes(columns.block);
  key.box[1] = group;
  key.box[2] = 2;
  key.box[3] = static_cast<std::uint32_t>(box_rows) / (2 * group);
  key.box[4] = 1;
  return key;
}

}  // namespace bwgemm
