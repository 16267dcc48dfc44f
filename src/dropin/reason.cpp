// SPDX-License-Identifier: Apache-2.0
#include "dropin/reason.h"

namespace bwgemm::dropin {
namespace {

bool has_served_types(const Call& call) {
  const int type = call.a.type;
  if ((type != CUDA_R_16F && type != CUDA_R_16BF) || call.b.type != type) return false;
  if (call.has_half_scalars()) return type == CUDA_R_16F && call.c.type == type;
  return call.c.type == type || call.c.type == CUDA_R_32F;
}

bool has_served_algo(const Call& call) {
  return call.algo == CUBLAS_GEMM_DEFAULT || call.algo == CUBLAS_GEMM_DEFAULT_TENSOR_OP;
}

// Partial sums are always float: what forbids narrower ones is obeyed.
bool is_served_math_mode(int mode) {
  switch (mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) {
    case CUBLAS_DEFAULT_MATH:
    case CUBLAS_TENSOR_OP_MATH:
    case CUBLAS_TF32_TENSOR_OP_MATH: return true;
    default: return false;
  }
}

}  // namespace

Reason why_forwarded(const Call& call) {
  if (call.is_empty()) return Reason::empty;
  if (call.alpha == nullptr || call.beta == nullptr) return Reason::null_scalar;
  if (call.compute != CUBLAS_COMPUTE_32F && call.compute != CUBLAS_COMPUTE_16F)
    return Reason::compute_type;
  if (!has_served_types(call)) return Reason::types;
  if (!has_served_algo(call)) return Reason::algo;
  return Reason::none;
}

Reason why_forwarded(const Call& call, const CallSettings& settings) {
  if (!is_served_math_mode(settings.math_mode)) return Reason::math_mode;
  if (call.has_half_scalars() && settings.has_device_scalars()) return Reason::half_on_device;
  return Reason::none;
}

}  // namespace bwgemm::dropin
