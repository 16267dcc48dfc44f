// SPDX-License-Identifier: Apache-2.0
// validated: the C arguments of a product -> Problem. The only judge of what callers pass in; what
// is behind it is legal, canonical and supported by type. What is fused to the product is judged in
// validate_epilogue.
#pragma once

#include "bwgemm/bwgemm.h"
#include "core/problem.h"
#include "plan/plan.h"

namespace bwgemm {

// As bwgemmGemmStridedBatchedEx and, with arrays of pointers, bwgemmGemmBatchedEx take them; the
// other entries are special cases.
struct GemmArguments {
  bwgemmOperation_t transa, transb;
  std::int64_t m, n, k;
  const void* alpha;
  const void* a;
  bwgemmDataType_t a_type;
  std::int64_t lda, stride_a;
  const void* b;
  bwgemmDataType_t b_type;
  std::int64_t ldb, stride_b;
  const void* beta;
  void* c;
  bwgemmDataType_t c_type;
  std::int64_t ldc, stride_c;
  std::int64_t batch_count;
  bwgemmComputeType_t compute_type;
  int algo;
  bwgemmBatchMode_t batch_mode = BWGEMM_BATCH_MODE_STRIDED;
};

// As bwgemmMatmul takes them.
struct MatmulArguments {
  bwgemmMatmulDesc_t desc;  // as known_desc() returns it
  const void *alpha, *a, *b, *beta, *c;
  void* d;
  bool is_gemm = false;  // C is D, beta is not null, the algo is one of cuBLAS's
};

// The struct in the form of this version, whatever the caller's: Error unless it is one.
bwgemmMatmulDesc_t known_desc(const bwgemmMatmulDesc_t* desc);

MatmulArguments matmul_arguments(const GemmArguments& arguments);

// Error(INVALID_VALUE) names the first argument, in the order of bwgemmGemmEx and then of the
// struct, that breaks a rule; only then Error(NOT_SUPPORTED) what no kernel serves. An empty()
// problem has no pointers in it.
Problem validated(const MatmulArguments& arguments, bwgemmPointerMode_t pointer_mode);
Problem validated(const GemmArguments& arguments, bwgemmPointerMode_t pointer_mode);

// Whether the call's A is the problem's B. Between matrices of equal sizes D's order decides, as
// none of them is a line.
inline bool exchanges_operands(const GemmArguments& arguments, const Problem& problem) {
  return arguments.m == arguments.n || problem.m != arguments.m;
}
inline bool exchanges_operands(const MatmulArguments& arguments, const Problem& problem) {
  const bwgemmMatmulDesc_t& desc = arguments.desc;
  return desc.m == desc.n ? desc.Dorder == BWGEMM_ORDER_COL : problem.m != desc.m;
}

// Where the operands of that problem lie, if it touches them.
inline Addresses addresses(const GemmArguments& arguments, bool are_exchanged) {
  if (are_exchanged) return {arguments.b, arguments.a, arguments.c};
  return {arguments.a, arguments.b, arguments.c};
}
inline Addresses addresses(const MatmulArguments& arguments, bool are_exchanged) {
  if (are_exchanged) return {arguments.b, arguments.a, arguments.d};
  return {arguments.a, arguments.b, arguments.d};
}

}  // namespace bwgemm
