// SPDX-License-Identifier: Apache-2.0
// The Hopper GEMM (sm_90a), warp-specialized and persistent: a producer warp fills a ring of
// operand stages by TMA, one to three consumer warpgroups issue wgmma on one output tile
// (cooperative) or on a tile each (ping-pong). D leaves through staging buffers, by TMA, line by
// line or in pieces, or from registers. This file owns roles, start and end. The roles are in
// producer.h, consumer.h (with split.h and cluster_reduction.h for split-K, exit.h for epilogues)
// and device/output.h.
//
// Roles                warp 0: producer (one lane issues) | warps 1 to 3: output of consumer 0 to 2
//                      (1 lane; all where D is stored line by line: line_stores.h)
//                      warpgroups 1 to 3: consumers 0 to 2 with 64 or 128 rows of the tile each
// Pipelines            producer -> consumer    full arrives             empty arrives
//   operands (stages)  producer -> consumers   1 + TMA bytes, those of  1 lane of each warp of each
//                                              peers' loads included    CTA that shares A or B
//   staging            output   -> consumer    1 (+ TMA bytes of C)     1 lane of each warp: 4
//     (Layout::staging_depth per consumer)
// Timeline, per tile   producer  k: wait empty, after the first round -> expect bytes -> TMA a, b
//   (or split of its   consumer  k: wait full -> wgmma x 4 -> commit -> wait for k-1 -> release k-1
//   k)                           wait for all -> release the last: the producer runs ahead
//                                biases, on their way since the start, go to shared memory (or
//                                behind the sums: Parts::loads_biases_late)
//                                with splits: leave sums -> last to arrive reads all -> tell output
//                                boxes: wait staging full -> combine -> write -> fence -> arrive
//                      output    boxes: offer buffer (load C) ... wait written -> TMA store
//
// In ping-pong kernels each of two consumers has tiles of its own, every second of the CTA's, and a
// slot is one consumer's. Where consumers store D themselves (Stores::from_registers,
// from_staging, in_pieces), the output role has nothing to do.
//
// Rows of A that start anywhere are copied by the consumers (Load::loose_a, loose_rows.h); the
// producer then loads B alone. Other operands that start anywhere have a kernel of their own,
// shifted/gemm.cuh.
#pragma once

#include "device/epilogue.h"
#include "device/output.h"
#include "device/ptx/sync.h"
#include "families/sm90/consumer.h"
#include "families/sm90/cta.h"
#include "families/sm90/exit.h"
#include "families/sm90/fused_boxes.h"
#include "families/sm90/producer.h"

namespace bwgemm::sm90 {

// Parts that only some kernels have: their images include them (image_headers() in facts.h).
template <KernelConfig config>
class LineStores;  // Parts::stores_lines: line_stores.h

inline constexpr int producer_warp = 0, barrier_warp = 1, prefetching_warp = 2;
inline constexpr int ring_barrier = 4;  // 1 to 3 are those of ping-pong, or of splits

// All barriers, by one lane: each takes 11 clocks, and three times as many where two warps make
// them at once.
template <KernelConfig config>
BWGEMM_DEVICE void init_barriers(const KernelParams& params, const Cta<config>& cta) {
  if (ptx::elect_sync()) {
    cta.operands().init(config.stages, 1, cta.empty_arrivals);
    cta.all_staging().init(cta.all_staging_buffers, 1, warps_per_warpgroup);
    if constexpr (parts_of(config).can_reduce_in_cluster())
      if (cta.has_cluster_of_splits(params)) ClusterReduction<config>::init(cta);
    ptx::fence_mbarrier_init();  // before uses by TMA and, with the cluster barrier, by peers
  }
  __syncwarp();  // the elected lane back with its warp, which aligned instructions need
}

// The CTAs of a cluster of splits wait for each other when they need each other, or before they
// exit.
template <KernelConfig config>
BWGEMM_DEVICE void arrive_as_split(const KernelParams& params, const Cta<config>& cta) {
  if (cta.has_cluster_of_splits(params)) ptx::barrier_cluster_arrive_relaxed();
}

// Run by all but the producer's warp. Barriers are then initialised for every thread that goes on,
// and for every peer.
template <KernelConfig config>
BWGEMM_DEVICE void set_up(const MappedParams& params, const Cta<config>& cta, int warp) {
  if (warp == barrier_warp) init_barriers(params, cta);
  if constexpr (cta.cluster_size > 1) ptx::barrier_cluster_arrive_relaxed();
  if (warp == barrier_warp) ptx::barrier_arrive(ring_barrier, 2 * 32);
  if (warp == prefetching_warp) {
    if (ptx::elect_sync()) prefetch_maps<config>(params);
    __syncwarp();
  }
  arrive_as_split(params, cta);
  ptx::barrier_sync(0, warpgroups_of(config).threads - 32);
  if constexpr (cta.cluster_size > 1) ptx::barrier_cluster_wait();  // at once
}

// Everybody waits for the first loads. So this warp makes no barrier, but finds its first tile
// while others make them and grids before this one end, and its code lies at the kernel's start:
// code from elsewhere takes as long as memory.
template <KernelConfig config>
BWGEMM_DEVICE void run_producer_warp(const MappedParams& params, const Cta<config>& cta) {
  if constexpr (cta.cluster_size > 1) ptx::barrier_cluster_arrive_relaxed();
  run_producer(params, cta, [&] {
    ptx::griddepcontrol_wait();    // what grids before this one wrote before anything is read
    arrive_as_split(params, cta);  // a branch: earlier, one line of parameters waits for another
    ptx::barrier_sync(ring_barrier, 2 * 32);
    if constexpr (cta.cluster_size > 1) ptx::barrier_cluster_wait();  // for peers' barriers
  });
}

// Where k is split, the consumer first says of each split whether this CTA has the tile's sums.
// Only then C is loaded and D stored, so that nobody reads C when another CTA stores D over that C.
template <KernelConfig config, class Role>
BWGEMM_DEVICE void store_tiles(const MappedParams& params, const Cta<config>& cta, int warpgroup,
                               Role output) {
  Tiles tiles = cta.tiles(params, warpgroup);
  while (tiles.valid()) {
    const bool is_split = cta.is_split(params, tiles);
    const Tiles next = is_split ? tiles.alone() : tiles.whole_ones(params);
    if (!is_split || output.read_message(cta.has_sums(warpgroup)) != 0) output.store(params, next);
    tiles.advance_behind(next);
  }
  output.finish();
}

template <KernelConfig config>
BWGEMM_DEVICE void run_output(const MappedParams& params, const Cta<config>& cta, int warpgroup) {
  if (!cta.has_output_role(params)) return;
  const StagingBuffers staging = cta.staging(warpgroup);
  const auto window = [&](bool has_gate) { return cta.window(warpgroup, params.d_type, has_gate); };
  if constexpr (parts_of(config).stores_lines)
    if (params.stores == Stores::by_lines) {
      store_tiles(params, cta, warpgroup,
                  LineStores<config>(params, staging, window(false), warpgroup));
      return;
    }
  if (!ptx::elect_sync()) return;
  constexpr bool can_gate = parts_of(config).gates != Gates::none;
  const bool has_gate = can_gate && params.fused.has(operation::gate);
  const bool reads_c = beta_of<config>(params) != 0 && !params.fused.has(operation::loads_c);
  using Role = OutputRole<3, staged_boxes(config).overlap>;
  store_tiles(params, cta, warpgroup, Role(params, staging, window(has_gate), reads_c, warpgroup));
}

// A warp that did not need its peers waits for them here: that no thread leaves between its arrival
// and its wait is all that the cluster's barrier promises.
template <KernelConfig config>
BWGEMM_DEVICE void leave(const KernelParams& params, const Cta<config>& cta) {
  if (!cta.has_cluster_of_splits(params)) return;
  __syncwarp();  // single lanes back with their warps, which the aligned barrier needs
  ptx::barrier_cluster_wait();
}

// Warpgroup 0: outputs are single threads, but for those that store lines. Everybody waits for the
// producer, so it asks for no parameter that only outputs need: the first to read a line of them
// waits for memory. Branches are such that the producer takes none: the compiler lays out first
// what follows where they are not taken.
template <KernelConfig config>
BWGEMM_DEVICE void run_warpgroup0(const MappedParams& params, const Cta<config>& cta, int warp) {
  if (warp > producer_warp) {
    set_up(params, cta, warp);
    ptx::griddepcontrol_wait();
    if (warp <= warpgroups_of(config).consumers) run_output(params, cta, warp - 1);
    leave(params, cta);
    return;
  }
  run_producer_warp(params, cta);
  leave(params, cta);
}

template <KernelConfig config>
BWGEMM_DEVICE void run_consumer_warp(const MappedParams& params, const Cta<config>& cta, int warp) {
  set_up(params, cta, warp);
  ptx::griddepcontrol_wait();
  if constexpr (warpgroups_of(config).registers.are_moved())
    ptx::setmaxnreg_inc<warpgroups_of(config).registers.consumer>();
  const Scaling scaling = scaling_of<config>(params);
  run_consumer<TileExit<config, FusedBoxes<config>>>(
      params, cta, warp / warps_per_warpgroup - 1, scaling, k_blocks_to_run(params, scaling.alpha));
}

template <KernelConfig config>
BWGEMM_DEVICE void gemm(const MappedParams& params) {
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const Cta<config> cta{static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory)),
                        config.cluster.size() == 1 ? 0 : ptx::cluster_ctarank()};
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);  // uniform for the compiler too
  if (warp >= warps_per_warpgroup) {
    run_consumer_warp<config>(params, cta, warp);
    return;
  }
  if constexpr (warpgroups_of(config).registers.are_moved())
    ptx::setmaxnreg_dec<warpgroups_of(config).registers.producer>();
  run_warpgroup0<config>(params, cta, warp);
}

}  // namespace bwgemm::sm90
