// SPDX-License-Identifier: Apache-2.0
// What the calibration kernels share. Every wait is bounded: a kernel whose question has an
// unexpected answer still ends.
#pragma once

#include "vgpu/calibration/kernels/instructions.h"

namespace bwgemm::calibration {

extern __shared__ __align__(1024) std::uint8_t dynamic_shared[];

VGPU_DEVICE std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

VGPU_DEVICE bool mbarrier_test_wait_parity(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n"
      " .reg .pred done;\n"
      " mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 done, [%1], %2;\n"
      " selp.u32 %0, 1, 0, done;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

inline constexpr int most_tries = 1000;
inline constexpr long long most_clocks = 20'000'000;

// Whether the phase completes within milliseconds.
VGPU_DEVICE bool completes(std::uint32_t barrier, std::uint32_t parity) {
  const long long begin = clock64();
  for (int i = 0; i < most_tries; ++i) {
    if (ptx::mbarrier_try_wait_parity(barrier, parity)) return true;
    if (clock64() - begin > most_clocks) break;
  }
  return false;
}

VGPU_DEVICE void pause_for(int rounds) {
  for (int i = 0; i < rounds; ++i) asm volatile("nanosleep.u32 20;");
}

// The whole CTA copies 16-byte units.
VGPU_DEVICE void copy_in(std::uint32_t to, const uint4* from, std::uint32_t bytes) {
  for (std::uint32_t i = threadIdx.x; i < bytes / 16; i += blockDim.x) {
    const uint4 unit = from[i];
    ptx::st_shared_v4(to + 16 * i, unit.x, unit.y, unit.z, unit.w);
  }
}

VGPU_DEVICE void copy_out(uint4* to, std::uint32_t from, std::uint32_t bytes) {
  for (std::uint32_t i = threadIdx.x; i < bytes / 16; i += blockDim.x) {
    std::uint32_t unit[4];
    ptx::ld_shared_v4(from + 16 * i, unit);
    to[i] = make_uint4(unit[0], unit[1], unit[2], unit[3]);
  }
}

}  // namespace bwgemm::calibration
