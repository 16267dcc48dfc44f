// SPDX-License-Identifier: Apache-2.0
// The Hopper GEMM of operands that start anywhere (Load::tma_shifted). Ring, walk and consumers are
// those of the kernel beside (../gemm.cuh). All of warpgroup 0 is the producer, which moves what
// TMA has brought (residue_producer.h). Consumers store D themselves (scatter.h), so there is no
// output role. This file owns start and roles.
#pragma once

#include "device/epilogue.h"
#include "device/ptx/sync.h"
#include "families/sm90/consumer.h"
#include "families/sm90/cta.h"
#include "families/sm90/exit.h"
#include "families/sm90/shifted/residue_producer.h"
#include "families/sm90/shifted/scatter.h"

namespace bwgemm::sm90 {

inline constexpr int barrier_warp = 0, prefetching_warp = 2;

// One of the four producer warps makes all barriers.
template <KernelConfig config>
BWGEMM_DEVICE void set_up(const ResidueParams& params, const Cta<config>& cta, int warp) {
  if (warp == barrier_warp) {
    if (ptx::elect_sync()) {
      cta.operands().init(config.stages, warps_per_warpgroup, cta.empty_arrivals);
      for (int stage = 0; stage < config.stages; ++stage)
        landed(cta, stage).init(warps_per_warpgroup);
      ptx::fence_mbarrier_init();  // before uses by TMA
    }
    __syncwarp();
  }
  if (warp == prefetching_warp) {
    prefetch_residue_maps(params);
    __syncwarp();
  }
  ptx::barrier_sync(0, warpgroups_of(config).threads);
}

template <KernelConfig config>
BWGEMM_DEVICE void run_producer_warp(const ResidueParams& params, const Cta<config>& cta,
                                     int warp) {
  set_up(params, cta, warp);
  ptx::griddepcontrol_wait();
  run_residue_producer(params, cta, warp, k_blocks_to_run(params, load_scalar(params.alpha)));
}

template <KernelConfig config>
BWGEMM_DEVICE void run_consumer_warp(const ResidueParams& params, const Cta<config>& cta,
                                     int warp) {
  set_up(params, cta, warp);
  ptx::griddepcontrol_wait();
  if constexpr (warpgroups_of(config).registers.are_moved())
    ptx::setmaxnreg_inc<warpgroups_of(config).registers.consumer>();
  const Scaling scaling = scaling_of<config>(params);
  run_consumer<TileExit<config, Scatter<config>>>(params, cta, warp / warps_per_warpgroup - 1,
                                                  scaling, k_blocks_to_run(params, scaling.alpha));
}

template <KernelConfig config>
BWGEMM_DEVICE void gemm(const ResidueParams& params) {
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const Cta<config> cta{static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory)), 0};
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);  // uniform for the compiler too
  if (warp >= warps_per_warpgroup) {
    run_consumer_warp<config>(params, cta, warp);
    return;
  }
  if constexpr (warpgroups_of(config).registers.are_moved())
    ptx::setmaxnreg_dec<warpgroups_of(config).registers.producer>();
  run_producer_warp(params, cta, warp);
}

}  // namespace bwgemm::sm90
