// SPDX-License-Identifier: Apache-2.0
#include "api/validate_epilogue.h"

#include <algorithm>
#include <cmath>

#include "api/rules.h"

namespace bwgemm {
namespace {

// The enumerators of the C API count as those of the core do.
static_assert(static_cast<int>(Gate::none) == BWGEMM_GATE_NONE &&
              static_cast<int>(Gate::interleaved) == BWGEMM_GATE_INTERLEAVED &&
              static_cast<int>(Gate::stacked) == BWGEMM_GATE_STACKED);

// A matrix of one column, of which every legal leading dimension will do.
Operand vector_operand(const OperandNames& names, const void* data, std::int32_t type,
                       std::int64_t count, std::int64_t stride) {
  return {.names = names,
          .access = "read",
          .data = data,
          .type = type,
          .order = BWGEMM_ORDER_COL,
          .rows = count,
          .columns = 1,
          .ld = std::max<std::int64_t>(1, count),
          .stride = stride,
          .is_touched = false,
          .is_array = false};
}

// One element for each of `count` rows or columns.
Vector checked_vector(const OperandNames& names, const void* data, std::int32_t type,
                      std::int64_t count, std::int64_t stride, const Problem& problem) {
  Operand operand = vector_operand(names, data, type, count, stride);
  operand.is_touched = data != nullptr && !problem.empty();
  const Dtype checked = check_operand(operand, problem.batch);
  const Matrix matrix = matrix_of(operand, checked, Order::column, problem.batch);
  if (matrix.data == nullptr) return {};
  return {matrix.data, checked, matrix.batch_stride};
}

Matrix checked_aux(const bwgemmMatmulDesc_t& desc, const Problem& problem) {
  const bool is_written = desc.auxMode == BWGEMM_AUX_STORE;
  if (desc.auxMode == BWGEMM_AUX_NONE) {
    require(desc.aux == nullptr, "aux is address ", reinterpret_cast<std::uintptr_t>(desc.aux),
            " but must be null with auxMode BWGEMM_AUX_NONE (0)");
    checked_type("auxType", desc.auxType);
    return {};
  }
  const Operand operand{.names = {"aux", "auxType", "ldaux", "strideAux"},
                        .access = is_written ? "written" : "read",
                        .data = desc.aux,
                        .type = desc.auxType,
                        .order = desc.Dorder,
                        .rows = problem.m,
                        .columns = problem.n,
                        .ld = desc.ldaux,
                        .stride = desc.strideAux,
                        .is_touched = !problem.empty(),
                        .is_array = false};
  const Dtype type = check_operand(operand, problem.batch);
  if (is_written) check_batches_apart(operand, problem.batch);
  if (!operand.is_touched) return {};
  return matrix_of(operand, type, problem.d.order, problem.batch);
}

Bounds checked_bounds(const bwgemmMatmulDesc_t& desc) {
  const auto check_number = [](const char* name, float value) {
    require(!std::isnan(value), name, " is ", value, " but must be a number");
  };
  if (desc.activation != BWGEMM_ACTIVATION_CLAMP) return {};
  check_number("clampLow", desc.clampLow);
  check_number("clampHigh", desc.clampHigh);
  require(desc.clampLow <= desc.clampHigh, "clampLow is ", desc.clampLow,
          " but must be at most clampHigh, ", desc.clampHigh);
  return {desc.clampLow, desc.clampHigh};
}

void check_supported_type(const char* name, const void* data, Dtype type, const Problem& problem) {
  if (data != nullptr && type != problem.a.type && type != Dtype::f32)
    unsupported(name, " is ", enumerator(type), "; supported are Atype, ",
                enumerator(problem.a.type), ", and BWGEMM_R_32F");
}

}  // namespace

OutputSize checked_output_size(const bwgemmMatmulDesc_t& desc) {
  check_enumerator("Dorder", desc.Dorder, BWGEMM_ORDER_ROW, "bwgemmOrder_t");
  check_enumerator("gate", desc.gate, BWGEMM_GATE_STACKED, "bwgemmGate_t");
  if (desc.gate == BWGEMM_GATE_NONE) return {desc.m, desc.n};
  const bool is_column_order = desc.Dorder == BWGEMM_ORDER_COL;
  const std::int64_t extent = is_column_order ? desc.m : desc.n;
  require(extent % 2 == 0, is_column_order ? "m" : "n", " is ", extent, " but must be even: gate ",
          desc.gate, " pairs what lies along D's contiguous dimension");
  return is_column_order ? OutputSize{extent / 2, desc.n} : OutputSize{desc.m, extent / 2};
}

BiasGradient validated_bias_gradient(const bwgemmMatmulDesc_t& desc, const Problem& problem) {
  check_enumerator("biasGradientOf", desc.biasGradientOf, BWGEMM_BIAS_GRADIENT_B,
                   "bwgemmBiasGradient_t");
  if (desc.biasGradientOf == BWGEMM_BIAS_GRADIENT_NONE) {
    require(desc.biasGradient == nullptr, "biasGradient is address ",
            reinterpret_cast<std::uintptr_t>(desc.biasGradient),
            " but must be null with biasGradientOf BWGEMM_BIAS_GRADIENT_NONE (0)");
    checked_type("biasGradientType", desc.biasGradientType);
    return {};
  }
  const OutputSize d = checked_output_size(desc);
  BiasGradient bias_gradient;
  std::int64_t count = 0;
  switch (desc.biasGradientOf) {
    case BWGEMM_BIAS_GRADIENT_A: bias_gradient = {Summed::a, true, {}}, count = problem.m; break;
    case BWGEMM_BIAS_GRADIENT_B: bias_gradient = {Summed::b, false, {}}, count = problem.n; break;
    case BWGEMM_BIAS_GRADIENT_D_ROWS: bias_gradient = {Summed::d, true, {}}, count = d.rows; break;
    default: bias_gradient = {Summed::d, false, {}}, count = d.columns; break;
  }
  Operand operand =
      vector_operand({"biasGradient", "biasGradientType", "biasGradient", "strideBiasGradient"},
                     desc.biasGradient, desc.biasGradientType, count, desc.strideBiasGradient);
  operand.access = "written";
  operand.is_touched = !problem.empty();
  const Dtype type = check_operand(operand, problem.batch);
  check_batches_apart(operand, problem.batch);
  if (!operand.is_touched) return {};
  bias_gradient.to = {desc.biasGradient, type, problem.batch > 1 ? desc.strideBiasGradient : 0};
  return bias_gradient;
}

Epilogue validated_epilogue(const bwgemmMatmulDesc_t& desc, const Problem& problem) {
  check_enumerator("activation", desc.activation, static_cast<int>(last_activation),
                   "bwgemmActivation_t");
  check_enumerator("biasDim", desc.biasDim, BWGEMM_DIM_N, "bwgemmDimension_t");
  check_enumerator("auxMode", desc.auxMode, BWGEMM_AUX_DERIVATIVE, "bwgemmAuxMode_t");
  require(desc.reserved == 0, "reserved is ", desc.reserved, " but must be 0");
  Epilogue epilogue;
  epilogue.activation = static_cast<Activation>(desc.activation);
  epilogue.gate = static_cast<Gate>(desc.gate);
  epilogue.differentiates = desc.auxMode == BWGEMM_AUX_DERIVATIVE;
  const bool is_along_m = desc.biasDim == BWGEMM_DIM_M;
  (is_along_m ? epilogue.row_bias : epilogue.column_bias) =
      checked_vector({"bias", "biasType", "bias", "strideBias"}, desc.bias, desc.biasType,
                     is_along_m ? problem.m : problem.n, desc.strideBias, problem);
  epilogue.row_scale =
      checked_vector({"rowScale", "rowScale", "rowScale", "strideRowScale"}, desc.rowScale,
                     BWGEMM_R_32F, problem.m, desc.strideRowScale, problem);
  epilogue.column_scale =
      checked_vector({"columnScale", "columnScale", "columnScale", "strideColumnScale"},
                     desc.columnScale, BWGEMM_R_32F, problem.n, desc.strideColumnScale, problem);
  epilogue.aux = checked_aux(desc, problem);
  require(
      !epilogue.differentiates || epilogue.activation != Activation::none,
      "activation is BWGEMM_ACTIVATION_NONE (0) but auxMode BWGEMM_AUX_DERIVATIVE (2) needs one");
  epilogue.clamp = checked_bounds(desc);
  return epilogue;
}

void check_epilogue_supported(const bwgemmMatmulDesc_t& desc, const Problem& problem,
                              const Epilogue& epilogue) {
  check_supported_type("biasType", desc.bias, checked_type("biasType", desc.biasType), problem);
  check_supported_type("auxType", desc.aux, checked_type("auxType", desc.auxType), problem);
  check_supported_type("biasGradientType", desc.biasGradient,
                       checked_type("biasGradientType", desc.biasGradientType), problem);
  if (epilogue.gate == Gate::none) return;
  if (epilogue.differentiates)
    unsupported("auxMode is BWGEMM_AUX_DERIVATIVE (2); with a gate, ", desc.gate,
                ", it is not supported");
  if (!problem.beta.known_zero())
    unsupported("beta is not known to be 0; with a gate, ", desc.gate, ", there is no C to add");
}

}  // namespace bwgemm
