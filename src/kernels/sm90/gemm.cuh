// SPDX-License-Identifier: Apache-2.0
// Cooperative persistent GEMM for sm_90a: a TMA ring feeds two consumer warpgroups that share one
// output tile of 128 rows; output leaves through staging buffers. This file owns roles, start and
// end; the roles are producer.h, consumer.h with slices.h, and kernels/output.h.
//
// Roles (384 threads)  warp 0: producer (1 lane) | warps 1, 2: output of consumer 0, 1 (1 lane)
//                      warp 3: idle | warpgroups 1, 2: consumers 0, 1 with 64 rows of the tile each
// Pipelines            producer -> consumer    full arrives             empty arrives
//   operands (stages)  producer -> consumers   1 + TMA bytes, those of  1 lane of each warp: 8 from
//                                              peers' loads included    each CTA of the cluster
//   staging (2 each)   output   -> consumer    1 (+ TMA bytes of C)     1 lane of each warp: 4
// Timeline, per tile   producer  k: wait empty -> expect bytes -> TMA a, b
//                      consumer  k: wait full -> wgmma x 4 -> commit -> wait for k-1 -> release k-1
//                                wait for all -> release the last: the producer runs ahead
//                                slices: wait staging full -> combine -> write -> fence -> arrive
//                      output    slices: offer buffer (load C) ... wait written -> TMA store
#pragma once

#include "kernels/epilogue.h"
#include "kernels/maps.h"
#include "kernels/output.h"
#include "kernels/ptx/sync.h"
#include "kernels/sm90/consumer.h"
#include "kernels/sm90/cta.h"
#include "kernels/sm90/producer.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
BWGEMM_DEVICE void init_barriers(const Cta<config>& cta) {
  cta.operands().init(config.stages, 1, cta.empty_arrivals);
  for (int warpgroup = 0; warpgroup < consumer_warpgroups; ++warpgroup)
    cta.staging(warpgroup).ring.init(staging_buffers, 1, warps_per_warpgroup);
  // The initialisation before uses by TMA and by other CTAs, together with cluster_sync.
  ptx::fence_mbarrier_init();
}

template <int cluster_size>
BWGEMM_DEVICE void cluster_sync() {
  if constexpr (cluster_size == 1) {
    __syncthreads();
  } else {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
  }
}

// Warpgroup 0: its roles are single threads.
template <KernelConfig config>
BWGEMM_DEVICE void run_warpgroup0(const KernelParams& params, const Cta<config>& cta, int warp) {
  const Scaling scaling = load_scaling(params);
  if (warp == 0) {
    if (ptx::elect_sync()) run_producer(params, cta, k_blocks_to_run(params, scaling));
  } else if (warp <= consumer_warpgroups) {
    const int warpgroup = warp - 1;
    const StagingBuffers staging = cta.staging(warpgroup);
    if (ptx::elect_sync())
      run_output(params, staging, staging.bytes, staging_buffers, scaling.reads_c(),
                 cta.window(warpgroup, params.d_type), cta.cluster_size);
  }
}

template <KernelConfig config>
BWGEMM_DEVICE void gemm(const KernelParams& params) {
  static_assert(sm90::invalid_because(config) == nullptr);
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const Cta<config> cta{static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory)),
                        config.cluster.size() == 1 ? 0 : ptx::cluster_ctarank()};
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);  // uniform for the compiler too
  if (threadIdx.x == 0) {
    prefetch_maps(params);
    init_barriers(cta);
  }
  __syncwarp();                      // thread 0 back with its warp, which aligned instructions need
  cluster_sync<cta.cluster_size>();  // initialised barriers before any role, or any peer, uses them

  if (warp < warps_per_warpgroup) {
    ptx::setmaxnreg_dec<producer_registers>();
    run_warpgroup0(params, cta, warp);
  } else {
    ptx::setmaxnreg_inc<consumer_registers>();
    const Scaling scaling = load_scaling(params);
    run_consumer(params, cta, warp / warps_per_warpgroup - 1, scaling,
                 k_blocks_to_run(params, scaling));
  }
  if constexpr (cta.cluster_size > 1) {
    __syncwarp();  // single lanes back with their warps, which the aligned barrier needs
    // Peers' multicasts into this CTA's memory and arrivals on its barriers before its exit.
    cluster_sync<cta.cluster_size>();
  }
}

}  // namespace bwgemm::sm90
