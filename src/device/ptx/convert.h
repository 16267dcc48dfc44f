// SPDX-License-Identifier: Apache-2.0
// Conversions between f32 and the 16-bit types. Packed results hold the first element in the low
// half.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

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
