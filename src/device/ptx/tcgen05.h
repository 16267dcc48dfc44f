// SPDX-License-Identifier: Apache-2.0
// tcgen05.*: tensor memory, multiplications into it, and their order with other threads. `ctas` is
// the cta_group: 2 where the two CTAs of a pair act as one. A tensor memory address is lane << 16 |
// column.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

// Writes the address of `columns` columns (a power of two from 32) to shared memory. Whole warp.
template <int cta_group, int columns>
BWGEMM_DEVICE void tcgen05_alloc(std::uint32_t destination) {
  asm volatile(
      "tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(destination),
      "n"(columns), "n"(cta_group)
      : "memory");
}

template <int cta_group, int columns>
BWGEMM_DEVICE void tcgen05_dealloc(std::uint32_t address) {
  asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address),
               "n"(columns), "n"(cta_group)
               : "memory");
}

template <int cta_group>
BWGEMM_DEVICE void tcgen05_relinquish_alloc_permit() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(cta_group)
               : "memory");
}

// 16-bit operands in shared memory, 16 deep: d = a * b, plus d if `accumulate`. Issued by one
// thread, of a pair's leading CTA for both.
template <int cta_group>
BWGEMM_DEVICE void tcgen05_mma_f16(std::uint32_t d, std::uint64_t a, std::uint64_t b,
                                   std::uint32_t instruction, bool accumulate) {
  asm volatile(
      "{\n"
      " .reg .pred accumulate;\n"
      " setp.ne.b32 accumulate, %4, 0;\n"
      " tcgen05.mma.cta_group::%5.kind::f16 [%0], %1, %2, %3, accumulate;\n"
      "}" ::"r"(d),
      "l"(a), "l"(b), "r"(instruction), "r"(static_cast<std::uint32_t>(accumulate)), "n"(cta_group)
      : "memory");
}

// Arrives at the barrier once this thread's earlier multiplications are complete.
BWGEMM_DEVICE void tcgen05_commit(std::uint32_t barrier) {
  asm volatile(
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
      : "memory");
}

// The same at the barrier's address in every CTA of the mask, for multiplications of pairs.
BWGEMM_DEVICE void tcgen05_commit_multicast(std::uint32_t barrier, std::uint16_t cta_mask) {
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
      "[%0], %1;" ::"r"(barrier),
      "h"(cta_mask)
      : "memory");
}

// Lane t of the warp receives 32 consecutive columns of lane t of its quarter. The values may be
// used only behind tcgen05_wait_ld. Whole warp, one address.
BWGEMM_DEVICE void tcgen05_ld_32x32b_x32(float* values, std::uint32_t address) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x32.b32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
      : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3]), "=f"(values[4]),
        "=f"(values[5]), "=f"(values[6]), "=f"(values[7]), "=f"(values[8]), "=f"(values[9]),
        "=f"(values[10]), "=f"(values[11]), "=f"(values[12]), "=f"(values[13]), "=f"(values[14]),
        "=f"(values[15]), "=f"(values[16]), "=f"(values[17]), "=f"(values[18]), "=f"(values[19]),
        "=f"(values[20]), "=f"(values[21]), "=f"(values[22]), "=f"(values[23]), "=f"(values[24]),
        "=f"(values[25]), "=f"(values[26]), "=f"(values[27]), "=f"(values[28]), "=f"(values[29]),
        "=f"(values[30]), "=f"(values[31])
      : "r"(address)
      : "memory");
}

// The same for 16 columns.
BWGEMM_DEVICE void tcgen05_ld_32x32b_x16(float* values, std::uint32_t address) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x16.b32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];"
      : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3]), "=f"(values[4]),
        "=f"(values[5]), "=f"(values[6]), "=f"(values[7]), "=f"(values[8]), "=f"(values[9]),
        "=f"(values[10]), "=f"(values[11]), "=f"(values[12]), "=f"(values[13]), "=f"(values[14]),
        "=f"(values[15])
      : "r"(address)
      : "memory");
}

BWGEMM_DEVICE void tcgen05_wait_ld() {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

BWGEMM_DEVICE void tcgen05_fence_before_thread_sync() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

BWGEMM_DEVICE void tcgen05_fence_after_thread_sync() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

}  // namespace bwgemm::ptx
