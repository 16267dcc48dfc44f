// SPDX-License-Identifier: Apache-2.0
// The products of the double of cuBLAS: each hands its arguments on.
#include "dropin/fake_product.h"

using bwgemm::test::product;

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void* alpha,
                            const void* A, cudaDataType Atype, int lda, const void* B,
                            cudaDataType Btype, int ldb, const void* beta, void* C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
                            cublasGemmAlgo_t algo) {
  return product(handle, "cublasGemmEx", {transa, transb, m, n, k, 1, computeType, algo}, alpha,
                 {A, Atype, lda, 0}, {B, Btype, ldb, 0}, beta, {C, Ctype, ldc, 0});
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                               cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                               const void* alpha, const void* A, cudaDataType Atype, int64_t lda,
                               const void* B, cudaDataType Btype, int64_t ldb, const void* beta,
                               void* C, cudaDataType Ctype, int64_t ldc,
                               cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  return product(handle, "cublasGemmEx_64", {transa, transb, m, n, k, 1, computeType, algo}, alpha,
                 {A, Atype, lda, 0}, {B, Btype, ldb, 0}, beta, {C, Ctype, ldc, 0});
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* A, cudaDataType Atype,
                                          int lda, long long int strideA, const void* B,
                                          cudaDataType Btype, int ldb, long long int strideB,
                                          const void* beta, void* C, cudaDataType Ctype, int ldc,
                                          long long int strideC, int batchCount,
                                          cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  if (bwgemm::test::calls_out())
    return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta,
                        C, Ctype, ldc, computeType, CUBLAS_GEMM_DEFAULT);
  return product(handle, "cublasGemmStridedBatchedEx",
                 {transa, transb, m, n, k, batchCount, computeType, algo}, alpha,
                 {A, Atype, lda, strideA}, {B, Btype, ldb, strideB}, beta,
                 {C, Ctype, ldc, strideC});
}

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* A, cudaDataType Atype, int64_t lda,
    long long int strideA, const void* B, cudaDataType Btype, int64_t ldb, long long int strideB,
    const void* beta, void* C, cudaDataType Ctype, int64_t ldc, long long int strideC,
    int64_t batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  if (bwgemm::test::calls_out())
    return cublasGemmEx_64(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb,
                           beta, C, Ctype, ldc, computeType, CUBLAS_GEMM_DEFAULT);
  return product(handle, "cublasGemmStridedBatchedEx_64",
                 {transa, transb, m, n, k, batchCount, computeType, algo}, alpha,
                 {A, Atype, lda, strideA}, {B, Btype, ldb, strideB}, beta,
                 {C, Ctype, ldc, strideC});
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* const Aarray[], cudaDataType Atype, int lda,
                                   const void* const Barray[], cudaDataType Btype, int ldb,
                                   const void* beta, void* const Carray[], cudaDataType Ctype,
                                   int ldc, int batchCount, cublasComputeType_t computeType,
                                   cublasGemmAlgo_t algo) {
  return product(handle, "cublasGemmBatchedEx",
                 {transa, transb, m, n, k, batchCount, computeType, algo}, alpha,
                 {Aarray, Atype, lda, 0}, {Barray, Btype, ldb, 0}, beta, {Carray, Ctype, ldc, 0});
}

cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                      cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                      const void* alpha, const void* const Aarray[],
                                      cudaDataType Atype, int64_t lda, const void* const Barray[],
                                      cudaDataType Btype, int64_t ldb, const void* beta,
                                      void* const Carray[], cudaDataType Ctype, int64_t ldc,
                                      int64_t batchCount, cublasComputeType_t computeType,
                                      cublasGemmAlgo_t algo) {
  return product(handle, "cublasGemmBatchedEx_64",
                 {transa, transb, m, n, k, batchCount, computeType, algo}, alpha,
                 {Aarray, Atype, lda, 0}, {Barray, Btype, ldb, 0}, beta, {Carray, Ctype, ldc, 0});
}

cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const uint16_t* alpha,
                           const uint16_t* A, int lda, const uint16_t* B, int ldb,
                           const uint16_t* beta, uint16_t* C, int ldc) {
  return product(handle, "cublasHgemm",
                 {transa, transb, m, n, k, 1, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT}, alpha,
                 {A, CUDA_R_16F, lda, 0}, {B, CUDA_R_16F, ldb, 0}, beta, {C, CUDA_R_16F, ldc, 0});
}

cublasStatus_t cublasHgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                              const uint16_t* alpha, const uint16_t* A, int64_t lda,
                              const uint16_t* B, int64_t ldb, const uint16_t* beta, uint16_t* C,
                              int64_t ldc) {
  return product(handle, "cublasHgemm_64",
                 {transa, transb, m, n, k, 1, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT}, alpha,
                 {A, CUDA_R_16F, lda, 0}, {B, CUDA_R_16F, ldb, 0}, beta, {C, CUDA_R_16F, ldc, 0});
}

cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const uint16_t* alpha, const uint16_t* A, int lda,
                                         long long int strideA, const uint16_t* B, int ldb,
                                         long long int strideB, const uint16_t* beta, uint16_t* C,
                                         int ldc, long long int strideC, int batchCount) {
  return product(handle, "cublasHgemmStridedBatched",
                 {transa, transb, m, n, k, batchCount, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT},
                 alpha, {A, CUDA_R_16F, lda, strideA}, {B, CUDA_R_16F, ldb, strideB}, beta,
                 {C, CUDA_R_16F, ldc, strideC});
}

cublasStatus_t cublasHgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t transa,
                                            cublasOperation_t transb, int64_t m, int64_t n,
                                            int64_t k, const uint16_t* alpha, const uint16_t* A,
                                            int64_t lda, long long int strideA, const uint16_t* B,
                                            int64_t ldb, long long int strideB,
                                            const uint16_t* beta, uint16_t* C, int64_t ldc,
                                            long long int strideC, int64_t batchCount) {
  return product(handle, "cublasHgemmStridedBatched_64",
                 {transa, transb, m, n, k, batchCount, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT},
                 alpha, {A, CUDA_R_16F, lda, strideA}, {B, CUDA_R_16F, ldb, strideB}, beta,
                 {C, CUDA_R_16F, ldc, strideC});
}

cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa,
                             cublasOperation_t transb, int m, int n, int k, const float* alpha,
                             const void* A, cudaDataType Atype, int lda, const void* B,
                             cudaDataType Btype, int ldb, const float* beta, void* C,
                             cudaDataType Ctype, int ldc) {
  return product(handle, "cublasSgemmEx",
                 {transa, transb, m, n, k, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT}, alpha,
                 {A, Atype, lda, 0}, {B, Btype, ldb, 0}, beta, {C, Ctype, ldc, 0});
}

cublasStatus_t cublasSgemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                const float* alpha, const void* A, cudaDataType Atype, int64_t lda,
                                const void* B, cudaDataType Btype, int64_t ldb, const float* beta,
                                void* C, cudaDataType Ctype, int64_t ldc) {
  return product(handle, "cublasSgemmEx_64",
                 {transa, transb, m, n, k, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT}, alpha,
                 {A, Atype, lda, 0}, {B, Btype, ldb, 0}, beta, {C, Ctype, ldc, 0});
}
