// SPDX-License-Identifier: Apache-2.0
// First what is fused to a product, and what is added up beside it; then the product.
#include "api/validate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "core/canonical_vectors.h"
#include "select/algos.h"

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

void check_supported_type(const char* name, Dtype type, Dtype a) {
  if (type != a && type != Dtype::f32)
    unsupported(name, " is ", enumerator(type), "; supported are Atype, ", enumerator(a),
                ", and BWGEMM_R_32F");
}

// The size of D along the dimension that is contiguous in memory, and the other.
struct OutputSize {
  std::int64_t rows, columns;
};

// With a gate, half of the product's. INVALID_VALUE if the gate or the order of D is none, or the
// extent is odd.
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
  const OutputSize d = checked_output_size(desc);
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

// NOT_SUPPORTED for what is legal but served by no kernel.
void check_epilogue_supported(const bwgemmMatmulDesc_t& desc, const Problem& problem,
                              const Epilogue& epilogue) {
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

void check_operation(const char* name, std::int32_t operation) {
  require(operation == BWGEMM_OP_N || operation == BWGEMM_OP_T || operation == BWGEMM_OP_C, name,
          " is ", operation, " but must be BWGEMM_OP_N (0), BWGEMM_OP_T (1) or BWGEMM_OP_C (2)");
}

Scalar checked_scalar(const char* name, const void* pointer, bwgemmPointerMode_t mode) {
  require(pointer != nullptr, name, " is null but must point to a float");
  Scalar scalar;
  if (mode == BWGEMM_POINTER_MODE_HOST) {
    std::memcpy(&scalar.value, pointer, sizeof scalar.value);
    return scalar;
  }
  require(reinterpret_cast<std::uintptr_t>(pointer) % alignof(float) == 0, name,
          " is a device address that is not a multiple of ", alignof(float), " bytes");
  scalar.device = static_cast<const float*>(pointer);
  return scalar;
}

// The four matrices of a call.
struct Matrices {
  Operand a, b, c, d;
};

// What is touched is decided where alpha and beta are known.
Matrices operands_of(const Arguments& arguments, const bwgemmMatmulDesc_t& desc, OutputSize size) {
  const bool plain_a = desc.transa == BWGEMM_OP_N, plain_b = desc.transb == BWGEMM_OP_N;
  const bool is_array = desc.batchMode == BWGEMM_BATCH_MODE_POINTER_ARRAY;
  const bool is_gemm = arguments.is_gemm, is_gemm_of_arrays = is_gemm && is_array;
  const auto operand = [&](Argument argument, const OperandNames& names, std::int32_t type,
                           std::int32_t order, std::int64_t rows, std::int64_t columns,
                           std::int64_t ld, std::int64_t stride) {
    return Operand{
        names, "read",  arguments.values.address(argument), type, order, rows, columns, ld, stride,
        false, is_array};
  };
  const OperandNames c_names{"C", "Ctype", "ldc", "strideC"};
  const OperandNames c_written{is_gemm_of_arrays ? "Carray" : "C", "Ctype", "ldc", "strideC"};
  const OperandNames d_names{"D", "Dtype", "ldd", "strideD"};
  return {.a = operand(Argument::a, {is_gemm_of_arrays ? "Aarray" : "A", "Atype", "lda", "strideA"},
                       desc.Atype, desc.Aorder, plain_a ? desc.m : desc.k,
                       plain_a ? desc.k : desc.m, desc.lda, desc.strideA),
          .b = operand(Argument::b, {is_gemm_of_arrays ? "Barray" : "B", "Btype", "ldb", "strideB"},
                       desc.Btype, desc.Border, plain_b ? desc.k : desc.n,
                       plain_b ? desc.n : desc.k, desc.ldb, desc.strideB),
          .c = operand(Argument::c, c_names, desc.Ctype, desc.Corder, desc.m, desc.n, desc.ldc,
                       desc.strideC),
          .d = operand(Argument::d, is_gemm ? c_written : d_names, desc.Dtype, desc.Dorder,
                       size.rows, size.columns, desc.ldd, desc.strideD)};
}

// D may be C, but not be read and written in different forms.
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

// cuBLAS's values, of which only the one of the header is served.
void check_compute_type(std::int32_t value) {
  require(value >= 64 && value <= 79, "computeType is ", value,
          " but must be BWGEMM_COMPUTE_32F (68)");
}

void check_algo(std::int64_t algo, bool is_gemm) {
  if (is_gemm)
    require((algo >= -1 && algo <= 23) || (algo >= 99 && algo <= 115), "algo is ", algo,
            " but must be -1, 0..23 or 99..115");
  else
    require(algo == -1 || unpacked(algo), "algo is ", algo,
            " but must be -1 or one that bwgemmMatmulGetAlgos of this build returned");
}

void check_workspace(const bwgemmMatmulDesc_t& desc) {
  const auto address = reinterpret_cast<std::uintptr_t>(desc.workspace);
  require(address % 256 == 0, "workspace is address ", address,
          " but must be a multiple of 256 bytes");
}

void check_supported(const Problem& problem, Dtype c_type, const bwgemmMatmulDesc_t& desc,
                     bool is_gemm) {
  const Dtype a = problem.a.type;
  if (a != Dtype::bf16 && a != Dtype::f16)
    unsupported("Atype is ", enumerator(a), "; supported are BWGEMM_R_16BF and BWGEMM_R_16F");
  if (problem.b.type != a)
    unsupported("Btype is ", enumerator(problem.b.type), "; supported is the same as Atype, ",
                enumerator(a));
  check_supported_type("Ctype", c_type, a);
  check_supported_type(is_gemm ? "Ctype" : "Dtype", problem.d.type, a);
  if (desc.computeType != BWGEMM_COMPUTE_32F)
    unsupported("computeType is ", desc.computeType, "; supported is BWGEMM_COMPUTE_32F (68)");
  if (problem.batch > std::numeric_limits<std::int32_t>::max())
    unsupported("batchCount is ", problem.batch, "; supported are at most ",
                std::numeric_limits<std::int32_t>::max());
}

Order order_of(std::int32_t stored, bool is_plain) {
  return (stored == BWGEMM_ORDER_COL) == is_plain ? Order::column : Order::row;
}

void check_orders(const bwgemmMatmulDesc_t& desc) {
  check_enumerator("Aorder", desc.Aorder, BWGEMM_ORDER_ROW, "bwgemmOrder_t");
  check_enumerator("Border", desc.Border, BWGEMM_ORDER_ROW, "bwgemmOrder_t");
  check_enumerator("Corder", desc.Corder, BWGEMM_ORDER_ROW, "bwgemmOrder_t");
}

void check_shape(const bwgemmMatmulDesc_t& desc) {
  check_operation("transa", desc.transa);
  check_operation("transb", desc.transb);
  check_not_negative("m", desc.m);
  check_not_negative("n", desc.n);
  check_not_negative("k", desc.k);
  check_orders(desc);
  check_enumerator("batchMode", desc.batchMode, BWGEMM_BATCH_MODE_POINTER_ARRAY,
                   "bwgemmBatchMode_t");
}

}  // namespace

ValidProblem validated(const Arguments& arguments, bwgemmPointerMode_t pointer_mode) {
  const bwgemmMatmulDesc_t desc = desc_of(arguments);
  check_shape(desc);
  auto [a, b, c, d] = operands_of(arguments, desc, checked_output_size(desc));
  Problem problem;
  problem.m = desc.m;
  problem.n = desc.n;
  problem.k = desc.k;
  problem.batch = desc.batchCount;
  problem.is_pointer_array = d.is_array;

  d.access = "written";
  d.is_touched = !problem.empty();
  if (d.is_touched) problem.alpha = checked_scalar("alpha", arguments.alpha, pointer_mode);
  a.is_touched = b.is_touched = d.is_touched && !problem.scale_only();
  // To be added up, they are read whatever alpha is.
  const bool adds_up = d.is_touched && problem.k > 0;
  const bool sums_a = adds_up && desc.biasGradientOf == BWGEMM_BIAS_GRADIENT_A;
  const bool sums_b = adds_up && desc.biasGradientOf == BWGEMM_BIAS_GRADIENT_B;
  a.is_touched |= sums_a;
  b.is_touched |= sums_b;
  constexpr const char* if_multiplied = "read unless alpha, which is on the device, is 0";
  if (problem.alpha.device != nullptr && !sums_a) a.access = if_multiplied;
  if (problem.alpha.device != nullptr && !sums_b) b.access = if_multiplied;
  const auto checked = [&](const Operand& operand, bool is_plain) {
    return matrix_of(operand, check_operand(operand, problem.batch),
                     order_of(operand.order, is_plain), problem.batch);
  };
  problem.a = checked(a, desc.transa == BWGEMM_OP_N);
  problem.b = checked(b, desc.transb == BWGEMM_OP_N);
  if (d.is_touched && (arguments.beta != nullptr || arguments.is_gemm))
    problem.beta = checked_scalar("beta", arguments.beta, pointer_mode);
  if (problem.beta.device != nullptr) c.access = "read unless beta, which is on the device, is 0";
  c.is_touched = d.is_touched && problem.reads_c();
  const Dtype c_type = checked_type("Ctype", c.type);
  if (c.is_touched && !arguments.is_gemm) problem.c = checked(c, true);
  problem.d = checked(d, true);
  if (!c.is_touched || arguments.is_gemm)
    problem.c = problem.d;
  else if (c.data == d.data)
    check_c_as_d(c, d, problem.batch);
  check_not_negative("batchCount", problem.batch);
  check_batches_apart(d, problem.batch);
  if (!arguments.is_gemm) {
    problem.epilogue = validated_epilogue(desc, problem);
    check_workspace(desc);
    problem.bias_gradient = validated_bias_gradient(desc, problem);
  }
  check_compute_type(desc.computeType);
  check_algo(desc.algo, arguments.is_gemm);
  check_supported(problem, c_type, desc, arguments.is_gemm);
  if (!arguments.is_gemm) check_epilogue_supported(desc, problem, problem.epilogue);
  const Problem in_lines = canonical_vectors(problem);
  return {with_row_order_d(in_lines), in_lines.d.order == Order::column};
}

}  // namespace bwgemm
