// SPDX-License-Identifier: Apache-2.0
// Persistent GEMM of CTA pairs for sm_100: a TMA ring in both CTAs feeds multiplications of 256
// rows by tile_n columns; tile_n, stages, majors and types are chosen at launch. This file owns
// roles, start and end; producer.h, mma.h, slices.h and kernels/output.h are the roles.
//
// Roles (256 threads)   warp 0 producer (1 lane) | warp 1 mma (1 lane, leader only) | warp 2 owns
//                       tensor memory | warp 3 output (1 lane) | warps 4-7 epilogue, 32 rows each
// Pipelines             producer -> consumer    full arrives             empty arrives
//   operands (stages)   producers -> mma        leader's: 2, one per     1 commit, in both CTAs
//                                               CTA, + their TMA bytes
//   accumulators (2)    mma -> epilogues        1 commit, in both CTAs   leader's: 8, 1 lane of
//                                                                        every epilogue warp of
//                                                                        both
//   staging (2)         output -> epilogue      1 (+ TMA bytes of C)     1 lane of every warp: 4
// Timeline, per tile    producer  k: wait empty -> expect bytes at the leader -> TMA a, b
//                       mma       wait accumulator empty; k: wait full -> mma x 4 -> commit empty;
//                                 commit accumulator full
//                       epilogue  wait accumulator full; per slice: load accumulators (last slice:
//                                 release them) -> wait staging full -> combine -> write -> arrive
//                       output    per slice: offer buffer (load C) ... wait written -> TMA store
// The epilogue of a tile overlaps the main loop of the next, which has the other accumulator.
#pragma once

#include "kernels/epilogue.h"
#include "kernels/maps.h"
#include "kernels/output.h"
#include "kernels/ptx/sync.h"
#include "kernels/sm100/cta.h"
#include "kernels/sm100/mma.h"
#include "kernels/sm100/producer.h"
#include "kernels/sm100/slices.h"

namespace bwgemm::sm100 {

inline constexpr int producer_warp = 0;
inline constexpr int mma_warp = 1;
inline constexpr int tensor_memory_warp = 2;
inline constexpr int output_warp = 3;
static_assert(threads == warp_threads * (output_warp + 1 + epilogue_warps));

BWGEMM_DEVICE void init_barriers(const Cta& cta) {
  cta.operands().init(cta.stages, pair_size, 1);
  cta.accumulator_ring().init(accumulators, 1, pair_size * epilogue_warps);
  cta.staging(Dtype::f32).ring.init(staging_buffers, 1, epilogue_warps);
  // The initialisation before uses by TMA, by commits and by the peer, behind a cluster barrier.
  ptx::fence_mbarrier_init();
}

// Initialises barriers and allocates tensor memory; returns its address.
BWGEMM_DEVICE std::uint32_t set_up(const KernelParams& params, const Cta& cta, int warp) {
  if (warp == producer_warp && ptx::elect_sync()) init_barriers(cta);
  if (warp == mma_warp && ptx::elect_sync()) prefetch_maps(params);
  __syncwarp();
  // The barriers' initialisation, released by its fence, before the peer's use of them; and the
  // peer's presence before the allocation that both make together.
  ptx::barrier_cluster_arrive_relaxed();
  ptx::barrier_cluster_wait();
  if (warp == tensor_memory_warp) {
    ptx::tcgen05_alloc<tensor_memory_columns>(cta.tensor_memory_slot());
    ptx::tcgen05_relinquish_alloc_permit();
  }
  // The allocation, and the address written to shared memory, before any thread's use. That the
  // peer has allocated too is known from its producer's arrivals, which follow its barrier.
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  return ptx::ld_shared(cta.tensor_memory_slot());
}

BWGEMM_DEVICE void run_output(const KernelParams& params, const Cta& cta, bool reads_c) {
  OutputRole output(params, cta.staging(params.d_type), cta.window(params.d_type), reads_c);
  output.store(params, Tiles(params, pair_size, 1));
  output.finish();
}

BWGEMM_DEVICE void run_role(const KernelParams& params, const Cta& cta, int warp,
                            std::uint32_t tensor_memory) {
  const Scaling scaling = load_scaling(params);
  const int k_blocks = k_blocks_to_run(params, scaling);
  if (warp > output_warp) {
    const bool has_product = k_blocks > 0;
    switch (params.d_type) {
      case Dtype::f32:
        return run_epilogue_of<Dtype::f32>(params, cta, tensor_memory, scaling, has_product);
      case Dtype::bf16:
        return run_epilogue_of<Dtype::bf16>(params, cta, tensor_memory, scaling, has_product);
      default: return run_epilogue_of<Dtype::f16>(params, cta, tensor_memory, scaling, has_product);
    }
  }
  if (warp == output_warp) {
    if (ptx::elect_sync()) run_output(params, cta, scaling.reads_c());
  } else if (k_blocks > 0 && warp == producer_warp) {
    if (ptx::elect_sync()) run_producer(params, cta, k_blocks);
  } else if (k_blocks > 0 && warp == mma_warp && cta.rank == leader) {
    if (ptx::elect_sync()) run_mma(params, cta, tensor_memory, k_blocks);
  }
}

template <KernelConfig config>
BWGEMM_DEVICE void gemm(const KernelParams& params) {
  static_assert(sm100::invalid_because(config) == nullptr);
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const Cta cta(params, static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory)),
                ptx::cluster_ctarank());
  // Uniform for the compiler too.
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / warp_threads, 0);

  const std::uint32_t tensor_memory = set_up(params, cta, warp);
  ptx::griddepcontrol_wait();  // what grids before this one wrote before anything is read
  run_role(params, cta, warp, tensor_memory);
  __syncwarp();  // the elected lane back with the others, which the aligned instructions below need
  // Both CTAs' loads from tensor memory before its release, and the peer's arrivals on this CTA's
  // barriers before its exit.
  ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();
  if (warp == tensor_memory_warp) ptx::tcgen05_dealloc<tensor_memory_columns>(tensor_memory);
}

}  // namespace bwgemm::sm100
