// SPDX-License-Identifier: Apache-2.0
// The scheduler role of launch control: one thread in each CTA. That of the cluster's first CTA
// asks for clusters that have not begun, one request at a time but ahead of the roles by the ring
// of responses; those of the others make their CTA's barriers expect the answer.
//
// Pipeline, per cluster   producer -> consumer   full arrives             empty arrives
//   responses (3)         schedulers -> all      1 in each CTA, its own   first CTA's: 1 a role
//                         roles, schedulers      scheduler, + 16 bytes    (each epilogue warp) of
//                                                                         each CTA
#pragma once

#include "kernels/ptx/launch_control.h"
#include "kernels/sm100/walk.h"

namespace bwgemm::sm100 {

// Arrivals of one cluster at each empty barrier: producer, scheduler, epilogue warps, the output
// role where there is one, and the leaders' mma.
template <KernelConfig config>
constexpr int response_readers() {
  const int of_cta = 2 + epilogue_warps + (config.output == Output::scattered ? 0 : 1);
  return of_cta * config.cluster.size() + groups(config);
}

template <KernelConfig config>
BWGEMM_DEVICE void run_scheduler(const KernelParams& params, const Cta<config>& cta) {
  constexpr std::uint32_t response_bytes = 16;
  const Ring ring = cta.response_ring();
  Cursor at;
  for (Walk<config> walk(params, cta); walk.valid(); walk.advance()) {
    // The roles' reads of the slot's last response before the next is written. Of cluster scope:
    // they are ordinary reads, by all CTAs. Where it is not asked for, the slot was read here.
    if (cta.rank == 0)
      while (!ptx::mbarrier_try_wait_parity_cluster(ring.empty(at).address, at.phase ^ 1)) {
      }
    ptx::mbarrier_arrive_expect_tx(ring.full(at).address, response_bytes);
    if (cta.rank == 0)
      ptx::clusterlaunchcontrol_try_cancel_multicast(cta.response(at), ring.full(at).address);
    at.advance(responses);
  }
  // The last arrivals of all CTAs on this CTA's barriers before its exit are before the barrier of
  // the cluster there.
}

// A role that has nothing to do reads the responses all the same.
template <KernelConfig config>
BWGEMM_DEVICE void walk_idly(const KernelParams& params, const Cta<config>& cta) {
  if constexpr (config.choices.schedule == Schedule::launch_control)
    for (Walk<config> walk(params, cta); walk.valid(); walk.advance()) {
    }
}

}  // namespace bwgemm::sm100
