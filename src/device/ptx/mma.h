// SPDX-License-Identifier: Apache-2.0
// mma.sync. Every lane of a converged warp takes part.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

// Predicated, so that two input types share one straight run of code: with a branch instead, every
// accumulator gets a second register. The condition is the same in the whole warp.
BWGEMM_DEVICE void mma_m16n8k16_bf16_if(bool condition, float (&d)[4], const std::uint32_t (&a)[4],
                                        std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %10, 0;\n"
      " @condition mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1),
        "r"(static_cast<int>(condition)));
}

BWGEMM_DEVICE void mma_m16n8k16_f16_if(bool condition, float (&d)[4], const std::uint32_t (&a)[4],
                                       std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %10, 0;\n"
      " @condition mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1),
        "r"(static_cast<int>(condition)));
}

}  // namespace bwgemm::ptx
