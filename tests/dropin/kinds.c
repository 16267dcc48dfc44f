/* SPDX-License-Identifier: Apache-2.0
 * A program that multiplies by several functions of cuBLAS and by cuBLASLt, most of them with 128
 * rows and two with 64, on memory that is not there. It prints how many products reached cuBLAS.
 * With an argument it then waits for a signal. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dropin/fake_cublas.h"
#include "dropin/fake_cublaslt.h"

enum { k = 64, n = 64 };

static const float one = 1, zero = 0;
static const uint16_t half_one = 0x3c00, half_zero = 0;
static char* const memory = (char*)0x7f0000000000;
static char* const b = (char*)0x7f0000100000;
static char* const c = (char*)0x7f0000200000;

static void require(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fprintf(stderr, "status %d\n", (int)status);
  exit(1);
}

static void multiply(cublasHandle_t handle, int m, const float* beta, cublasGemmAlgo_t algo) {
  require(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &one, memory, CUDA_R_16BF, k, b,
                       CUDA_R_16BF, k, beta, c, CUDA_R_16BF, m, CUBLAS_COMPUTE_32F, algo));
}

static cublasLtMatrixLayout_t layout(int rows, int columns, int ld, int32_t order) {
  cublasLtMatrixLayout_t made = NULL;
  require(cublasLtMatrixLayoutCreate(&made, CUDA_R_16BF, (uint64_t)rows, (uint64_t)columns, ld));
  require(
      cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
  return made;
}

static void multiply_by_lt(cublasHandle_t handle, int m, int32_t order, int32_t epilogue,
                           const cublasLtMatmulAlgo_t* algo) {
  cublasLtMatmulDesc_t desc = NULL;
  const void* const beside = memory + 0x300000;
  const int64_t ld = m;
  require(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  require(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                         sizeof epilogue));
  require(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &beside,
                                         sizeof beside));
  require(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &beside,
                                         sizeof beside));
  require(
      cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld, sizeof ld));
  const cublasLtMatrixLayout_t of_a = layout(m, k, order == CUBLASLT_ORDER_ROW ? k : m, order);
  const cublasLtMatrixLayout_t of_b = layout(k, n, k, CUBLASLT_ORDER_COL);
  const cublasLtMatrixLayout_t of_c = layout(m, n, m, CUBLASLT_ORDER_COL);
  require(cublasLtMatmul((cublasLtHandle_t)handle, desc, &one, memory, of_a, b, of_b, &zero, c,
                         of_c, c, of_c, algo, algo != NULL ? memory + 0x400000 : NULL,
                         algo != NULL ? 4096 : 0, NULL));
}

int main(int count, char** arguments) {
  (void)arguments;
  cublasHandle_t handle = NULL;
  require(cublasCreate_v2(&handle));
  fakeCublasRecordOnly(1);
  fakeCublasLtRecordOnly(1);
  multiply(handle, 128, &zero, CUBLAS_GEMM_DEFAULT);
  multiply(handle, 64, &zero, CUBLAS_GEMM_DEFAULT);
  multiply(handle, 512, &zero, (cublasGemmAlgo_t)3);
  multiply(handle, 256, &one, CUBLAS_GEMM_DEFAULT);
  require(cublasSetSmCountTarget(handle, 66));
  require(cublasSgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 128, n, k, &one, memory, CUDA_R_16F, 128,
                        b, CUDA_R_16F, k, &zero, c, CUDA_R_32F, 128));
  require(cublasSetSmCountTarget(handle, 0));
  require(cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 128, n, k, &half_one, (uint16_t*)memory,
                      128, (uint16_t*)b, n, &half_zero, (uint16_t*)c, 128));
  require(cublasHgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 128, n, k, &half_one,
                                    (uint16_t*)memory, 128, 128 * k, (uint16_t*)b, k, k * n,
                                    &half_zero, (uint16_t*)c, 128, 128 * n, 2));
  require(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 128, n, k, &one, memory,
                                     CUDA_R_16BF, 128, 0, b, CUDA_R_16BF, k, k * n, &zero, c,
                                     CUDA_R_16BF, 128, 128 * n, 3, CUBLAS_COMPUTE_32F,
                                     CUBLAS_GEMM_DEFAULT));
  require(cublasGemmBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 128, n, k, &one,
                              (const void* const*)memory, CUDA_R_16BF, 128, (const void* const*)b,
                              CUDA_R_16BF, k, &zero, (void* const*)c, CUDA_R_16BF, 128, 2,
                              CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  const cublasLtMatmulAlgo_t algo = {{3, 1, 4096}};
  multiply_by_lt(handle, 128, CUBLASLT_ORDER_COL, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, &algo);
  multiply_by_lt(handle, 64, CUBLASLT_ORDER_ROW, CUBLASLT_EPILOGUE_DEFAULT, NULL);
  printf("%d products, %d of Lt\n", (int)fakeCublasLast().count, (int)fakeCublasLtLast().count);
  fflush(stdout);
  if (count > 1) pause();
  return 0;
}
