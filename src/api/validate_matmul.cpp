// SPDX-License-Identifier: Apache-2.0
#include "api/validate_matmul.h"

#include <algorithm>
#include <cmath>

namespace bwgemm {
namespace {

// The enumerators of the C API count as those of the core do.
static_assert(static_cast<int>(Gate::none) == BWGEMM_GATE_NONE &&
              static_cast<int>(Gate::interleaved) == BWGEMM_GATE_INTERLEAVED &&
              static_cast<int>(Gate::stacked) == BWGEMM_GATE_STACKED);

Matrix checked_matrix(Operand operand, bool is_written, const Problem& problem, Order order) {
  operand.access = is_written ? "written" : "read";
  const Dtype type = check_operand(operand, problem.batch);
  if (is_written) check_batches_apart(operand, problem.batch);
  return matrix_of(operand, type, order, problem.batch);
}

// One element for each of `count` rows or columns: a matrix of one column, of which every legal
// leading dimension will do. None if it may be missing, and is.
Vector checked_vector(const OperandNames& names, const void* data, std::int32_t type,
                      std::int64_t count, std::int64_t stride, bool is_written,
                      const Problem& problem) {
  const Operand operand{.names = names,
                        .data = data,
                        .type = type,
                        .order = BWGEMM_ORDER_COL,
                        .rows = count,
                        .columns = 1,
                        .ld = std::max<std::int64_t>(1, count),
                        .stride = stride,
                        .is_touched = (data != nullptr || is_written) && !problem.empty()};
  const Matrix matrix = checked_matrix(operand, is_written, problem, Order::column);
  if (matrix.data == nullptr) return {};
  return {matrix.data, matrix.type, matrix.batch_stride};
}

Matrix checked_aux(const bwgemmMatmulDesc_t& desc, const Problem& problem) {
  if (desc.auxMode == BWGEMM_AUX_NONE) {
    require(desc.aux == nullptr, "aux is address ", reinterpret_cast<std::uintptr_t>(desc.aux),
            " but must be null with auxMode BWGEMM_AUX_NONE (0)");
    checked_type("auxType", desc.auxType);
    return {};
  }
  const Operand operand{.names = {"aux", "auxType", "ldaux", "strideAux"},
                        .data = desc.aux,
                        .type = desc.auxType,
                        .order = desc.Dorder,
                        .rows = problem.m,
                        .columns = problem.n,
                        .ld = desc.ldaux,
                        .stride = desc.strideAux,
                        .is_touched = !problem.empty()};
  const Matrix aux =
      checked_matrix(operand, desc.auxMode == BWGEMM_AUX_STORE, problem, problem.d.order);
  return operand.is_touched ? aux : Matrix{};
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

// With a gate, half of the product's. INVALID_VALUE if the extent is odd.
OutputSize output_size(const bwgemmMatmulDesc_t& desc) {
  if (desc.gate == BWGEMM_GATE_NONE) return {desc.m, desc.n};
  const bool is_column_order = desc.Dorder == BWGEMM_ORDER_COL;
  const std::int64_t extent = is_column_order ? desc.m : desc.n;
  require(extent % 2 == 0, is_column_order ? "m" : "n", " is ", extent, " but must be even: gate ",
          desc.gate, " pairs what lies along D's contiguous dimension");
  return is_column_order ? OutputSize{extent / 2, desc.n} : OutputSize{desc.m, extent / 2};
}

// `problem` as far as it is known, as for the next function: m, n, batch, beta, and D in the
// caller's order. Rows and columns are the caller's too. The matrix itself is judged where matrices
// are.
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
  const OutputSize d = output_size(desc);
  BiasGradient bias_gradient;
  std::int64_t count = 0;
  switch (desc.biasGradientOf) {
    case BWGEMM_BIAS_GRADIENT_A: bias_gradient = {Summed::a, true, {}}, count = problem.m; break;
    case BWGEMM_BIAS_GRADIENT_B: bias_gradient = {Summed::b, false, {}}, count = problem.n; break;
    case BWGEMM_BIAS_GRADIENT_D_ROWS: bias_gradient = {Summed::d, true, {}}, count = d.rows; break;
    default: bias_gradient = {Summed::d, false, {}}, count = d.columns; break;
  }
  bias_gradient.to = checked_vector(
      {"biasGradient", "biasGradientType", "biasGradient", "strideBiasGradient"}, desc.biasGradient,
      desc.biasGradientType, count, desc.strideBiasGradient, true, problem);
  return problem.empty() ? BiasGradient{} : bias_gradient;
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
                     is_along_m ? problem.m : problem.n, desc.strideBias, false, problem);
  epilogue.row_scale =
      checked_vector({"rowScale", "rowScale", "rowScale", "strideRowScale"}, desc.rowScale,
                     BWGEMM_R_32F, problem.m, desc.strideRowScale, false, problem);
  epilogue.column_scale = checked_vector(
      {"columnScale", "columnScale", "columnScale", "strideColumnScale"}, desc.columnScale,
      BWGEMM_R_32F, problem.n, desc.strideColumnScale, false, problem);
  epilogue.aux = checked_aux(desc, problem);
  require(
      !epilogue.differentiates || epilogue.activation != Activation::none,
      "activation is BWGEMM_ACTIVATION_NONE (0) but auxMode BWGEMM_AUX_DERIVATIVE (2) needs one");
  epilogue.clamp = checked_bounds(desc);
  return epilogue;
}

void check_workspace(const bwgemmMatmulDesc_t& desc) {
  const auto address = reinterpret_cast<std::uintptr_t>(desc.workspace);
  require(address % 256 == 0, "workspace is address ", address,
          " but must be a multiple of 256 bytes");
}

}  // namespace

OutputSize checked_layout(const bwgemmMatmulDesc_t& desc) {
  check_enumerator("Aorder", desc.Aorder, BWGEMM_ORDER_ROW, "bwgemmOrder_t");
  check_enumerator("Border", desc.Border, BWGEMM_ORDER_ROW, "bwgemmOrder_t");
  check_enumerator("Corder", desc.Corder, BWGEMM_ORDER_ROW, "bwgemmOrder_t");
  check_enumerator("batchMode", desc.batchMode, BWGEMM_BATCH_MODE_POINTER_ARRAY,
                   "bwgemmBatchMode_t");
  check_enumerator("Dorder", desc.Dorder, BWGEMM_ORDER_ROW, "bwgemmOrder_t");
  check_enumerator("gate", desc.gate, BWGEMM_GATE_STACKED, "bwgemmGate_t");
  return output_size(desc);
}

void check_c_as_d(const Operand& c, const Operand& d, std::int64_t batch) {
  const auto same = [](const char* member, std::int64_t of_c, const char* member_of_d,
                       std::int64_t of_d) {
    require(of_c == of_d, member, " is ", of_c, " but must be ", member_of_d, ", ", of_d,
            ", where D is C");
  };
  same("Ctype", c.type, "Dtype", d.type);
  same("Corder", c.order, "Dorder", d.order);
  same("ldc", c.ld, "ldd", d.ld);
  if (batch > 1 && !c.is_array) same("strideC", c.stride, "strideD", d.stride);
}

void take_fused(const bwgemmMatmulDesc_t& desc, Problem& problem) {
  problem.epilogue = validated_epilogue(desc, problem);
  check_workspace(desc);
  problem.bias_gradient = validated_bias_gradient(desc, problem);
}

void check_fused_supported(const bwgemmMatmulDesc_t& desc, const Problem& problem) {
  const Epilogue& epilogue = problem.epilogue;
  const auto check = [&](const char* name, const void* data, std::int32_t type) {
    if (data != nullptr) check_supported_type(name, checked_type(name, type), problem.a.type);
  };
  check("biasType", desc.bias, desc.biasType);
  check("auxType", desc.aux, desc.auxType);
  check("biasGradientType", desc.biasGradient, desc.biasGradientType);
  if (epilogue.gate == Gate::none) return;
  if (epilogue.differentiates)
    unsupported("auxMode is BWGEMM_AUX_DERIVATIVE (2); with a gate, ", desc.gate,
                ", it is not supported");
  if (!problem.beta.known_zero())
    unsupported("beta is not known to be 0; with a gate, ", desc.gate, ", there is no C to add");
}

}  // namespace bwgemm
