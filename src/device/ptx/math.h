// SPDX-License-Identifier: Apache-2.0
// Approximations of the special function unit, what C++ has no operator for, and conversions
// between f32 and the 16-bit types. Packed results hold the first element in the low half.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

// Denormal results are zero.
BWGEMM_DEVICE float ex2_approx_ftz(float value) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(value));
  return power;
}

BWGEMM_DEVICE float rcp_approx_ftz(float value) {
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(value));
  return reciprocal;
}

// NaN if one of them is NaN.
BWGEMM_DEVICE float max_nan(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}
BWGEMM_DEVICE float min_nan(float a, float b) {
  float smaller;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(a), "f"(b));
  return smaller;
}

// A product that stays where it stands: branches around it are not turned into selections.
BWGEMM_DEVICE float mul_rn_here(float a, float b) {
  float product;
  asm volatile("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
  return product;
}

// A copy, likewise.
BWGEMM_DEVICE float mov_here(float value) {
  float copy;
  asm volatile("mov.f32 %0, %1;" : "=f"(copy) : "f"(value));
  return copy;
}

BWGEMM_DEVICE std::uint32_t cvt_rn_bf16x2_f32(float high, float low) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

BWGEMM_DEVICE std::uint32_t cvt_rn_f16x2_f32(float high, float low) {
  std::uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

BWGEMM_DEVICE float cvt_f32_f16(std::uint16_t value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
  return wide;
}

}  // namespace bwgemm::ptx
