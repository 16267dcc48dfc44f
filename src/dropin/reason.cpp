// SPDX-License-Identifier: Apache-2.0
#include "dropin/reason.h"

#include "dropin/epilogue.h"
#include "dropin/serve.h"

namespace bwgemm::dropin {
namespace {

// With 16-bit inputs, the fast kinds of 32F are 32F: inputs need not be narrowed.
bool has_served_compute_type(const Call& call) {
  switch (call.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_32F: return true;
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32: return call.is_lt();
    default: return false;
  }
}

bool has_served_types(const Call& call) {
  const int type = call.a.type;
  if ((type != CUDA_R_16F && type != CUDA_R_16BF) || call.b.type != type) return false;
  for (const Operand* const matrix : {&call.c, &call.output()}) {
    if (matrix->type != type && matrix->type != CUDA_R_32F) return false;
    if (call.has_half_scalars() && matrix->type != CUDA_R_16F) return false;
  }
  return true;
}

bool has_served_algo(const Call& call) {
  return call.is_lt() || call.algo == CUBLAS_GEMM_DEFAULT ||
         call.algo == CUBLAS_GEMM_DEFAULT_TENSOR_OP;
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

Reason why_types(const Call& call) {
  if (!has_served_compute_type(call)) return Reason::compute_type;
  return has_served_types(call) ? Reason::none : Reason::types;
}

Reason why_forwarded(const Call& call) {
  if (call.is_empty()) return Reason::empty;
  if (call.alpha == nullptr || call.beta == nullptr) return Reason::null_scalar;
  if (const Reason reason = why_types(call); reason != Reason::none) return reason;
  if (!has_served_epilogue(call)) return Reason::epilogue;
  if (!has_served_algo(call)) return Reason::algo;
  return Reason::none;
}

// Sums of an operand are not multiplied by alpha here, and cuBLASLt does not say whether its are.
Reason why_forwarded(const Call& call, const CallSettings& settings) {
  if (!is_served_math_mode(settings.math_mode)) return Reason::math_mode;
  if (settings.pointer_mode != CUBLAS_POINTER_MODE_HOST && !settings.has_device_scalars())
    return Reason::pointer_mode;
  if (call.has_half_scalars() && settings.has_device_scalars()) return Reason::half_on_device;
  if (form_of(call.epilogue.kind)->sums_operand() &&
      (settings.has_device_scalars() || host_scalar(call, call.alpha) != 1))
    return Reason::epilogue;
  return Reason::none;
}

}  // namespace bwgemm::dropin
