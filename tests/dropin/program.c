/* SPDX-License-Identifier: Apache-2.0
 * A program that is linked to cuBLAS and knows nothing of bwgemm. It multiplies on device 0, and
 * prints cuBLAS's status of each call and how many products reached cuBLAS. */
#include <stdio.h>

#include "dropin/fake_cublas.h"

static const float one = 1, zero = 0;

static cublasStatus_t multiply(cublasHandle_t handle, int64_t m, cublasGemmAlgo_t algo) {
  char* const memory = (char*)0x7f0000000000;
  return cublasGemmEx_64(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, 64, 64, &one, memory, CUDA_R_16BF, 64,
                         memory + 0x100000, CUDA_R_16BF, 64, &zero, memory + 0x200000, CUDA_R_16BF,
                         m, CUBLAS_COMPUTE_32F, algo);
}

int main(void) {
  cublasHandle_t handle = NULL;
  const cublasStatus_t created = cublasCreate_v2(&handle);
  fakeCublasRecordOnly(1);
  const cublasStatus_t served = multiply(handle, 128, CUBLAS_GEMM_DEFAULT);
  const cublasStatus_t again = multiply(handle, 128, CUBLAS_GEMM_DEFAULT);
  const cublasStatus_t forwarded = multiply(handle, 256, (cublasGemmAlgo_t)3);
  const cublasStatus_t destroyed = cublasDestroy_v2(handle);
  printf("%d %d %d %d %d, %d products\n", (int)created, (int)served, (int)again, (int)forwarded,
         (int)destroyed, (int)fakeCublasLast().count);
  return 0;
}
