// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLAS that this library stands in front of: products. Each makes a Call of its
// arguments, and gives cuBLAS's own function the very same ones.
#include "dropin/call.h"
#include "dropin/cublas.h"
#include "dropin/dispatch.h"
#include "dropin/handles.h"
#include "dropin/settings.h"

namespace {

using bwgemm::dropin::Call;
using bwgemm::dropin::call_real;
using bwgemm::dropin::Cublas;
using bwgemm::dropin::cublas_for;
using bwgemm::dropin::dispatch;
using bwgemm::dropin::Entry;
using bwgemm::dropin::find_handle;
using bwgemm::dropin::is_off;
using bwgemm::dropin::Operand;
using bwgemm::dropin::RealCall;

Call product(Entry entry, cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
             std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* beta,
             const Operand& a, const Operand& b, const Operand& c, std::int64_t batch,
             cublasComputeType_t compute, cublasGemmAlgo_t algo) {
  return {entry, handle, transa, transb, m, n, k, alpha, beta, a, b, c, batch, compute, algo};
}

// `function`: cuBLAS's own, a member of Cublas. `call` makes the Call, if anybody looks at it.
// `caller`: as dispatch() takes it.
template <auto function, class Make, class... Arguments>
cublasStatus_t serve(const Make& call, const void* caller, cublasHandle_t handle,
                     Arguments... arguments) {
  if (is_off()) [[unlikely]] {
    const Cublas* const cublas = cublas_for(find_handle(handle), caller);
    const auto real = cublas != nullptr ? cublas->*function : nullptr;
    return real != nullptr ? real(handle, arguments...) : CUBLAS_STATUS_NOT_INITIALIZED;
  }
  const auto real = [&](const Cublas& cublas) {
    return call_real(cublas.*function, handle, arguments...);
  };
  return dispatch(call(), caller, RealCall(real));
}

}  // namespace

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void* alpha,
                            const void* A, cudaDataType Atype, int lda, const void* B,
                            cudaDataType Btype, int ldb, const void* beta, void* C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
                            cublasGemmAlgo_t algo) {
  const auto call = [=] {
    return product(Entry::gemm_ex, handle, transa, transb, m, n, k, alpha, beta, {A, Atype, lda, 0},
                   {B, Btype, ldb, 0}, {C, Ctype, ldc, 0}, 1, computeType, algo);
  };
  return serve<&Cublas::gemm_ex>(call, __builtin_return_address(0), handle, transa, transb, m, n, k,
                                 alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc,
                                 computeType, algo);
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                               cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                               const void* alpha, const void* A, cudaDataType Atype, int64_t lda,
                               const void* B, cudaDataType Btype, int64_t ldb, const void* beta,
                               void* C, cudaDataType Ctype, int64_t ldc,
                               cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  const auto call = [=] {
    return product(Entry::gemm_ex, handle, transa, transb, m, n, k, alpha, beta, {A, Atype, lda, 0},
                   {B, Btype, ldb, 0}, {C, Ctype, ldc, 0}, 1, computeType, algo);
  };
  return serve<&Cublas::gemm_ex_64>(call, __builtin_return_address(0), handle, transa, transb, m, n,
                                    k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc,
                                    computeType, algo);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* A, cudaDataType Atype,
                                          int lda, long long int strideA, const void* B,
                                          cudaDataType Btype, int ldb, long long int strideB,
                                          const void* beta, void* C, cudaDataType Ctype, int ldc,
                                          long long int strideC, int batchCount,
                                          cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  const auto call = [=] {
    return product(Entry::gemm_strided_batched_ex, handle, transa, transb, m, n, k, alpha, beta,
                   {A, Atype, lda, strideA}, {B, Btype, ldb, strideB}, {C, Ctype, ldc, strideC},
                   batchCount, computeType, algo);
  };
  return serve<&Cublas::gemm_strided_batched_ex>(
      call, __builtin_return_address(0), handle, transa, transb, m, n, k, alpha, A, Atype, lda,
      strideA, B, Btype, ldb, strideB, beta, C, Ctype, ldc, strideC, batchCount, computeType, algo);
}

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* A, cudaDataType Atype, int64_t lda,
    long long int strideA, const void* B, cudaDataType Btype, int64_t ldb, long long int strideB,
    const void* beta, void* C, cudaDataType Ctype, int64_t ldc, long long int strideC,
    int64_t batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  const auto call = [=] {
    return product(Entry::gemm_strided_batched_ex, handle, transa, transb, m, n, k, alpha, beta,
                   {A, Atype, lda, strideA}, {B, Btype, ldb, strideB}, {C, Ctype, ldc, strideC},
                   batchCount, computeType, algo);
  };
  return serve<&Cublas::gemm_strided_batched_ex_64>(
      call, __builtin_return_address(0), handle, transa, transb, m, n, k, alpha, A, Atype, lda,
      strideA, B, Btype, ldb, strideB, beta, C, Ctype, ldc, strideC, batchCount, computeType, algo);
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* const Aarray[], cudaDataType Atype, int lda,
                                   const void* const Barray[], cudaDataType Btype, int ldb,
                                   const void* beta, void* const Carray[], cudaDataType Ctype,
                                   int ldc, int batchCount, cublasComputeType_t computeType,
                                   cublasGemmAlgo_t algo) {
  const auto call = [=] {
    return product(Entry::gemm_batched_ex, handle, transa, transb, m, n, k, alpha, beta,
                   {Aarray, Atype, lda, 0}, {Barray, Btype, ldb, 0}, {Carray, Ctype, ldc, 0},
                   batchCount, computeType, algo);
  };
  return serve<&Cublas::gemm_batched_ex>(call, __builtin_return_address(0), handle, transa, transb,
                                         m, n, k, alpha, Aarray, Atype, lda, Barray, Btype, ldb,
                                         beta, Carray, Ctype, ldc, batchCount, computeType, algo);
}

cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                      cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                      const void* alpha, const void* const Aarray[],
                                      cudaDataType Atype, int64_t lda, const void* const Barray[],
                                      cudaDataType Btype, int64_t ldb, const void* beta,
                                      void* const Carray[], cudaDataType Ctype, int64_t ldc,
                                      int64_t batchCount, cublasComputeType_t computeType,
                                      cublasGemmAlgo_t algo) {
  const auto call = [=] {
    return product(Entry::gemm_batched_ex, handle, transa, transb, m, n, k, alpha, beta,
                   {Aarray, Atype, lda, 0}, {Barray, Btype, ldb, 0}, {Carray, Ctype, ldc, 0},
                   batchCount, computeType, algo);
  };
  return serve<&Cublas::gemm_batched_ex_64>(
      call, __builtin_return_address(0), handle, transa, transb, m, n, k, alpha, Aarray, Atype, lda,
      Barray, Btype, ldb, beta, Carray, Ctype, ldc, batchCount, computeType, algo);
}

cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const uint16_t* alpha,
                           const uint16_t* A, int lda, const uint16_t* B, int ldb,
                           const uint16_t* beta, uint16_t* C, int ldc) {
  const auto call = [=] {
    return product(Entry::hgemm, handle, transa, transb, m, n, k, alpha, beta,
                   {A, CUDA_R_16F, lda, 0}, {B, CUDA_R_16F, ldb, 0}, {C, CUDA_R_16F, ldc, 0}, 1,
                   CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
  };
  return serve<&Cublas::hgemm>(call, __builtin_return_address(0), handle, transa, transb, m, n, k,
                               alpha, A, lda, B, ldb, beta, C, ldc);
}

cublasStatus_t cublasHgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                              const uint16_t* alpha, const uint16_t* A, int64_t lda,
                              const uint16_t* B, int64_t ldb, const uint16_t* beta, uint16_t* C,
                              int64_t ldc) {
  const auto call = [=] {
    return product(Entry::hgemm, handle, transa, transb, m, n, k, alpha, beta,
                   {A, CUDA_R_16F, lda, 0}, {B, CUDA_R_16F, ldb, 0}, {C, CUDA_R_16F, ldc, 0}, 1,
                   CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
  };
  return serve<&Cublas::hgemm_64>(call, __builtin_return_address(0), handle, transa, transb, m, n,
                                  k, alpha, A, lda, B, ldb, beta, C, ldc);
}

cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const uint16_t* alpha, const uint16_t* A, int lda,
                                         long long int strideA, const uint16_t* B, int ldb,
                                         long long int strideB, const uint16_t* beta, uint16_t* C,
                                         int ldc, long long int strideC, int batchCount) {
  const auto call = [=] {
    return product(Entry::hgemm_strided_batched, handle, transa, transb, m, n, k, alpha, beta,
                   {A, CUDA_R_16F, lda, strideA}, {B, CUDA_R_16F, ldb, strideB},
                   {C, CUDA_R_16F, ldc, strideC}, batchCount, CUBLAS_COMPUTE_16F,
                   CUBLAS_GEMM_DEFAULT);
  };
  return serve<&Cublas::hgemm_strided_batched>(call, __builtin_return_address(0), handle, transa,
                                               transb, m, n, k, alpha, A, lda, strideA, B, ldb,
                                               strideB, beta, C, ldc, strideC, batchCount);
}

cublasStatus_t cublasHgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t transa,
                                            cublasOperation_t transb, int64_t m, int64_t n,
                                            int64_t k, const uint16_t* alpha, const uint16_t* A,
                                            int64_t lda, long long int strideA, const uint16_t* B,
                                            int64_t ldb, long long int strideB,
                                            const uint16_t* beta, uint16_t* C, int64_t ldc,
                                            long long int strideC, int64_t batchCount) {
  const auto call = [=] {
    return product(Entry::hgemm_strided_batched, handle, transa, transb, m, n, k, alpha, beta,
                   {A, CUDA_R_16F, lda, strideA}, {B, CUDA_R_16F, ldb, strideB},
                   {C, CUDA_R_16F, ldc, strideC}, batchCount, CUBLAS_COMPUTE_16F,
                   CUBLAS_GEMM_DEFAULT);
  };
  return serve<&Cublas::hgemm_strided_batched_64>(call, __builtin_return_address(0), handle, transa,
                                                  transb, m, n, k, alpha, A, lda, strideA, B, ldb,
                                                  strideB, beta, C, ldc, strideC, batchCount);
}

cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa,
                             cublasOperation_t transb, int m, int n, int k, const float* alpha,
                             const void* A, cudaDataType Atype, int lda, const void* B,
                             cudaDataType Btype, int ldb, const float* beta, void* C,
                             cudaDataType Ctype, int ldc) {
  const auto call = [=] {
    return product(Entry::sgemm_ex, handle, transa, transb, m, n, k, alpha, beta,
                   {A, Atype, lda, 0}, {B, Btype, ldb, 0}, {C, Ctype, ldc, 0}, 1,
                   CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  };
  return serve<&Cublas::sgemm_ex>(call, __builtin_return_address(0), handle, transa, transb, m, n,
                                  k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc);
}

cublasStatus_t cublasSgemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                const float* alpha, const void* A, cudaDataType Atype, int64_t lda,
                                const void* B, cudaDataType Btype, int64_t ldb, const float* beta,
                                void* C, cudaDataType Ctype, int64_t ldc) {
  const auto call = [=] {
    return product(Entry::sgemm_ex, handle, transa, transb, m, n, k, alpha, beta,
                   {A, Atype, lda, 0}, {B, Btype, ldb, 0}, {C, Ctype, ldc, 0}, 1,
                   CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  };
  return serve<&Cublas::sgemm_ex_64>(call, __builtin_return_address(0), handle, transa, transb, m,
                                     n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,
                                     ldc);
}
