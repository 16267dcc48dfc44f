// SPDX-License-Identifier: Apache-2.0
#include "dropin/cublas_call.h"

#include <stdexcept>

namespace bwgemm::test {

const std::vector<std::string> product_functions = {
    "cublasGemmEx", "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx",
    "cublasHgemm",  "cublasHgemmStridedBatched",  "cublasSgemmEx"};

namespace {

constexpr float float_one = 1, float_zero = 0;
constexpr std::uint16_t half_one = 0x3c00, half_zero = 0;

// A call by the functions with sizes of one width.
template <class Size>
struct Sized {
  const CublasCall& call;
  const void *alpha, *beta;

  Size size(std::int64_t value) const { return static_cast<Size>(value); }
  const float* alpha_32f() const { return static_cast<const float*>(alpha); }
  const float* beta_32f() const { return static_cast<const float*>(beta); }
  const std::uint16_t* half(const void* data) const {
    return static_cast<const std::uint16_t*>(data);
  }
  std::uint16_t* half(void* data) const { return static_cast<std::uint16_t*>(data); }

  template <class Function>
  cublasStatus_t gemm(Function* function) const {
    return function(call.handle, call.transa, call.transb, size(call.m), size(call.n), size(call.k),
                    alpha, call.a, call.a_type, size(call.lda), call.b, call.b_type, size(call.ldb),
                    beta, call.c, call.c_type, size(call.ldc), call.compute, call.algo);
  }
  template <class Function>
  cublasStatus_t strided(Function* function) const {
    return function(call.handle, call.transa, call.transb, size(call.m), size(call.n), size(call.k),
                    alpha, call.a, call.a_type, size(call.lda), call.stride_a, call.b, call.b_type,
                    size(call.ldb), call.stride_b, beta, call.c, call.c_type, size(call.ldc),
                    call.stride_c, size(call.batch), call.compute, call.algo);
  }
  template <class Function>
  cublasStatus_t pointers(Function* function) const {
    return function(call.handle, call.transa, call.transb, size(call.m), size(call.n), size(call.k),
                    alpha, static_cast<const void* const*>(call.a), call.a_type, size(call.lda),
                    static_cast<const void* const*>(call.b), call.b_type, size(call.ldb), beta,
                    static_cast<void* const*>(call.c), call.c_type, size(call.ldc),
                    size(call.batch), call.compute, call.algo);
  }
  template <class Function>
  cublasStatus_t hgemm(Function* function) const {
    return function(call.handle, call.transa, call.transb, size(call.m), size(call.n), size(call.k),
                    half(alpha), half(call.a), size(call.lda), half(call.b), size(call.ldb),
                    half(beta), half(call.c), size(call.ldc));
  }
  template <class Function>
  cublasStatus_t hgemm_strided(Function* function) const {
    return function(call.handle, call.transa, call.transb, size(call.m), size(call.n), size(call.k),
                    half(alpha), half(call.a), size(call.lda), call.stride_a, half(call.b),
                    size(call.ldb), call.stride_b, half(beta), half(call.c), size(call.ldc),
                    call.stride_c, size(call.batch));
  }
  template <class Function>
  cublasStatus_t sgemm(Function* function) const {
    return function(call.handle, call.transa, call.transb, size(call.m), size(call.n), size(call.k),
                    alpha_32f(), call.a, call.a_type, size(call.lda), call.b, call.b_type,
                    size(call.ldb), beta_32f(), call.c, call.c_type, size(call.ldc));
  }
};

}  // namespace

bool CublasCall::is_batched(const std::string& function) {
  return function.find("Batched") != function.npos;
}

bool CublasCall::has_half_scalars(const std::string& function) const {
  const bool is_half = function.find("Hgemm") != function.npos;
  return is_half || (compute == CUBLAS_COMPUTE_16F && function.find("GemmEx") == 6) ||
         (compute == CUBLAS_COMPUTE_16F && function.find("BatchedEx") != function.npos);
}

cublasStatus_t CublasCall::run(const std::string& function) const {
  const bool is_half = has_half_scalars(function);
  const void* const usual_one = is_half ? static_cast<const void*>(&half_one) : &float_one;
  const void* const usual_zero = is_half ? static_cast<const void*>(&half_zero) : &float_zero;
  const bool takes_given = passes_null_scalars;
  const Sized<int> narrow{*this, alpha == nullptr && !takes_given ? usual_one : alpha,
                          beta == nullptr && !takes_given ? usual_zero : beta};
  const Sized<std::int64_t> wide{*this, narrow.alpha, narrow.beta};
  if (function == "cublasGemmEx") return narrow.gemm(cublasGemmEx);
  if (function == "cublasGemmEx_64") return wide.gemm(cublasGemmEx_64);
  if (function == "cublasGemmStridedBatchedEx") return narrow.strided(cublasGemmStridedBatchedEx);
  if (function == "cublasGemmStridedBatchedEx_64")
    return wide.strided(cublasGemmStridedBatchedEx_64);
  if (function == "cublasGemmBatchedEx") return narrow.pointers(cublasGemmBatchedEx);
  if (function == "cublasGemmBatchedEx_64") return wide.pointers(cublasGemmBatchedEx_64);
  if (function == "cublasHgemm") return narrow.hgemm(cublasHgemm);
  if (function == "cublasHgemm_64") return wide.hgemm(cublasHgemm_64);
  if (function == "cublasHgemmStridedBatched")
    return narrow.hgemm_strided(cublasHgemmStridedBatched);
  if (function == "cublasHgemmStridedBatched_64")
    return wide.hgemm_strided(cublasHgemmStridedBatched_64);
  if (function == "cublasSgemmEx") return narrow.sgemm(cublasSgemmEx);
  if (function == "cublasSgemmEx_64") return wide.sgemm(cublasSgemmEx_64);
  throw std::invalid_argument(function);
}

}  // namespace bwgemm::test
