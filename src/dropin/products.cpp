// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLAS that this library stands in front of: products, with 32-bit sizes and
// with 64-bit ones. Each makes a Call of its arguments, and gives cuBLAS's own function the very
// same ones.
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

#define SIZE int
#define SIZED(name) name
#include "dropin/products.inc"
#define SIZE std::int64_t
#define SIZED(name) name##_64
#include "dropin/products.inc"
