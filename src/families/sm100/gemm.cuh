// SPDX-License-Identifier: Apache-2.0
// The Blackwell GEMM (sm_100), warp-specialized: TMA fills a ring of operand stages, one thread
// issues tcgen05.mma of 256 rows (Family::pair, 2-SM) or 128 (Family::single, 1-SM) by tile_n
// columns into tensor memory, four warps run the epilogue. tile_n, stages, majors and types are
// chosen at launch. README.md explains the family. This file owns roles, start and end.
//
// Roles (256 threads)   warp 0 producer (1 lane) | warp 1 mma (1 lane, leaders only) | warp 2 owns
//                       tensor memory, scheduler (1 lane, launch control only) | warp 3 output (1
//                       lane) | warps 4-7 epilogue, 32 rows each | where operands may start
//                       anywhere, 256 threads more: warps 8-15 loaders (loaders.h)
// Pipelines             producer -> consumer    full arrives             empty arrives
//   operands (stages)   producers -> mma        leader's: 1 per CTA of   1 commit of each group, in
//                                               its group, + their       all CTAs
//                                               TMA bytes; 1 lane of
//                                               each loader
//   accumulators (1, 2) mma -> epilogues        1 commit, in all CTAs    leader's, of each block of
//                                               of the group             rows: 4 per CTA, one lane
//                                                                        of every epilogue warp
//   tensor memory       mma -> its owners       1, in both CTAs of the
//                                               pair, at the end
//   staging (2)         output -> epilogue      1 (+ TMA bytes of C)     1 lane of every warp: 4
//   responses (3)       scheduler.h
// Timeline, per tile    producer  k: wait empty -> expect bytes at the leader -> TMA a, b
//   (or split of its    mma       wait accumulator empty; k: wait full -> mma x 4 -> commit empty;
//   k)                            commit accumulator full
//                       epilogue  wait accumulator full; split of k: leave sums -> last to arrive
//                                 goes on; per box: load sums (at the last of a block of rows:
//                                 release it) -> wait staging full -> combine -> write -> arrive
//                       output    per box: offer buffer (load C) ... wait written -> TMA store
// With two accumulators the epilogue of a tile overlaps the main loop of the next. With one the
// last boxes of a block of rows are loaded before the first of them is staged (boxes.h), and the
// next main loop begins with the block that is released first (mma.h).
#pragma once

#include "device/output.h"
#include "device/ptx/sync.h"
#include "families/sm100/epilogue.h"
#include "families/sm100/mma.h"
#include "families/sm100/producer.h"

namespace bwgemm::sm100 {

// Parts that only some kernels have: their images include them (image_headers() in facts.h).
template <KernelConfig config>
BWGEMM_DEVICE int loader_arrivals(const KernelParams& params);  // has_loaders(): loaders.h
template <KernelConfig config>
BWGEMM_DEVICE void run_loader(const KernelParams& params, const Cta<config>& cta, int k_blocks);
template <KernelConfig config>
BWGEMM_DEVICE void init_responses(const Cta<config>& cta);  // launch control: scheduler.h
template <KernelConfig config>
BWGEMM_DEVICE void run_scheduler(const KernelParams& params, const Cta<config>& cta);

inline constexpr int producer_warp = 0;
inline constexpr int mma_warp = 1;
inline constexpr int tensor_memory_warp = 2;
inline constexpr int output_warp = 3;
inline constexpr int first_loader_warp = output_warp + 1 + epilogue_warps;
static_assert(role_threads == warp_threads * first_loader_warp);

template <KernelConfig config>
BWGEMM_DEVICE void init_accumulators(const Cta<config>& cta) {
  const Ring ring = cta.accumulator_ring();
  Cursor at;
  for (; at.stage < config.choices.accumulators; ++at.stage) {
    ring.full(at).init(1);
    for (int rows = 0; rows < cta_tiles(config).row_blocks; ++rows)
      Barrier{cta.rows_empty(ring.empty_address, at, rows)}.init(cta.group_size * epilogue_warps);
  }
  if constexpr (groups_of(config).ctas == 2) cta.tensor_memory_read().init(1);
}

template <KernelConfig config>
BWGEMM_DEVICE void init_barriers(const KernelParams& params, const Cta<config>& cta) {
  int arrivals = cta.group_size;
  if constexpr (has_loaders(config)) arrivals += loader_arrivals<config>(params);
  cta.operands().init(cta.stages, arrivals, cta.group_count);
  init_accumulators(cta);
  if constexpr (config.store != Store::elements)
    cta.staging(Dtype::f32).ring.init(staging_buffers, 1, epilogue_warps);
  if constexpr (config.choices.schedule == Schedule::launch_control) init_responses(cta);
  // The initialisation before uses by TMA, by commits and by peers, behind a barrier of them all.
  ptx::fence_mbarrier_init();
}

// The meeting of all threads of the cluster, behind their roles. No memory of other CTAs is left to
// be ordered: each role has waited for the last bytes and arrivals that other CTAs send to its own,
// and the mma role tells both CTAs of a pair when all of the pair's loads from tensor memory are
// over. So the arrival is relaxed, and costs no fence of the whole GPU.
template <KernelConfig config>
BWGEMM_DEVICE void synchronise() {
  if constexpr (config.cluster.size() > 1) {
    ptx::barrier_cluster_arrive_relaxed();
    ptx::barrier_cluster_wait();
  } else {
    __syncthreads();
  }
}

// Initialises barriers and allocates tensor memory; returns its address.
template <KernelConfig config>
BWGEMM_DEVICE std::uint32_t set_up(const MappedParams& params, const Cta<config>& cta, int warp) {
  if (warp == producer_warp && ptx::elect_sync()) init_barriers(params, cta);
  if constexpr (config.choices.prefetches_maps)
    if (warp == mma_warp && ptx::elect_sync()) prefetch_maps<config>(params);
  __syncwarp();
  if constexpr (config.cluster.size() > 1) {
    // The barriers' initialisation, released by its fence, before the peers' use of them; and the
    // peer's presence before the allocation that a pair makes together.
    ptx::barrier_cluster_arrive_relaxed();
    ptx::barrier_cluster_wait();
  }
  if (warp == tensor_memory_warp) {
    ptx::tcgen05_alloc<groups_of(config).ctas, cta_tiles(config).tensor_memory_columns>(
        cta.tensor_memory_slot());
    ptx::tcgen05_relinquish_alloc_permit<groups_of(config).ctas>();
  }
  // The allocation, and the address written to shared memory, before any thread's use. That the
  // peer has allocated too is known from its producer's arrivals, which follow its barrier.
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  return ptx::ld_shared(cta.tensor_memory_slot());
}

// Stores tile by tile where the next tile is not known or may be another CTA's: the epilogue first
// says of each split of k whether this CTA has the tile's sums. Only then C is loaded and D stored,
// so that nobody reads C when another CTA stores D over that C.
template <KernelConfig config>
BWGEMM_DEVICE void run_output(const MappedParams& params, const Cta<config>& cta, bool reads_c) {
  OutputRole<config.choices.map_rank> output(params, cta.staging(params.d_type),
                                             cta.window(params.d_type), reads_c);
  Walk<config> walk(params, cta);
  if constexpr (config.choices.schedule != Schedule::launch_control) {
    const Walk<config> whole = walk.whole_ones(params);
    output.store(params, whole);
    walk.advance_behind(whole);
  }
  for (; walk.valid(); walk.advance())
    if (!walk.is_split(params) || output.read_message(cta.has_sums()) != 0)
      output.store(params, AloneTile(walk.at(params)));
  output.finish();
}

template <KernelConfig config>
BWGEMM_DEVICE void run_role(const MappedParams& params, const Cta<config>& cta, int warp,
                            std::uint32_t tensor_memory) {
  const Scaling scaling = load_scaling(params);
  const int k_blocks = k_blocks_to_run(params, scaling.alpha);
  __syncwarp();  // every lane's reads before the arrivals of the one that takes the warp's role
  if (has_loaders(config) && warp >= first_loader_warp) {
    if constexpr (has_loaders(config)) run_loader(params, cta, k_blocks);
  } else if (warp > output_warp) {
    run_epilogue(params, cta, tensor_memory, scaling, k_blocks);
  } else if (!ptx::elect_sync()) {
    return;
  } else if (warp == output_warp) {
    if constexpr (config.store != Store::elements)
      run_output(params, cta, scaling.reads_c() && !params.fused.has(operation::loads_c));
  } else if (warp == producer_warp) {
    run_producer(params, cta, k_blocks);
  } else if (warp == mma_warp && cta.rank_in_group() == 0) {
    run_mma(params, cta, tensor_memory, k_blocks);
  } else if (warp == tensor_memory_warp) {
    if constexpr (config.choices.schedule == Schedule::launch_control) run_scheduler(params, cta);
  }
}

template <KernelConfig config>
BWGEMM_DEVICE void gemm(const MappedParams& params) {
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const Cta<config> cta(params, static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory)),
                        config.cluster.size() == 1 ? 0 : ptx::cluster_ctarank());
  // Uniform for the compiler too.
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / warp_threads, 0);

  const std::uint32_t tensor_memory = set_up(params, cta, warp);
  ptx::griddepcontrol_wait();  // what grids before this one wrote before anything is read
  run_role(params, cta, warp, tensor_memory);
  __syncwarp();  // the elected lane back with the others, which the aligned instructions below need
  // The peers' arrivals on this CTA's barriers and writes to its memory before its exit.
  ptx::tcgen05_fence_before_thread_sync();
  synchronise<config>();
  if (warp == tensor_memory_warp) {
    // All loads from tensor memory of the group before its release.
    if constexpr (groups_of(config).ctas == 2) cta.tensor_memory_read().wait(0);
    ptx::tcgen05_fence_after_thread_sync();
    ptx::tcgen05_dealloc<groups_of(config).ctas, cta_tiles(config).tensor_memory_columns>(
        tensor_memory);
  }
}

}  // namespace bwgemm::sm100
