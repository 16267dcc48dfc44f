// SPDX-License-Identifier: Apache-2.0
// Split-K: the reduction through the workspace. Every warpgroup leaves its partial sums of a split
// in global memory. The last of a tile's splits to arrive adds all of them in the order of the
// splits, so that the result does not depend on who was last. Nobody waits for anybody. Splits that
// are the CTAs of a cluster are added by cluster_reduction.h.
#pragma once

#include "device/ptx/global_memory.h"
#include "device/ptx/sync.h"
#include "families/sm90/cta.h"

namespace bwgemm::sm90 {

// A warpgroup's view of the partial sums. A thread's accumulators lie in units of four,
// neighbouring threads next to each other.
template <KernelConfig config>
class WorkspaceReduction {
  static constexpr int count = warpgroups_of(config).accumulators;
  static constexpr int per_row_block = config.tile.n / 2;
  static constexpr int warpgroup_threads = 128;
  static constexpr int unit = 4;  // floats
  // Registers of loads in flight: part of a split, or several splits where they are small.
  static constexpr int spare =
      (warpgroups_of(config).registers.consumer - count - 48) / unit * unit;
  static constexpr int in_flight = spare < unit ? unit : spare < 96 ? spare : 96;
  static constexpr int chunk = count < in_flight ? count : in_flight;
  static constexpr int splits_at_once = in_flight / chunk;

 public:
  BWGEMM_DEVICE WorkspaceReduction(const KernelParams& params, std::uint32_t rank, int warpgroup)
      : rank_(rank), warpgroup_(warpgroup), splits_(params.splits) {}

  // Hands in the sums of the split at which `tiles` stands. True in the last warpgroup to do so for
  // its part of the tile, which then has the sums of all splits; its counter is zero again.
  BWGEMM_DEVICE bool sum(const KernelParams& params, const Tiles& tiles,
                         Accumulators<config>& sums) const {
    const std::uint32_t tile =
        (tiles.number(params) - params.whole_tiles) * config.cluster.size() + rank_;
    float* const first = params.partials + static_cast<std::int64_t>(tile) * splits_ * split_pitch +
                         warpgroup_ * (warpgroup_threads * count) +
                         threadIdx.x % warpgroup_threads * unit;
    write(first + static_cast<std::int64_t>(tiles.split(params)) * split_pitch, sums);
    if (!is_last(params.arrivals + tile * warpgroups_of(config).consumers + warpgroup_))
      return false;
    read_all(first, sums);
    return true;
  }

 private:
  static constexpr int split_pitch = config.tile.m * config.tile.n;

  BWGEMM_DEVICE static void write(float* to, const Accumulators<config>& sums) {
#pragma unroll
    for (int i = 0; i < count; i += unit) {
      const float* from = &sums[i / per_row_block][i % per_row_block];
      ptx::st_global_v4_f32(to + i * warpgroup_threads, from[0], from[1], from[2], from[3]);
    }
  }

  BWGEMM_DEVICE bool is_last(std::uint32_t* arrivals) const {
    // Constant where possible: with a number that ptxas does not know the kernel takes all 16
    // barriers.
    const int barrier = warpgroups_of(config).consumers == 1 ? 1 : 1 + warpgroup_;
    // The sums of every thread before the arrival of one.
    ptx::barrier_sync(barrier, warpgroup_threads);
    bool last = false;
    if (threadIdx.x % warpgroup_threads == 0) {
      // Releases this split's partial sums to the last warpgroup, which acquires those of the
      // others.
      last = ptx::atom_add_acq_rel_gpu(arrivals, 1) == splits_ - 1;
      if (last) ptx::st_global(arrivals, 0);  // nobody else arrives in this launch
    }
    // The arrival before the reads of every thread. From one lane: uniform for the compiler too.
    const int any = ptx::barrier_red_or(barrier, warpgroup_threads, last);
    return __shfl_sync(0xffffffff, any, 0) != 0;
  }

  BWGEMM_DEVICE void read_all(const float* from, Accumulators<config>& sums) const {
    clear<config>(sums);
#pragma unroll 1
    for (std::uint32_t split = 0; split < splits_; split += splits_at_once)
#pragma unroll
      for (int first = 0; first < count; first += chunk) add(from, split, first, sums);
  }

  // Adds `chunk` sums of each of splits_at_once splits. All loads first.
  BWGEMM_DEVICE void add(const float* from, std::uint32_t split, int first,
                         Accumulators<config>& sums) const {
    float values[splits_at_once][chunk];
#pragma unroll
    for (int j = 0; j < splits_at_once; ++j) {
      // Past the last split: any split, not added.
      const std::int64_t read = min(split + j, splits_ - 1);
      const float* const sums_of = from + read * split_pitch + first * warpgroup_threads;
#pragma unroll
      for (int i = 0; i < chunk; i += unit)
        if (first + i < count)
          ptx::ld_global_v4_f32(sums_of + i * warpgroup_threads, values[j][i], values[j][i + 1],
                                values[j][i + 2], values[j][i + 3]);
    }
#pragma unroll
    for (int j = 0; j < splits_at_once; ++j) {
      if (split + j >= splits_) break;
#pragma unroll
      for (int i = 0; i < chunk; ++i)
        if (first + i < count) {
          float& sum = sums[(first + i) / per_row_block][(first + i) % per_row_block];
          sum += values[j][i];
        }
    }
  }

  std::uint32_t rank_;
  int warpgroup_;
  std::uint32_t splits_;
};

}  // namespace bwgemm::sm90
