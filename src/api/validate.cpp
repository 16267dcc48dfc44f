// SPDX-License-Identifier: Apache-2.0
// The product. What else bwgemmMatmul has is judged in validate_matmul.cpp.
#include "api/validate.h"

#include <cstring>
#include <limits>

#include "api/validate_matmul.h"
#include "core/canonical_vectors.h"
#include "select/algos.h"

namespace bwgemm {
namespace {

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

void check_shape(const bwgemmMatmulDesc_t& desc) {
  check_operation("transa", desc.transa);
  check_operation("transb", desc.transb);
  check_not_negative("m", desc.m);
  check_not_negative("n", desc.n);
  check_not_negative("k", desc.k);
}

}  // namespace

ValidProblem validated(const Arguments& arguments, bwgemmPointerMode_t pointer_mode) {
  const bwgemmMatmulDesc_t desc = desc_of(arguments);
  check_shape(desc);
  const OutputSize size = arguments.is_gemm ? OutputSize{desc.m, desc.n} : checked_layout(desc);
  auto [a, b, c, d] = operands_of(arguments, desc, size);
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
  if (!arguments.is_gemm) take_fused(desc, problem);
  check_compute_type(desc.computeType);
  check_algo(desc.algo, arguments.is_gemm);
  check_supported(problem, c_type, desc, arguments.is_gemm);
  if (!arguments.is_gemm) check_fused_supported(desc, problem);
  const Problem in_lines = canonical_vectors(problem);
  return {with_row_order_d(in_lines), in_lines.d.order == Order::column};
}

}  // namespace bwgemm
