// SPDX-License-Identifier: Apache-2.0
// TwoSides: cuBLAS's products, each as cuBLAS computes them and as libbwgemm_cublas.so does. Both
// are opened at run time, and both take the same handle.
#pragma once

#include <string>

#include "dropin/cublaslt_abi.h"
#include "dropin/last.h"

namespace bwgemm::bench {

// The functions with 64-bit sizes. Members have the functions' names without "cublas".
struct Side {
  decltype(&::cublasHgemm_64) hgemm;
  decltype(&::cublasHgemmStridedBatched_64) hgemm_strided_batched;
  decltype(&::cublasSgemmEx_64) sgemm_ex;
  decltype(&::cublasGemmEx_64) gemm_ex;
  decltype(&::cublasGemmStridedBatchedEx_64) gemm_strided_batched_ex;
  decltype(&::cublasGemmBatchedEx_64) gemm_batched_ex;
  decltype(&::cublasLtMatmul) lt_matmul;
  decltype(&::bwgemmCublasTakeLast) take_last;  // of bwgemm's side
};

// What sets handles and descriptors. The library in front of cuBLAS must see what it cannot ask
// for.
struct State {
  decltype(&::cublasCreate_v2) create;
  decltype(&::cublasSetStream_v2) set_stream;
  decltype(&::cublasSetWorkspace_v2) set_workspace;
  decltype(&::cublasSetPointerMode_v2) set_pointer_mode;
  decltype(&::cublasSetMathMode) set_math_mode;
  decltype(&::cublasSetSmCountTarget) set_sm_count_target;
  decltype(&::cublasLtMatmulDescCreate) desc_create;
  decltype(&::cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&::cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&::cublasLtMatrixLayoutCreate) layout_create;
  decltype(&::cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&::cublasLtMatrixLayoutSetAttribute) layout_set;
};

// Throws std::runtime_error naming the call, unless the status is that of success.
void require(cublasStatus_t status, const char* call);

struct TwoSides {
  // `cublas`: the file that a program had loaded, or "" for that of CUDA 13 or else of CUDA 12.
  // `dropin`: libbwgemm_cublas.so, which then serves what it can. Throws std::runtime_error.
  TwoSides(const std::string& cublas, const std::string& dropin);

  Side ours, theirs;
  State state;
  cublasHandle_t handle = nullptr;  // of the current context; never destroyed
};

}  // namespace bwgemm::bench
