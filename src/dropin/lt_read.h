// SPDX-License-Identifier: Apache-2.0
// Reads a call of cublasLtMatmul by cuBLASLt's own getters. Descriptors may change between calls,
// so nothing that was read is kept.
#pragma once

#include "dropin/call.h"
#include "dropin/lt_objects.h"
#include "dropin/reason.h"

namespace bwgemm::dropin {

// The arguments of cublasLtMatmul.
struct LtArguments {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t desc;
  const void *alpha, *a;
  cublasLtMatrixLayout_t a_layout;
  const void* b;
  cublasLtMatrixLayout_t b_layout;
  const void *beta, *c;
  cublasLtMatrixLayout_t c_layout;
  void* d;
  cublasLtMatrixLayout_t d_layout;
  const cublasLtMatmulAlgo_t* algo;
  void* workspace;
  std::size_t workspace_size;
  cudaStream_t stream;
};

struct LtCall {
  Call call;
  CallSettings settings;
};

// Fills `read`, and says why the call cannot be served, as far as its descriptors tell. Where types
// tell it already, the rest is read only if `reads_all`. `cache`: as read_desc() takes it.
Reason read_call(const LtArguments& arguments, const Cublas& cublas, LtCache* cache, bool reads_all,
                 LtCall& read);

}  // namespace bwgemm::dropin
