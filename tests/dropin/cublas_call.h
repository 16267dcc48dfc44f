// SPDX-License-Identifier: Apache-2.0
// A product of cuBLAS as a program calls it, by any of the functions that are stood in front of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dropin/cublas_abi.h"

namespace bwgemm::test {

// The functions; each has a second form whose name ends with _64.
extern const std::vector<std::string> product_functions;

struct CublasCall {
  cublasHandle_t handle = nullptr;
  cublasOperation_t transa = CUBLAS_OP_T, transb = CUBLAS_OP_N;
  std::int64_t m = 256, n = 128, k = 192;
  const void *alpha = nullptr, *beta = nullptr;  // null: 1 and 0 on the host, half where it must be
  const void* a = reinterpret_cast<void*>(0x7f0000000000);
  const void* b = reinterpret_cast<void*>(0x7f0010000000);
  void* c = reinterpret_cast<void*>(0x7f0020000000);
  cudaDataType a_type = CUDA_R_16F, b_type = CUDA_R_16F, c_type = CUDA_R_16F;
  std::int64_t lda = 192, ldb = 192, ldc = 256;
  std::int64_t stride_a = 256 * 192, stride_b = 128 * 192, stride_c = 256 * 128, batch = 2;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasGemmAlgo_t algo = CUBLAS_GEMM_DEFAULT_TENSOR_OP;
  bool passes_null_scalars = false;  // instead of 1 and 0

  // Whether the function takes a batch, and whether its scalars are half.
  static bool is_batched(const std::string& function);
  bool has_half_scalars(const std::string& function) const;

  cublasStatus_t run(const std::string& function) const;
};

}  // namespace bwgemm::test
