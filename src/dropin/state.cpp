// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLAS that create or destroy handles, or change the workspace, which has no
// getter. cuBLAS comes first; what it refuses changes nothing here. Only a handle is forgotten
// before cuBLAS destroys it.
#include "dropin/cublas.h"
#include "dropin/fork.h"
#include "dropin/handles.h"

namespace {

using bwgemm::dropin::add_handle;
using bwgemm::dropin::call_real;
using bwgemm::dropin::Cublas;
using bwgemm::dropin::cublas_for;
using bwgemm::dropin::cublas_of;
using bwgemm::dropin::find_handle;
using bwgemm::dropin::fork_count;
using bwgemm::dropin::Handle;
using bwgemm::dropin::Inside;
using bwgemm::dropin::remove_handle;

void set_workspace(Handle* handle, void* workspace, std::size_t size) {
  if (handle == nullptr || handle->forks != fork_count()) return;
  const std::lock_guard lock(handle->mutex);
  handle->workspace = workspace;
  handle->workspace_size = size;
}

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  const Cublas* const cublas = cublas_of(__builtin_return_address(0));
  if (cublas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool is_own = Inside::now();
  const cublasStatus_t status = call_real(cublas->create, handle);
  if (status == CUBLAS_STATUS_SUCCESS && !is_own) add_handle(*handle, cublas);
  return status;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  const Cublas* const cublas = cublas_for(find_handle(handle), __builtin_return_address(0));
  if (cublas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  remove_handle(handle);
  return call_real(cublas->destroy, handle);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t size) {
  Handle* const known = find_handle(handle);
  const Cublas* const cublas = cublas_for(known, __builtin_return_address(0));
  if (cublas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cublasStatus_t status = call_real(cublas->set_workspace, handle, workspace, size);
  if (status == CUBLAS_STATUS_SUCCESS) set_workspace(known, workspace, size);
  return status;
}

// Gives the handle cuBLAS's own workspace, as its documentation says.
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  Handle* const known = find_handle(handle);
  const Cublas* const cublas = cublas_for(known, __builtin_return_address(0));
  if (cublas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cublasStatus_t status = call_real(cublas->set_stream, handle, stream);
  if (status == CUBLAS_STATUS_SUCCESS) set_workspace(known, nullptr, 0);
  return status;
}
