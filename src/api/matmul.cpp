// SPDX-License-Identifier: Apache-2.0
// The C functions that take a bwgemmMatmulDesc_t.
#include "api/guard.h"
#include "api/multiply.h"
#include "api/preload.h"
#include "api/queries.h"
#include "api/rules.h"

using bwgemm::checked;
using bwgemm::explain_to;
using bwgemm::guard;
using bwgemm::matmul_arguments;
using bwgemm::require;
using bwgemm::workspace_wanted;

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
