// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the output, for every family: the scalars, alpha*acc + beta*c, packing, and
// where an element of a staging buffer lies. Which thread holds which element is the kernel's own.
#pragma once

#include "device/layout.h"
#include "device/params.h"
#include "device/ptx/math.h"

namespace bwgemm {

BWGEMM_DEVICE float load_scalar(const Scalar& scalar) {
  return scalar.device != nullptr ? *scalar.device : scalar.value;
}

// alpha and beta as the kernel found them: every thread that needs them loads them once.
struct Scaling {
  float alpha, beta;

  BWGEMM_DEVICE bool reads_c() const { return beta != 0; }

  // One multiply; with C one more fma. Callers never read c where reads_c() is false.
  BWGEMM_DEVICE float combine(float accumulated) const { return __fmul_rn(alpha, accumulated); }
  BWGEMM_DEVICE float combine(float accumulated, float c) const {
    return __fmaf_rn(beta, c, __fmul_rn(alpha, accumulated));
  }
};

// Without a product the result is beta * c whatever alpha is, infinite or NaN included: alpha is
// then -0, since adding -0 * 0 leaves beta * c as it is, -0 included. Without C that product alone
// would be the result, so alpha is +0.
BWGEMM_DEVICE Scaling load_scaling(const KernelParams& params, float beta) {
  const float alpha = load_scalar(params.alpha);
  const bool multiplies = params.k_blocks != 0 && alpha != 0;
  return {multiplies ? alpha : beta != 0 ? -0.0f : 0.0f, beta};
}
BWGEMM_DEVICE Scaling load_scaling(const KernelParams& params) {
  return load_scaling(params, load_scalar(params.beta));
}

// Steps of the main loop: none if alpha turns out to be zero, so that A and B are not read.
BWGEMM_DEVICE int k_blocks_to_run(const KernelParams& params, float alpha) {
  return alpha == 0 ? 0 : params.k_blocks;
}

struct Pair {
  float low, high;
};

// Two neighbouring elements of a 16-bit type, the first in the low half.
BWGEMM_DEVICE std::uint32_t pack(Dtype type, Pair values) {
  return type == Dtype::bf16 ? ptx::cvt_rn_bf16x2_f32(values.high, values.low)
                             : ptx::cvt_rn_f16x2_f32(values.high, values.low);
}

BWGEMM_DEVICE Pair unpack(Dtype type, std::uint32_t packed) {
  if (type == Dtype::bf16)  // bf16 is the upper half of an f32
    return {__uint_as_float(packed << 16), __uint_as_float(packed & 0xffff0000u)};
  return {ptx::cvt_f32_f16(static_cast<std::uint16_t>(packed)),
          ptx::cvt_f32_f16(static_cast<std::uint16_t>(packed >> 16))};
}

// Where TMA puts the byte that an unswizzled staging buffer would hold at `address`, for rows of
// 128 bytes (SWIZZLE_128B) or 64 (SWIZZLE_64B). 16-byte units move as a whole.
BWGEMM_DEVICE std::uint32_t swizzled(std::uint32_t address, int row_bytes) {
  const std::uint32_t mask = row_bytes == swizzle_row_bytes ? 7 : 3;
  return address ^ ((address >> 7 & mask) << 4);
}

}  // namespace bwgemm
