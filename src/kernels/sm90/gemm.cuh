// SPDX-License-Identifier: Apache-2.0
// Cooperative persistent GEMM for sm_90a: a TMA ring feeds one to three consumer warpgroups that
// share one output tile; output leaves through staging buffers, or from registers. This file owns
// roles, start and end; roles: producer.h, consumer.h with split.h, cluster_sums.h, slices.h and
// register_stores.h, and kernels/output.h.
//
// Roles                warp 0: producer (1 lane) | warps 1 to 3: output of consumer 0 to 2 (1 lane;
//                      all where D is stored line by line: line_stores.h)
//                      warpgroups 1 to 3: consumers 0 to 2 with 64 or 128 rows of the tile each
// Pipelines            producer -> consumer    full arrives             empty arrives
//   operands (stages)  producer -> consumers   1 + TMA bytes, those of  1 lane of each warp of each
//                                              peers' loads included    CTA that shares A or B
//   staging            output   -> consumer    1 (+ TMA bytes of C)     1 lane of each warp: 4
//     (staging_depth() per consumer)
// Timeline, per tile   producer  k: wait empty -> expect bytes -> TMA a, b
//   (or slice of its   consumer  k: wait full -> wgmma x 4 -> commit -> wait for k-1 -> release k-1
//   k)                           wait for all -> release the last: the producer runs ahead
//                                with splits: leave sums -> last to arrive reads all -> tell output
//                                slices: wait staging full -> combine -> write -> fence -> arrive
//                      output    slices: offer buffer (load C) ... wait written -> TMA store
//
// Where slices do not divide a line of the tile, its last one begins inside the one before it and
// stores the same there again, once that has been written (overlaps_slices()).
//
// takes_turns: both consumers have tiles of their own, every second of the CTA's. One multiplies
// while the other stores: barriers 1 and 2 pass the tensor cores on. A slot is one consumer's.
//
// Stores::from_registers: consumers of narrow tiles in columns store D themselves. The output role
// has nothing to do then.
//
// Output::scattered: operands that start anywhere. All of warpgroup 0 is the producer, and moves
// what has landed (residue_producer.h). Consumers store D themselves (scatter.h); no output role.
#pragma once

#include "kernels/epilogue.h"
#include "kernels/maps.h"
#include "kernels/output.h"
#include "kernels/ptx/sync.h"
#include "kernels/sm90/consumer.h"
#include "kernels/sm90/cta.h"
#include "kernels/sm90/line_stores.h"
#include "kernels/sm90/producer.h"
#include "kernels/sm90/residue_producer.h"

namespace bwgemm::sm90 {

inline constexpr int producer_warp = 0, staging_warp = 1, prefetching_warp = 2;
inline constexpr int ring_barrier = 4;  // 1 to 3 are those of turns, or of sums of slices

// The barriers of the ring, made by two warps: one barrier takes 14 clocks. Output::scattered: the
// producers alone.
template <KernelConfig config>
BWGEMM_DEVICE void init_operands(const Cta<config>& cta, int warp) {
  constexpr bool is_scattered = config.output == Output::scattered;
  const Ring ring = cta.operands();
  if (warp == producer_warp) ring.init_full(config.stages, is_scattered ? warps_per_warpgroup : 1);
  if (warp == (is_scattered ? producer_warp : staging_warp))
    ring.init_empty(config.stages, cta.empty_arrivals);
  if constexpr (is_scattered)
    if (warp == producer_warp)
      for (int stage = 0; stage < config.stages; ++stage)
        Barrier{cta.landed(stage)}.init(warps_per_warpgroup);
}

// What the second warp makes besides, once the producer need not wait for it.
template <KernelConfig config>
BWGEMM_DEVICE void init_staging(const Params<config>& params, const Cta<config>& cta) {
  if constexpr (config.output != Output::scattered)
    cta.all_staging().init(cta.all_staging_buffers, 1, warps_per_warpgroup);
  if (cta.has_cluster_of_slices(params)) ClusterSums<config>::init(cta);
  ptx::fence_mbarrier_init();
}

// Leaves barriers initialised for every thread that goes on, and for every peer. The producer, for
// whom everybody waits, waits for the second warp and its peers alone.
template <KernelConfig config>
BWGEMM_DEVICE void set_up(const Params<config>& params, const Cta<config>& cta, int warp) {
  constexpr bool is_scattered = config.output == Output::scattered;
  if (warp <= staging_warp) {
    if (ptx::elect_sync()) {
      init_operands(cta, warp);
      ptx::fence_mbarrier_init();  // before uses by TMA and, with the cluster barrier, by peers
    }
    __syncwarp();  // the elected lane back with its warp, which aligned instructions need
  }
  if constexpr (cta.cluster_size > 1) ptx::barrier_cluster_arrive_relaxed();
  if (warp == staging_warp) {
    if constexpr (!is_scattered) ptx::barrier_arrive(ring_barrier, 2 * 32);
    if (ptx::elect_sync()) init_staging(params, cta);
    __syncwarp();
  }
  if (warp == prefetching_warp) {
    if constexpr (is_scattered) {
      prefetch_residue_maps(params);
    } else if (ptx::elect_sync()) {
      prefetch_maps(params);
      prefetch_rest_maps<config>(params);
    }
    __syncwarp();
  }
  // Consumers wait for their peers when they need them, others before they exit.
  if (cta.has_cluster_of_slices(params)) ptx::barrier_cluster_arrive_relaxed();
  if (warp == producer_warp) {
    if constexpr (!is_scattered) ptx::barrier_sync(ring_barrier, 2 * 32);
    if constexpr (cta.cluster_size > 1) ptx::barrier_cluster_wait();
    ptx::barrier_arrive(0, threads(config));  // loads start at once
  } else {
    ptx::barrier_sync(0, threads(config));
    if constexpr (cta.cluster_size > 1) ptx::barrier_cluster_wait();  // at once
  }
}

// Where k is split, the consumer says of each slice of k first whether it has the tile's sums. C is
// loaded and D stored only then, so that nobody reads C when another CTA stores D over it.
template <KernelConfig config, class Role>
BWGEMM_DEVICE void store_tiles(const KernelParams& params, const Cta<config>& cta, int warpgroup,
                               Role output) {
  Tiles tiles = cta.tiles(params, warpgroup);
  while (tiles.valid()) {
    const bool is_sliced = cta.is_sliced(params, tiles);
    const Tiles next = is_sliced ? tiles.alone() : tiles.whole_ones(params);
    if (!is_sliced || output.read_message(cta.has_sums(warpgroup)) != 0) output.store(params, next);
    tiles.advance_behind(next);
  }
  output.finish();
}

template <KernelConfig config>
BWGEMM_DEVICE void run_output(const KernelParams& params, const Cta<config>& cta, int warpgroup) {
  if (cta.stores_from_registers(params)) return;
  const StagingBuffers staging = cta.staging(warpgroup);
  const auto window = [&](bool has_gate) { return cta.window(warpgroup, params.d_type, has_gate); };
  if constexpr (can_store_lines(config))
    if (params.stores == Stores::by_lines) {
      store_tiles(params, cta, warpgroup, LineStores<config>(params, staging, window(false)));
      return;
    }
  if (!ptx::elect_sync()) return;
  const bool has_gate = can_gate(config) && params.fused.has(operation::gate);
  const bool reads_c = beta_of<config>(params) != 0 && !params.fused.has(operation::loads_c);
  using Role = OutputRole<3, overlaps_slices(config)>;
  store_tiles(params, cta, warpgroup, Role(params, staging, window(has_gate), reads_c));
}

// Warpgroup 0: its roles are single threads, but for the producer of operands that are moved and
// outputs that store lines. Everybody waits for the producer, so it asks for no parameter that only
// outputs need: the first to read a line of them waits for memory.
template <KernelConfig config>
BWGEMM_DEVICE void run_warpgroup0(const Params<config>& params, const Cta<config>& cta, int warp) {
  const auto k_blocks = [&] { return k_blocks_to_run(params, load_scalar(params.alpha)); };
  if constexpr (config.output == Output::scattered) {
    run_residue_producer(params, cta, warp, k_blocks());
  } else if (warp == producer_warp) {
    if (ptx::elect_sync()) run_producer(params, cta, k_blocks());
  } else if (warp <= consumer_warpgroups(config)) {
    run_output(params, cta, warp - 1);
  }
}

template <KernelConfig config>
BWGEMM_DEVICE void gemm(const Params<config>& params) {
  static_assert(sm90::invalid_because(config) == nullptr);
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const Cta<config> cta{static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory)),
                        config.cluster.size() == 1 ? 0 : ptx::cluster_ctarank()};
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);  // uniform for the compiler too
  set_up(params, cta, warp);
  ptx::griddepcontrol_wait();  // what grids before this one wrote before anything is read
  if (warp < warps_per_warpgroup) {
    if constexpr (moves_registers(config)) ptx::setmaxnreg_dec<registers(config).producer>();
    run_warpgroup0(params, cta, warp);
    if (cta.has_cluster_of_slices(params)) {
      __syncwarp();  // single lanes back with their warps, which the aligned barrier needs
      ptx::barrier_cluster_wait();
    }
  } else {
    if constexpr (moves_registers(config)) ptx::setmaxnreg_inc<registers(config).consumer>();
    const Scaling scaling = scaling_of<config>(params);
    run_consumer(params, cta, warp / warps_per_warpgroup - 1, scaling,
                 k_blocks_to_run(params, scaling.alpha));
  }
}

}  // namespace bwgemm::sm90
