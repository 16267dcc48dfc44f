// SPDX-License-Identifier: Apache-2.0
// The scheduler role of launch control: one thread in each CTA. When the producer of the cluster's
// first CTA begins a tile, the scheduler of that CTA requests one cluster that has not begun. So a
// cluster never holds more than one tile that it does not yet load. The schedulers of the other
// CTAs tell the first one when all roles of their CTA have read a response. Only a scheduler orders
// memory between CTAs, because that costs a fence of the whole GPU.
//
// Pipelines, per cluster  producer -> consumer   full arrives           empty arrives
//   responses (3)         first CTA's scheduler  1 in each CTA, of the  1 a role (each epilogue
//                         -> all roles           first's scheduler,     warp) of its CTA; in the
//                                                + 16 bytes             first one also 1 of each
//                                                                       other scheduler
//   wanted (1)            first CTA's producer   1
//                         -> its scheduler
#pragma once

#include "device/ptx/launch_control.h"
#include "device/ptx/sync.h"
#include "families/sm100/walk.h"

namespace bwgemm::sm100 {

template <KernelConfig config>
BWGEMM_DEVICE Ring response_ring(const Cta<config>& cta) {
  return {cta.shared + cta.offsets.response_full, cta.shared + cta.offsets.response_empty};
}
template <KernelConfig config>
BWGEMM_DEVICE std::uint32_t response(const Cta<config>& cta, const Cursor& at) {
  return cta.shared + cta.offsets.response + 16 * at.stage;
}

template <KernelConfig config>
BWGEMM_DEVICE Barrier response_wanted(const Cta<config>& cta) {
  return {cta.shared + cta.offsets.response_wanted};
}

// The producer of the cluster's first CTA asks for a tile when it begins one.
template <KernelConfig config>
BWGEMM_DEVICE void want_next_tile(const Cta<config>& cta) {
  if (cta.rank == 0) ptx::mbarrier_arrive(response_wanted(cta).address);
}

// The NextTile of Schedule::launch_control. `of_warp`: all lanes of a warp walk together,
// converged; else one lane alone.
template <KernelConfig config, bool of_warp>
class TakenOver {
 public:
  BWGEMM_DEVICE explicit TakenOver(const Cta<config>& cta) : cta_(cta) {}

  BWGEMM_DEVICE void advance(std::uint32_t& index, std::uint32_t end) {
    const Ring ring = response_ring(cta_);
    ring.wait_full(response_);  // the response's write before its reads
    const ptx::CanceledCluster canceled =
        ptx::clusterlaunchcontrol_query_cancel(response(cta_, response_));
    if constexpr (of_warp) __syncwarp();  // all lanes' reads before the arrival of one
    // The reads before the next response's write, which the CTA's scheduler answers for.
    if (!of_warp || ptx::laneid() == 0) ptx::mbarrier_arrive(ring.empty(response_).address);
    response_.advance(responses);
    index = canceled.exists ? canceled.first_cta / config.cluster.size() : end;
  }

 private:
  const Cta<config>& cta_;
  Cursor response_;
};

template <KernelConfig config>
BWGEMM_DEVICE void init_responses(const Cta<config>& cta) {
  // Producer, scheduler, epilogue warps, the output role where there is one, and the leaders' mma.
  constexpr int of_every_cta = 2 + epilogue_warps + (config.store == Store::elements ? 0 : 1);
  const int readers = of_every_cta + (cta.rank_in_group() == 0 ? 1 : 0);
  response_ring(cta).init(responses, 1, readers + (cta.rank == 0 ? cta.cluster_size - 1 : 0));
  response_wanted(cta).init(1);
}

// The scheduler of the cluster's first CTA.
template <KernelConfig config>
BWGEMM_DEVICE void ask_for_tiles(const KernelParams& params, const Cta<config>& cta) {
  constexpr std::uint32_t response_bytes = 16;
  const Ring ring = response_ring(cta);
  Cursor at, wanted;
  for (Walk<config> walk(params, cta); walk.valid(); walk.advance()) {
    response_wanted(cta).wait(wanted.phase);
    wanted.advance(1);
    // The reads of the slot's last response, in all CTAs, before the next is written.
    ring.empty(at).wait_cluster(at.phase ^ 1);
    ptx::fence_proxy_async_shared();
    // All barriers before the request, so that none can be late for the answer.
    for (std::uint32_t rank = 0; rank < cta.cluster_size; ++rank)
      ptx::mbarrier_arrive_expect_tx_relaxed_cluster(ptx::mapa(ring.full(at).address, rank),
                                                     response_bytes);
    ptx::clusterlaunchcontrol_try_cancel_multicast(response(cta, at), ring.full(at).address);
    at.advance(responses);
  }
  // The last arrivals of the other CTAs on this CTA's barriers before its exit.
  for (int i = 0; i < responses; ++i) {
    ring.wait_empty(at);
    at.advance(responses);
  }
}

// The schedulers of the other CTAs.
template <KernelConfig config>
BWGEMM_DEVICE void pass_on_reads(const KernelParams& params, const Cta<config>& cta) {
  const Ring ring = response_ring(cta);
  Cursor at;
  for (Walk<config> walk(params, cta); walk.valid();) {
    walk.advance();
    // All roles' reads of the response before the next, which the first CTA asks for, is written.
    ring.empty(at).wait(at.phase);
    ptx::fence_proxy_async_shared();
    ptx::mbarrier_arrive_cluster(ptx::mapa(ring.empty(at).address, 0));
    at.advance(responses);
  }
}

template <KernelConfig config>
BWGEMM_DEVICE void run_scheduler(const KernelParams& params, const Cta<config>& cta) {
  cta.rank == 0 ? ask_for_tiles(params, cta) : pass_on_reads(params, cta);
}

}  // namespace bwgemm::sm100
