// SPDX-License-Identifier: Apache-2.0
// Fences, CTA and cluster barriers, lane election, register budgets and special registers.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

BWGEMM_DEVICE void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

BWGEMM_DEVICE void fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Barriers of part of a CTA: `threads` of whole warps. Number 0 is that of __syncthreads.
BWGEMM_DEVICE void barrier_sync(int number, int threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// Counts for the barrier without waiting for it.
BWGEMM_DEVICE void barrier_arrive(int number, int threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// The same as barrier_sync; true if `value` was true in any thread.
BWGEMM_DEVICE bool barrier_red_or(int number, int threads, bool value) {
  std::uint32_t any;
  asm volatile(
      "{\n"
      " .reg .pred value, any;\n"
      " setp.ne.b32 value, %3, 0;\n"
      " barrier.cta.red.or.pred.aligned any, %1, %2, value;\n"
      " selp.u32 %0, 1, 0, any;\n"
      "}"
      : "=r"(any)
      : "r"(number), "r"(threads), "r"(static_cast<std::uint32_t>(value))
      : "memory");
  return any != 0;
}

// Until the grids that this one depends on are complete and their memory is visible; at once where
// the launch names none.
BWGEMM_DEVICE void griddepcontrol_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// This CTA agrees that grids which depend on this one may start.
BWGEMM_DEVICE void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

BWGEMM_DEVICE void barrier_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// Publishes nothing but what an earlier fence released.
BWGEMM_DEVICE void barrier_cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

BWGEMM_DEVICE void barrier_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// True in one lane of the converged warp, always the same one.
BWGEMM_DEVICE bool elect_sync() {
  std::uint32_t elected;
  asm volatile(
      "{\n"
      " .reg .pred elected;\n"
      " elect.sync _|elected, 0xffffffff;\n"
      " selp.u32 %0, 1, 0, elected;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}

template <int registers>
BWGEMM_DEVICE void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

template <int registers>
BWGEMM_DEVICE void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

BWGEMM_DEVICE std::uint32_t cluster_ctarank() {
  std::uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

BWGEMM_DEVICE std::uint32_t clusterid_x() {
  std::uint32_t id;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(id));
  return id;
}

// threadIdx.x as a value that the compiler cannot compute earlier: what is derived from it is not
// hoisted out of loops, where it would occupy registers.
BWGEMM_DEVICE int tid_x() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

BWGEMM_DEVICE std::uint32_t laneid() {
  std::uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

}  // namespace bwgemm::ptx
