/* SPDX-License-Identifier: Apache-2.0
 * A plugin that is linked to another copy of cuBLAS than the program. */
#include "dropin/fake_cublas.h"

#pragma GCC visibility push(default)
cublasStatus_t plugin_create(cublasHandle_t* handle);
cublasStatus_t plugin_multiply(cublasHandle_t handle, int algo);
int64_t plugin_products(void);
#pragma GCC visibility pop

cublasStatus_t plugin_create(cublasHandle_t* handle) {
  const cublasStatus_t status = cublasCreate_v2(handle);
  fakeCublasRecordOnly(1);
  return status;
}

cublasStatus_t plugin_multiply(cublasHandle_t handle, int algo) {
  const float one = 1, zero = 0;
  char* const memory = (char*)0x7f0000000000;
  return cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 64, 64, 64, &one, memory, CUDA_R_16F, 64,
                      memory + 8192, CUDA_R_16F, 64, &zero, memory + 16384, CUDA_R_16F, 64,
                      CUBLAS_COMPUTE_32F, (cublasGemmAlgo_t)algo);
}

int64_t plugin_products(void) {
  return fakeCublasLast().count;
}
