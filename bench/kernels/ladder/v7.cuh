// SPDX-License-Identifier: Apache-2.0
// v7: v6 with cluster launch control. The grid has a pair for every tile; one thread of a running
// pair asks to take over the tile of a pair that has not begun, ahead of its roles, until none is
// left. Unlike a fixed stride this shares the work by speed, and leaves room for other grids.
#pragma once

#include "device/ptx/launch_control.h"
#include "ladder/v6.cuh"

namespace bwgemm::ladder::v7 {

inline constexpr Shape shape = shape_of("v7");
inline constexpr int scheduler_warp = v6::first_epilogue_warp + epilogue_warps;
// Readers of a response that return its slot: in both CTAs the producer and four warps of the
// epilogue, in the leader the multiplier.
inline constexpr int readers = 2 * (1 + epilogue_warps) + 1;

struct Technique : v5::Technique {
  template <class AnyCta>
  BWGEMM_DEVICE static void init_more(const AnyCta& cta) {
    cta.responses().init(response_slots, 1, readers);
  }
};

template <Shape shape>
BWGEMM_DEVICE std::uint32_t slot(const Cta<shape>& cta, const Cursor& at) {
  return cta.shared + Cta<shape>::at.responses + 16 * at.stage;
}

// The tile that a response gives to this pair; -1: none, now and later.
template <Shape shape>
BWGEMM_DEVICE int tile_of(const Cta<shape>& cta, const Cursor& at) {
  cta.responses().wait_full(at);  // the response before its read
  const ptx::CanceledCluster canceled = ptx::clusterlaunchcontrol_query_cancel(slot(cta, at));
  // The read before the next response is written there.
  ptx::fence_proxy_async_shared();
  return canceled.exists ? static_cast<int>(canceled.first_cta) / shape.ctas : -1;
}

// The pair's own tile first, then those of the responses. Used by one thread, or by a whole warp.
template <Shape shape>
class Walk {
 public:
  BWGEMM_DEVICE Walk(const Params&, const Cta<shape>& cta)
      : cta_(cta), tile_(blockIdx.x / shape.ctas) {}

  BWGEMM_DEVICE bool valid() const { return tile_ >= 0; }
  BWGEMM_DEVICE int tile() const { return tile_; }
  BWGEMM_DEVICE void advance() {
    tile_ = tile_of(cta_, at_);
    // Released at cluster scope: unlike an operand's stage, the slot was read by ordinary loads.
    const bool is_warp = cta_.warp >= v6::first_epilogue_warp;
    if (is_warp) __syncwarp();  // all lanes' reads before the arrival of one
    if (!is_warp || ptx::laneid() == 0)
      ptx::mbarrier_arrive_cluster(ptx::mapa(cta_.responses().empty(at_).address, v5::leader));
    at_.advance(response_slots);
  }

 private:
  const Cta<shape>& cta_;
  Cursor at_;
  int tile_;
};

// One thread of the leader. A response goes to both CTAs, each of which expects its 16 bytes.
template <Shape shape>
BWGEMM_DEVICE void run_scheduler(const Cta<shape>& cta) {
  const Ring ring = cta.responses();
  Cursor at;
  for (int tile = 0; tile >= 0; at.advance(response_slots)) {
    // All readers' reads of the slot, in both CTAs, before it is written again.
    const std::uint32_t empty = ring.empty(at).address;
    while (!ptx::mbarrier_try_wait_parity_cluster(empty, at.phase ^ 1)) {
    }
    for (int rank = 0; rank < shape.ctas; ++rank)
      ptx::mbarrier_arrive_expect_tx_relaxed_cluster(ptx::mapa(ring.full(at).address, rank), 16);
    ptx::clusterlaunchcontrol_try_cancel_multicast(slot(cta, at), ring.full(at).address);
    tile = tile_of(cta, at);
  }
  // The last arrivals of readers on this CTA's barriers before its exit.
  for (int i = 0; i < response_slots; ++i) {
    const std::uint32_t empty = ring.empty(at).address;
    while (!ptx::mbarrier_try_wait_parity_cluster(empty, at.phase ^ 1)) {
    }
    at.advance(response_slots);
  }
}

template <Shape shape, class Technique>
BWGEMM_DEVICE void gemm(const Params& params) {
  const Cta<shape> cta;
  const std::uint32_t tensor_memory = set_up<shape, Technique>(cta);
  __syncwarp();  // what all lanes read before what one of them releases
  if (cta.warp == scheduler_warp) {
    if (cta.rank == v5::leader && ptx::elect_sync()) run_scheduler(cta);
  } else {
    v6::run_role<shape, Technique, Walk<shape>>(params, cta, tensor_memory);
  }
  tear_down<shape, Technique>(cta, tensor_memory);
}

}  // namespace bwgemm::ladder::v7
