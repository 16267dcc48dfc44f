// SPDX-License-Identifier: Apache-2.0
// The double of cuBLAS: see fake_cublas.h. Of handles it checks no more than that they exist, and
// of arguments leading dimensions, which cuBLAS refuses too.
#include "dropin/fake_cublas.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <pthread.h>
#include <set>

#include "dropin/fake_cublaslt.h"
#include "dropin/fake_multiply.h"
#include "dropin/fake_operand.h"
#include "dropin/fake_product.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
};

namespace {

constexpr auto invalid_value = static_cast<cublasStatus_t>(7);

std::mutex mutex;
std::set<cublasHandle_t> handles;
FakeProduct last{};
double error = 0;
bool records_only = false, does_call_out = false, does_call_lt = false;

// Free in a child, whoever held it in the parent.
[[maybe_unused]] const int at_fork =
    pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });

bool exists(cublasHandle_t handle) {
  const std::lock_guard lock(mutex);
  return handles.count(handle) > 0;
}

// Calls `change` with a handle that exists.
template <class Change>
cublasStatus_t with(cublasHandle_t handle, Change change) {
  if (!exists(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  change(*handle);
  return CUBLAS_STATUS_SUCCESS;
}

bool is_legal(const FakeProduct& call) {
  const std::int64_t one = 1;
  return call.m >= 0 && call.n >= 0 && call.k >= 0 &&
         call.lda >= std::max(one, call.transa != CUBLAS_OP_N ? call.k : call.m) &&
         call.ldb >= std::max(one, call.transb != CUBLAS_OP_N ? call.n : call.k) &&
         call.ldc >= std::max(one, call.m);
}

}  // namespace

namespace bwgemm::test {

bool calls_out() {
  return does_call_out;
}

cublasStatus_t product(cublasHandle_t handle, const char* function, const FakeSizes& sizes,
                       const void* alpha, const FakeOperand& a, const FakeOperand& b,
                       const void* beta, const FakeOperand& c) {
  if (!exists(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (does_call_lt) fakeCublasMultiplyByLt(handle);
  const std::lock_guard lock(mutex);
  last = {function,    sizes.transa, sizes.transb, sizes.m,  sizes.n,       sizes.k,
          a.ld,        b.ld,         c.ld,         a.stride, b.stride,      c.stride,
          sizes.batch, a.type,       b.type,       c.type,   sizes.compute, sizes.algo,
          alpha,       a.data,       b.data,       beta,     c.data,        last.count + 1};
  if (!is_legal(last)) return invalid_value;
  const bool has_device_scalars = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  if (handle->sm_count_target != 0 && !records_only) spends(last.m, handle->stream);  // slower
  if (!records_only) multiply(last, handle->stream, has_device_scalars, error);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace bwgemm::test

FakeProduct fakeCublasLast() {
  const std::lock_guard lock(mutex);
  return last;
}

void fakeCublasRecordOnly(int only) {
  records_only = only != 0;
}

void fakeCublasAdd(double added) {
  error = added;
}

void fakeCublasCallsOut(int does) {
  does_call_out = does != 0;
}

void fakeCublasCallsLt(int does) {
  does_call_lt = does != 0;
}

cublasStatus_t fakeCublasMultiplyByLt(cublasHandle_t handle) {
  const float one = 1, zero = 0;
  auto* const memory = reinterpret_cast<char*>(0x7f0000000000);
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&layout, CUDA_R_16BF, 64, 64, 64);
  const cublasStatus_t status = cublasLtMatmul(
      reinterpret_cast<cublasLtHandle_t>(handle), desc, &one, memory, layout, memory + 8192, layout,
      &zero, memory + 16384, layout, memory + 16384, layout, nullptr, nullptr, 0, nullptr);
  cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(desc);
  return status;
}

void fakeCublasReset() {
  last = {};
  error = 0;
  records_only = does_call_out = does_call_lt = false;
}

int fakeCublasHandles() {
  const std::lock_guard lock(mutex);
  return static_cast<int>(handles.size());
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  const std::lock_guard lock(mutex);
  *handle = new cublasContext;
  handles.insert(*handle);
  fakeCublasLtKnow(*handle, 1);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  const std::lock_guard lock(mutex);
  if (handles.erase(handle) == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  fakeCublasLtKnow(handle, 0);
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void*, size_t) {
  return with(handle, [](cublasContext&) {});
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return with(handle, [=](cublasContext& state) { state.stream = stream; });
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return with(handle, [=](cublasContext& state) { *stream = state.stream; });
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return with(handle, [=](cublasContext& state) { state.pointer_mode = mode; });
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return with(handle, [=](cublasContext& state) { *mode = state.pointer_mode; });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return with(handle, [=](cublasContext& state) { state.math_mode = mode; });
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return with(handle, [=](cublasContext& state) { *mode = state.math_mode; });
}

cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  return with(handle, [=](cublasContext& state) { state.sm_count_target = count; });
}

cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  return with(handle, [=](cublasContext& state) { *count = state.sm_count_target; });
}
