// SPDX-License-Identifier: Apache-2.0
// What threads load and store, not TMA: matrices by elements, and a fused epilogue.
#include "core/tiling.h"
#include "rules/fill.h"
#include "rules/rejects.h"

namespace bwgemm {
namespace {

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

// Arrays of pointers to A and B that need not exist.
bool reads_no_arrays(const Problem& problem) {
  return problem.is_pointer_array && problem.scale_only();
}

}  // namespace

StridedMatrix strided(const Matrix& matrix, bool inner_is_contiguous, std::int64_t batch) {
  return {matrix.data, inner_is_contiguous ? matrix.ld : 1, inner_is_contiguous ? 1 : matrix.ld,
          steps_through_batch(matrix, batch) ? matrix.batch_stride : 0};
}

void fill_strided(const Filling& filling) {
  const Problem& problem = filling.problem;
  KernelParams& params = filling.params;
  Linker& linker = filling.linker;
  params.a = strided(problem.a, a_major(problem) == Major::k, problem.batch);
  params.b = strided(problem.b, b_major(problem) == Major::k, problem.batch);
  params.d = strided(problem.d, problem.d.order == Order::row, problem.batch);
  if (problem.reads_c())
    params.c = strided(problem.c, problem.c.order == Order::row, problem.batch);
  Provenance at = filling.from;
  // Pointers are read even where nothing is that they point to; the caller's may then be none.
  if (reads_no_arrays(problem)) {
    params.a.data = params.b.data = params.d.data;
    at.a = at.b = Argument::d;
  }
  linker.address(params.a.data, at.a);
  linker.address(params.b.data, at.b);
  linker.address(params.c.data, at.c);
  linker.address(params.d.data, Argument::d);
  if (!problem.is_pointer_array) return;
  for (StridedMatrix* matrix : {&params.a, &params.b, &params.c, &params.d})
    matrix->batch_stride = 0;  // the kernel takes each batch from its pointer
}

std::int64_t columns_to_y(const Problem& problem) {
  return problem.epilogue.gate == Gate::stacked ? contiguous_extent(problem) / 2 : 1;
}

// For kernels that refuse what 32 bits do not hold.
GateColumns gate_columns(const Problem& problem) {
  const auto half = static_cast<std::int32_t>(columns_to_y(problem));
  switch (problem.epilogue.gate) {
    case Gate::none: break;
    case Gate::interleaved: return {.block = 2 * gate_group, .half = half, .step = 2};
    case Gate::stacked: return {.block = gate_group, .half = half, .step = 1};
  }
  return {.block = 2 * gate_group, .half = gate_group, .step = 1};
}

// x * sigmoid(x * P): P of silu is 1, that of gelu 2 * sqrt(2 / pi) * (1 + 0.044715 * x^2). Kernels
// want it times -log2(e).
void fill_curve(const Epilogue& epilogue, FusedParams& fused) {
  constexpr double minus_log2e = -1.4426950408889634, gelu = 2 * 0.7978845608028654;
  const auto swish = [&](double slope, double cubic) {
    fused.operations |= operation::swish;
    fused.constants[0] = static_cast<float>(minus_log2e * slope);
    fused.constants[1] = static_cast<float>(minus_log2e * cubic);
  };
  switch (epilogue.activation) {
    case Activation::none: break;
    case Activation::relu: fused.operations |= operation::relu; break;
    case Activation::gelu_tanh: swish(gelu, gelu * 0.044715); break;
    case Activation::gelu_erf: fused.operations |= operation::erf; break;
    case Activation::silu: swish(1, 0); break;
    case Activation::sigmoid: fused.operations |= operation::sigmoid; break;
    case Activation::clamp:
      fused.operations |= operation::clamp;
      fused.constants[0] = epilogue.clamp.low;
      fused.constants[1] = epilogue.clamp.high;
      break;
  }
}

void fill_fused(const Filling& filling, bool has_rest) {
  const auto& [problem, config, shape, tiles, is_transposed, from, l2_bytes, params, linker] =
      filling;
  const Epilogue& epilogue = problem.epilogue;
  if (!is_fused(problem, config)) return;
  FusedParams& fused = params.fused;
  fused.operations = operation::any;
  fused.scales_exchanged = is_transposed;
  fused.columns = gate_columns(problem);
  fill_curve(epilogue, fused);
  fused.row_scale = filled(epilogue.row_scale, operation::row_scale, 0, fused);
  fused.column_scale = filled(epilogue.column_scale, operation::column_scale, 0, fused);
  fused.row_bias = filled(epilogue.row_bias, operation::row_bias, operation::row_bias_f32, fused);
  fused.column_bias =
      filled(epilogue.column_bias, operation::column_bias, operation::column_bias_f32, fused);
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
}

void fill_unmapped(const Filling& filling) {
  fill_strided(filling);
  fill_fused(filling);
}

}  // namespace bwgemm
