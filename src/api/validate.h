// SPDX-License-Identifier: Apache-2.0
// validated: the C arguments of a product -> Problem. The only judge of what callers pass in; what
// is behind it is legal, canonical and supported by type.
#pragma once

#include "bwgemm/bwgemm.h"
#include "core/error.h"
#include "core/problem.h"
#include "core/text.h"
#include "plan/plan.h"

namespace bwgemm {

// Error(INVALID_VALUE) whose text is the parts: the argument, its value, the rule.
template <class... Parts>
void require(bool holds, const Parts&... parts) {
  if (!holds) throw Error(BWGEMM_STATUS_INVALID_VALUE, text(parts...));
}

// As bwgemmGemmStridedBatchedEx takes them; the other entries are special cases.
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
};

// Error(INVALID_VALUE) names the first argument, in the order above, that breaks a rule; only then
// Error(NOT_SUPPORTED) what no kernel serves. An empty() problem has no pointers in it.
Problem validated(const GemmArguments& arguments, bwgemmPointerMode_t pointer_mode);

// Where the operands of that problem lie, if it touches them: A and B change places.
inline Addresses addresses(const GemmArguments& arguments) {
  return {arguments.b, arguments.a, arguments.c};
}

}  // namespace bwgemm
