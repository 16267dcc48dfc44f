// SPDX-License-Identifier: Apache-2.0
// How the functions of the double of cuBLAS hand on their arguments.
#pragma once

#include <cstdint>

#include "dropin/fake_cublas.h"

namespace bwgemm::test {

struct FakeSizes {
  int transa, transb;
  std::int64_t m, n, k, batch;
  int compute, algo;
};

struct FakeOperand {
  const void* data;
  int type;
  std::int64_t ld, stride;
};

// Records the product, and computes it unless it is to be recorded only.
cublasStatus_t product(cublasHandle_t handle, const char* function, const FakeSizes& sizes,
                       const void* alpha, const FakeOperand& a, const FakeOperand& b,
                       const void* beta, const FakeOperand& c);

// See fakeCublasCallsOut.
bool calls_out();

}  // namespace bwgemm::test
