// SPDX-License-Identifier: Apache-2.0
// The C functions that make handles or take a product: as BLAS does, or by a bwgemmMatmulDesc_t.
// Each is a guard around steps that are done elsewhere.
#include "bwgemm/bwgemm.h"

#include <memory>
#include <string>

#include "api/guard.h"
#include "api/handle.h"
#include "api/options.h"
#include "api/preload.h"
#include "api/program.h"
#include "api/queries.h"
#include "api/validate.h"

namespace bwgemm {
namespace {

// One product, not a batch.
[[gnu::always_inline]] inline GemmArguments single(
    bwgemmOperation_t transa, bwgemmOperation_t transb, std::int64_t m, std::int64_t n,
    std::int64_t k, const void* alpha, const void* a, bwgemmDataType_t a_type, std::int64_t lda,
    const void* b, bwgemmDataType_t b_type, std::int64_t ldb, const void* beta, void* c,
    bwgemmDataType_t c_type, std::int64_t ldc,
    bwgemmComputeType_t compute_type = BWGEMM_COMPUTE_32F, int algo = -1) {
  return {transa, transb, m,    n, k,      alpha, a, a_type, lda,          0,   b, b_type,
          ldb,    0,      beta, c, c_type, ldc,   0, 1,      compute_type, algo};
}

[[gnu::always_inline]] inline bwgemmStatus_t gemm(const char* entry, bwgemmHandle_t handle,
                                                  const GemmArguments& given) {
  return guard(entry, [&] { multiply(checked(handle), arguments_of(given)); });
}

}  // namespace
}  // namespace bwgemm

using bwgemm::arguments_of;
using bwgemm::checked;
using bwgemm::explain_to;
using bwgemm::gemm;
using bwgemm::GemmArguments;
using bwgemm::guard;
using bwgemm::Handle;
using bwgemm::matmul_arguments;
using bwgemm::require;
using bwgemm::single;
using bwgemm::workspace_wanted;

const char* bwgemmGetLastErrorString(void) {
  return bwgemm::last_error_text();
}

bwgemmStatus_t bwgemmCreate(bwgemmHandle_t* handle) {
  return guard(__func__, [&] {
    require(handle != nullptr, "handle is null but will be written");
    const std::string path = bwgemm::option_value(bwgemm::Option::libcuda);
    *handle = publish(std::make_unique<Handle>(bwgemm::open_driver(path.c_str())));
  });
}

bwgemmStatus_t bwgemmDestroy(bwgemmHandle_t handle) {
  if (handle == nullptr) return BWGEMM_STATUS_SUCCESS;
  return guard(__func__, [&] { bwgemm::withdraw(handle)->close(); });
}

bwgemmStatus_t bwgemmGemmEx(bwgemmHandle_t handle, bwgemmOperation_t transa,
                            bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                            const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda,
                            const void* B, bwgemmDataType_t Btype, int64_t ldb, const void* beta,
                            void* C, bwgemmDataType_t Ctype, int64_t ldc,
                            bwgemmComputeType_t computeType, int algo) {
  return gemm(__func__, handle,
              single(transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,
                     ldc, computeType, algo));
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
  GemmArguments given = single(transa, transb, m, n, k, alpha, Aarray, Atype, lda, Barray, Btype,
                               ldb, beta, c, Ctype, ldc, computeType, algo);
  given.batch_count = batchCount, given.batch_mode = BWGEMM_BATCH_MODE_POINTER_ARRAY;
  return gemm(__func__, handle, given);
}

bwgemmStatus_t bwgemmBf16(bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb,
                          int64_t m, int64_t n, int64_t k, const float* alpha, const void* A,
                          int64_t lda, const void* B, int64_t ldb, const float* beta, void* C,
                          int64_t ldc) {
  constexpr bwgemmDataType_t type = BWGEMM_R_16BF;
  return gemm(
      __func__, handle,
      single(transa, transb, m, n, k, alpha, A, type, lda, B, type, ldb, beta, C, type, ldc));
}

bwgemmStatus_t bwgemmF16(bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb,
                         int64_t m, int64_t n, int64_t k, const float* alpha, const void* A,
                         int64_t lda, const void* B, int64_t ldb, const float* beta, void* C,
                         int64_t ldc) {
  constexpr bwgemmDataType_t type = BWGEMM_R_16F;
  return gemm(
      __func__, handle,
      single(transa, transb, m, n, k, alpha, A, type, lda, B, type, ldb, beta, C, type, ldc));
}

bwgemmStatus_t bwgemmGetWorkspaceSize(bwgemmHandle_t handle, bwgemmOperation_t transa,
                                      bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                                      const void* alpha, const void* A, bwgemmDataType_t Atype,
                                      int64_t lda, const void* B, bwgemmDataType_t Btype,
                                      int64_t ldb, const void* beta, void* C,
                                      bwgemmDataType_t Ctype, int64_t ldc,
                                      bwgemmComputeType_t computeType, int algo, size_t* size) {
  return guard(__func__, [&] {
    const GemmArguments arguments = single(transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype,
                                           ldb, beta, C, Ctype, ldc, computeType, algo);
    const std::size_t wanted = workspace_wanted(handle, arguments_of(arguments));
    require(size != nullptr, "size is null but will be written");
    *size = wanted;
  });
}

bwgemmStatus_t bwgemmExplain(bwgemmHandle_t handle, bwgemmOperation_t transa,
                             bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                             const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda,
                             const void* B, bwgemmDataType_t Btype, int64_t ldb, const void* beta,
                             void* C, bwgemmDataType_t Ctype, int64_t ldc,
                             bwgemmComputeType_t computeType, int algo, char* text, size_t size) {
  return guard(__func__, [&] {
    const GemmArguments arguments = single(transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype,
                                           ldb, beta, C, Ctype, ldc, computeType, algo);
    explain_to(handle, arguments_of(arguments), text, size);
  });
}

bwgemmStatus_t bwgemmMatmul(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc,
                            const void* alpha, const void* A, const void* B, const void* beta,
                            const void* C, void* D) {
  return guard(__func__,
               [&] { multiply(checked(handle), matmul_arguments(desc, alpha, A, B, beta, C, D)); });
}

bwgemmStatus_t bwgemmMatmulGetWorkspaceSize(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc,
                                            const void* alpha, const void* A, const void* B,
                                            const void* beta, const void* C, void* D,
                                            size_t* size) {
  return guard(__func__, [&] {
    const std::size_t wanted =
        workspace_wanted(handle, matmul_arguments(desc, alpha, A, B, beta, C, D));
    require(size != nullptr, "size is null but will be written");
    *size = wanted;
  });
}

bwgemmStatus_t bwgemmMatmulExplain(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc,
                                   const void* alpha, const void* A, const void* B,
                                   const void* beta, const void* C, void* D, char* text,
                                   size_t size) {
  return guard(__func__, [&] {
    explain_to(handle, matmul_arguments(desc, alpha, A, B, beta, C, D), text, size);
  });
}

bwgemmStatus_t bwgemmPreload(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc) {
  return guard(__func__, [&] {
    if (desc == nullptr)
      preload_all(checked(handle));
    else
      preload(checked(handle), *desc);
  });
}
