// SPDX-License-Identifier: Apache-2.0
// mbarrier.*: arrivals, transactions, waits; mapa and st.async for other CTAs of the cluster.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

BWGEMM_DEVICE void mbarrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

BWGEMM_DEVICE void mbarrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Orders no memory of the caller, and so costs no fence.
BWGEMM_DEVICE void mbarrier_arrive_relaxed_cluster(std::uint32_t cluster_barrier) {
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(cluster_barrier)
               : "memory");
}

BWGEMM_DEVICE void mbarrier_arrive_expect_tx(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}

BWGEMM_DEVICE bool mbarrier_try_wait_parity(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n"
      " .reg .pred done;\n"
      " mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%1], %2;\n"
      " selp.u32 %0, 1, 0, done;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

BWGEMM_DEVICE bool mbarrier_try_wait_parity_cluster(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n"
      " .reg .pred done;\n"
      " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], %2;\n"
      " selp.u32 %0, 1, 0, done;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// Sixteen bytes to shared memory of a CTA of the cluster, which count as transactions of a barrier
// there when they have arrived.
BWGEMM_DEVICE void st_async_v4_f32(std::uint32_t to, std::uint32_t cluster_barrier, float v0,
                                   float v1, float v2, float v3) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, "
      "[%1];" ::"r"(to),
      "r"(cluster_barrier), "f"(v0), "f"(v1), "f"(v2), "f"(v3)
      : "memory");
}

// The address of the same shared variable in CTA `rank` of the cluster.
BWGEMM_DEVICE std::uint32_t mapa(std::uint32_t address, std::uint32_t rank) {
  std::uint32_t mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

}  // namespace bwgemm::ptx
