// SPDX-License-Identifier: Apache-2.0
// The C functions that take a product as cuBLAS does, parameter by parameter.
#include "api/guard.h"
#include "api/handle.h"
#include "api/program.h"
#include "bwgemm/bwgemm.h"

namespace bwgemm {
namespace {

[[gnu::always_inline]] inline bwgemmStatus_t gemm(const char* entry, bwgemmHandle_t handle,
                                                  const GemmArguments& given) {
  return guard(entry, [&] { multiply(checked(handle), arguments_of(given)); });
}

}  // namespace
}  // namespace bwgemm

using bwgemm::gemm;
using bwgemm::GemmArguments;

bwgemmStatus_t bwgemmGemmEx(bwgemmHandle_t handle, bwgemmOperation_t transa,
                            bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                            const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda,
                            const void* B, bwgemmDataType_t Btype, int64_t ldb, const void* beta,
                            void* C, bwgemmDataType_t Ctype, int64_t ldc,
                            bwgemmComputeType_t computeType, int algo) {
  return gemm(__func__, handle,
              {transa, transb, m, n,    k, alpha, A,   Atype, lda, 0,           B,
               Btype,  ldb,    0, beta, C, Ctype, ldc, 0,     1,   computeType, algo});
}

bwgemmStatus_t bwgemmGemmStridedBatchedEx(bwgemmHandle_t handle, bwgemmOperation_t transa,
                                          bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                                          const void* alpha, const void* A, bwgemmDataType_t Atype,
                                          int64_t lda, int64_t strideA, const void* B,
                                          bwgemmDataType_t Btype, int64_t ldb, int64_t strideB,
                                          const void* beta, void* C, bwgemmDataType_t Ctype,
                                          int64_t ldc, int64_t strideC, int64_t batchCount,
                                          bwgemmComputeType_t computeType, int algo) {
  return gemm(
      __func__, handle,
      {transa, transb, m,       n,    k, alpha, A,   Atype,   lda,        strideA,     B,
       Btype,  ldb,    strideB, beta, C, Ctype, ldc, strideC, batchCount, computeType, algo});
}

bwgemmStatus_t bwgemmGemmBatchedEx(bwgemmHandle_t handle, bwgemmOperation_t transa,
                                   bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                                   const void* alpha, const void* const Aarray[],
                                   bwgemmDataType_t Atype, int64_t lda, const void* const Barray[],
                                   bwgemmDataType_t Btype, int64_t ldb, const void* beta,
                                   void* const Carray[], bwgemmDataType_t Ctype, int64_t ldc,
                                   int64_t batchCount, bwgemmComputeType_t computeType, int algo) {
  // The array is read, the matrices are written.
  void* const c = const_cast<void**>(Carray);
  GemmArguments given{transa, transb, m,      n,          k,           alpha, Aarray, Atype,
                      lda,    0,      Barray, Btype,      ldb,         0,     beta,   c,
                      Ctype,  ldc,    0,      batchCount, computeType, algo};
  given.batch_mode = BWGEMM_BATCH_MODE_POINTER_ARRAY;
  return gemm(__func__, handle, given);
}

bwgemmStatus_t bwgemmBf16(bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb,
                          int64_t m, int64_t n, int64_t k, const float* alpha, const void* A,
                          int64_t lda, const void* B, int64_t ldb, const float* beta, void* C,
                          int64_t ldc) {
  constexpr bwgemmDataType_t type = BWGEMM_R_16BF;
  return gemm(__func__, handle, {transa, transb, m,   n, k,    alpha, A,    type, lda, 0,
                                 B,      type,   ldb, 0, beta, C,     type, ldc,  0,   1});
}

bwgemmStatus_t bwgemmF16(bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb,
                         int64_t m, int64_t n, int64_t k, const float* alpha, const void* A,
                         int64_t lda, const void* B, int64_t ldb, const float* beta, void* C,
                         int64_t ldc) {
  constexpr bwgemmDataType_t type = BWGEMM_R_16F;
  return gemm(__func__, handle, {transa, transb, m,   n, k,    alpha, A,    type, lda, 0,
                                 B,      type,   ldb, 0, beta, C,     type, ldc,  0,   1});
}
