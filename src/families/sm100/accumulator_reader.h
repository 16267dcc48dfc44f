// SPDX-License-Identifier: Apache-2.0
// AccumulatorReader: what the epilogue of a tile starts from: accumulators in tensor memory or,
// with split-K, the sum of what all splits left in the workspace. Every CTA leaves its partial sums
// of a split there. The last of a tile's splits to arrive adds all of them in the order of the
// splits, so that the result does not depend on who was last. Nobody waits for anybody.
//
// A thread owns one row of a block of 128: a lane of tensor memory.
#pragma once

#include "device/ptx/global_memory.h"
#include "device/ptx/sync.h"
#include "device/ptx/tcgen05.h"
#include "device/trace.h"
#include "families/sm100/walk.h"

namespace bwgemm::sm100 {

// This thread's lane of `columns` accumulators from `address` on.
template <int columns>
BWGEMM_DEVICE void load_accumulators(float (&values)[columns], std::uint32_t address) {
  static_assert(columns % 32 == 0 || columns == 16);
  if constexpr (columns == 16)
    ptx::tcgen05_ld_32x32b_x16(values, address);
  else
#pragma unroll
    for (int column = 0; column < columns; column += 32)
      ptx::tcgen05_ld_32x32b_x32(values + column, address + column);
  ptx::tcgen05_wait_ld();  // the registers written before their use
  // Nothing tells the compiler that the wait completes them; an empty volatile statement that seems
  // to change them keeps their uses behind it.
#pragma unroll
  for (float& value : values) asm volatile("" : "+f"(value)::"memory");
}

template <KernelConfig config>
class AccumulatorReader {
 public:
  BWGEMM_DEVICE AccumulatorReader(const KernelParams& params, const Cta<config>& cta,
                                  std::uint32_t tensor_memory, int k_blocks)
      : cta_(cta),
        ring_(cta.accumulator_ring()),
        released_(groups_of(config).ctas == 2 ? ptx::mapa(ring_.empty_address, cta.leader())
                                              : ring_.empty_address),
        tensor_memory_(tensor_memory + (quarter() << 16)),
        k_blocks_(k_blocks),
        splits_(params.splits) {}

  // Waits for the sums at which `walk` stands. True if the tile is this CTA's to finish: always
  // where it is whole, else in the last CTA to hand in a split's sums; its counter is zero again.
  BWGEMM_DEVICE bool begin(const KernelParams& params, const Walk<config, true>& walk,
                           Trace& trace) {
    trace(TraceEvent::wait_sums);
    has_product_ =
        k_split<config.tile.k>(params, walk, walk.is_split(params), k_blocks_).blocks() > 0;
    if (has_product_) {
      ring_.wait_full(at_);  // the multiplications' writes before the loads
      ptx::tcgen05_fence_after_thread_sync();
    }
    trace(TraceEvent::epilogue);
    is_split_ = walk.is_split(params);
    if (!is_split_) return true;
    const std::uint32_t tile = walk.split_number(params) * cta_.cluster_size + cta_.rank;
    partials_ = params.partials + static_cast<std::int64_t>(tile) * splits_ * partial_floats() +
                threadIdx.x % cta_rows * unit;
    leave(partials_ + static_cast<std::int64_t>(walk.split(params)) * partial_floats());
    return is_last(params.arrivals + tile);
  }

  // This thread's `columns` sums from `column` on. Blocks of rows are read one after the other, and
  // the last column of a block at its end: its accumulators are free then.
  template <int columns>
  BWGEMM_DEVICE void read(float (&sums)[columns], int row_block, int column) {
    if (is_split_)
      add_splits(sums, row_block, column);
    else
      take(sums, row_block, column);
  }

  // The same in two steps: where the sums are accumulators, those of a block are loaded, the last
  // ones by load(), before it is handed back.
  BWGEMM_DEVICE bool are_accumulators() const { return has_product_ && !is_split_; }
  template <int columns>
  BWGEMM_DEVICE void read_some(float (&sums)[columns], int row_block, int column) const {
    if (is_split_)
      add_splits(sums, row_block, column);
    else
      load_if_any(sums, row_block, column);
  }
  template <int columns>
  BWGEMM_DEVICE void load(float (&sums)[columns], int row_block, int column) const {
    const int block = at_.stage * cta_tiles(config).row_blocks + row_block;
    load_accumulators(sums, tensor_memory_ + block * cta_tiles(config).most_columns + column);
  }
  BWGEMM_DEVICE void hand_back(int row_block) {
    // All loads of the block's accumulators by the warp before their next multiplications.
    ptx::tcgen05_fence_before_thread_sync();
    __syncwarp();
    if (ptx::laneid() == 0) {
      const std::uint32_t released = cta_.rows_empty(released_, at_, row_block);
      if constexpr (groups_of(config).ctas == 2)
        ptx::mbarrier_arrive_relaxed_cluster(released);
      else
        ptx::mbarrier_arrive(released);
    }
    if (row_block + 1 == cta_tiles(config).row_blocks) at_.advance(config.choices.accumulators);
  }

  // The thread's row in each block, and the first of its warp's.
  BWGEMM_DEVICE static std::uint32_t row() { return threadIdx.x % cta_rows; }
  BWGEMM_DEVICE static std::uint32_t quarter() {
    return threadIdx.x / warp_threads % epilogue_warps * warp_threads;
  }

 private:
  static constexpr int unit = 4;  // floats that lie together in partial sums
  static constexpr int step = cta_tiles(config).columns_at_once;
  static constexpr int barrier = 1;
  static constexpr int in_flight = 64;  // registers for what the last split reads back

  BWGEMM_DEVICE int partial_floats() const { return cta_.rows * cta_.tile_n; }

  // A CTA's sums of a split: units of four columns, in each the rows one after the other.
  BWGEMM_DEVICE static float* unit_of(float* from, int tile_n, int row_block, int column) {
    return from + (row_block * tile_n + column) * cta_rows;
  }

  BWGEMM_DEVICE void leave(float* to) {
#pragma unroll 1
    for (int row_block = 0; row_block < cta_tiles(config).row_blocks; ++row_block)
#pragma unroll 1
      for (int done = 0; done < cta_.tile_n; done += step) {
        const int column = min(done, cta_.tile_n - step);  // of the last step some a second time
        float sums[step];
        take(sums, row_block, column);
        float* const first = unit_of(to, cta_.tile_n, row_block, column);
#pragma unroll
        for (int i = 0; i < step; i += unit)
          ptx::st_global_v4_f32(first + i * cta_rows, sums[i], sums[i + 1], sums[i + 2],
                                sums[i + 3]);
      }
  }

  BWGEMM_DEVICE bool is_last(std::uint32_t* arrivals) const {
    // The sums of every thread before the arrival of one.
    ptx::barrier_sync(barrier, cta_rows);
    bool last = false;
    if (row() == 0) {
      // Releases this split's sums to, and acquires the others' for, the CTA that is last.
      last = ptx::atom_add_acq_rel_gpu(arrivals, 1) == splits_ - 1;
      if (last) ptx::st_global(arrivals, 0);  // nobody else arrives in this launch
    }
    // The arrival before the reads of every thread.
    return ptx::barrier_red_or(barrier, cta_rows, last);
  }

  template <int columns>
  BWGEMM_DEVICE void take(float (&sums)[columns], int row_block, int column) {
    load_if_any(sums, row_block, column);
    if (has_product_ && column + columns >= cta_.tile_n) hand_back(row_block);
  }
  template <int columns>
  BWGEMM_DEVICE void load_if_any(float (&sums)[columns], int row_block, int column) const {
    if (has_product_) return load(sums, row_block, column);
#pragma unroll
    for (float& sum : sums) sum = 0;
  }

  template <int columns>
  BWGEMM_DEVICE void add_splits(float (&sums)[columns], int row_block, int column) const {
    // Loads in flight: of several splits where a thread has few columns of each.
    constexpr int splits_at_once = columns < in_flight ? in_flight / columns : 1;
#pragma unroll
    for (float& sum : sums) sum = 0;
    const float* const first = unit_of(partials_, cta_.tile_n, row_block, column);
#pragma unroll 1
    for (std::uint32_t split = 0; split < splits_; split += splits_at_once) {
      float values[splits_at_once][columns];  // all loads first
#pragma unroll
      for (int j = 0; j < splits_at_once; ++j) {
        // Past the last split: any split, not added.
        const float* const from =
            first + static_cast<std::int64_t>(min(split + j, splits_ - 1)) * partial_floats();
#pragma unroll
        for (int i = 0; i < columns; i += unit)
          ptx::ld_global_v4_f32(from + i * cta_rows, values[j][i], values[j][i + 1],
                                values[j][i + 2], values[j][i + 3]);
      }
#pragma unroll
      for (int j = 0; j < splits_at_once; ++j) {
        if (split + j >= splits_) break;
#pragma unroll
        for (int i = 0; i < columns; ++i) sums[i] += values[j][i];
      }
    }
  }

  const Cta<config>& cta_;
  Ring ring_;
  std::uint32_t released_;       // the leader's empty barriers
  std::uint32_t tensor_memory_;  // this warp's quarter
  int k_blocks_;
  std::uint32_t splits_;
  float* partials_ = nullptr;  // this thread's, of the tile's first split
  bool is_split_ = false;
  bool has_product_ = false;
  Cursor at_;
};

}  // namespace bwgemm::sm100
