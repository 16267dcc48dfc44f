// SPDX-License-Identifier: Apache-2.0
// The C functions that make handles, take a product by a bwgemmMatmulDesc_t, or ask about one.
// Those that take it as cuBLAS does are in gemm.cpp.
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

using bwgemm::arguments_of;
using bwgemm::checked;
using bwgemm::explain_to;
using bwgemm::GemmArguments;
using bwgemm::guard;
using bwgemm::Handle;
using bwgemm::matmul_arguments;
using bwgemm::require;
using bwgemm::workspace_to;

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

bwgemmStatus_t bwgemmGetWorkspaceSize(bwgemmHandle_t handle, bwgemmOperation_t transa,
                                      bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                                      const void* alpha, const void* A, bwgemmDataType_t Atype,
                                      int64_t lda, const void* B, bwgemmDataType_t Btype,
                                      int64_t ldb, const void* beta, void* C,
                                      bwgemmDataType_t Ctype, int64_t ldc,
                                      bwgemmComputeType_t computeType, int algo, size_t* size) {
  return guard(__func__, [&] {
    const GemmArguments arguments{transa, transb, m, n,     k,           alpha, A,    Atype,
                                  lda,    0,      B, Btype, ldb,         0,     beta, C,
                                  Ctype,  ldc,    0, 1,     computeType, algo};
    workspace_to(handle, arguments_of(arguments), size);
  });
}

bwgemmStatus_t bwgemmExplain(bwgemmHandle_t handle, bwgemmOperation_t transa,
                             bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                             const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda,
                             const void* B, bwgemmDataType_t Btype, int64_t ldb, const void* beta,
                             void* C, bwgemmDataType_t Ctype, int64_t ldc,
                             bwgemmComputeType_t computeType, int algo, char* text, size_t size) {
  return guard(__func__, [&] {
    const GemmArguments arguments{transa, transb, m, n,     k,           alpha, A,    Atype,
                                  lda,    0,      B, Btype, ldb,         0,     beta, C,
                                  Ctype,  ldc,    0, 1,     computeType, algo};
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
    workspace_to(handle, matmul_arguments(desc, alpha, A, B, beta, C, D), size);
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
