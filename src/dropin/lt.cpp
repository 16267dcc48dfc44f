// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLASLt that this library stands in front of. A handle of cuBLAS is one of
// cuBLASLt too, so that both lie in one table.
#include "dropin/cublas.h"
#include "dropin/dispatch.h"
#include "dropin/handles.h"
#include "dropin/lt_read.h"

namespace {

using bwgemm::dropin::add_handle;
using bwgemm::dropin::call_real;
using bwgemm::dropin::Cublas;
using bwgemm::dropin::cublas_around;
using bwgemm::dropin::cublaslt_of;
using bwgemm::dropin::dispatch_lt;
using bwgemm::dropin::find_handle;
using bwgemm::dropin::Handle;
using bwgemm::dropin::Inside;
using bwgemm::dropin::LtArguments;
using bwgemm::dropin::RealCall;
using bwgemm::dropin::remove_handle;

cublasHandle_t key_of(cublasLtHandle_t handle) {
  return reinterpret_cast<cublasHandle_t>(handle);
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* lightHandle) {
  const void* const caller = __builtin_return_address(0);
  const Cublas* const around = cublas_around(caller);
  const Cublas* const cublas = around != nullptr ? around : cublaslt_of(caller);
  if (cublas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool is_own = Inside::now() || around != nullptr;
  const cublasStatus_t status = call_real(cublas->lt_create, lightHandle);
  if (status == CUBLAS_STATUS_SUCCESS && !is_own) add_handle(key_of(*lightHandle), cublas);
  return status;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle) {
  const Handle* const known = find_handle(key_of(lightHandle));
  const Cublas* const cublas =
      known != nullptr ? known->cublas : cublaslt_of(__builtin_return_address(0));
  if (cublas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  remove_handle(key_of(lightHandle));
  return call_real(cublas->lt_destroy, lightHandle);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
                              const void* alpha, const void* A, cublasLtMatrixLayout_t Adesc,
                              const void* B, cublasLtMatrixLayout_t Bdesc, const void* beta,
                              const void* C, cublasLtMatrixLayout_t Cdesc, void* D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspaceSizeInBytes, cudaStream_t stream) {
  const LtArguments arguments{
      lightHandle, computeDesc,          alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc, algo,
      workspace,   workspaceSizeInBytes, stream};
  const auto real = [&](const Cublas& cublas) {
    return call_real(cublas.lt_matmul, lightHandle, computeDesc, alpha, A, Adesc, B, Bdesc, beta, C,
                     Cdesc, D, Ddesc, algo, workspace, workspaceSizeInBytes, stream);
  };
  return dispatch_lt(arguments, __builtin_return_address(0), RealCall(real));
}
