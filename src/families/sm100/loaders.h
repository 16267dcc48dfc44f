// SPDX-License-Identifier: Apache-2.0
// The loader role: eight warps that load operands which TMA cannot address, whose lines start
// anywhere. A thread has units of 16 bytes of the slot, which it loads and shifts one by one
// (device/loose_unit.h) and stores where TMA would have put them; outside is zero.
//
// A step is 128 rows of a slot, of A or of B: four units of each thread. The loads of a step are
// under way while the one before is stored.
#pragma once

#include "device/loose_unit.h"
#include "device/ptx/shared_memory.h"
#include "device/trace.h"
#include "families/sm100/operands.h"
#include "families/sm100/walk.h"

namespace bwgemm::sm100 {

inline constexpr int loader_warps = loader_threads / warp_threads;
inline constexpr int row_units = swizzle_row_bytes / LoosePlace::unit_bytes;

// One lane of each loader warp, at the full barriers.
template <KernelConfig config>
BWGEMM_DEVICE int loader_arrivals(const KernelParams& params) {
  return has_map<config>(params.a, params.a_major) && has_map<config>(params.b, params.b_major)
             ? 0
             : loader_warps;
}

// An operand in memory, by rows of a slot: 64 elements of one m or n along k, or of one k along
// 64 of m or n, these chunk by chunk.
struct LoadedOperand {
  const StridedMatrix& matrix;
  Major major;
  int mn_end, k_end;

  // Eight elements of `row` in the slot of a tile and a block of k.
  BWGEMM_DEVICE LoosePlace place(int mn, int k, int batch, int row, int column,
                                 bool is_in_tile) const {
    const bool k_major = major == Major::k;
    mn += k_major ? row : row / 64 * 64 + column;
    k += k_major ? column : row % 64;
    const std::int64_t element =
        mn * matrix.outer_stride + k * matrix.inner_stride + batch * matrix.batch_stride;
    const bool has_line = is_in_tile && (k_major ? mn < mn_end : k < k_end);
    return {reinterpret_cast<std::uintptr_t>(matrix.data) + 2 * element,
            has_line ? (k_major ? k_end - k : mn_end - mn) : 0};
  }
};

// The walk over the steps of all tiles, from in front of the first.
template <KernelConfig config>
class LoaderSteps {
 public:
  BWGEMM_DEVICE LoaderSteps(const KernelParams& params, const Cta<config>& cta, int k_blocks)
      : walk_(params, cta),
        k_blocks_(k_blocks),
        first_(has_map<config>(params.a, params.a_major) ? 1 : 0),
        end_(has_map<config>(params.b, params.b_major)
                 ? 1
                 : 1 + (cta.tile_n + cta_rows - 1) / cta_rows),
        part_(end_ - 1) {}

  BWGEMM_DEVICE bool valid() const { return walk_.valid(); }
  BWGEMM_DEVICE void advance(const KernelParams& params, const Cta<config>& cta) {
    if (++part_ < end_) return;
    part_ = first_;
    if (++block_ < split_.end) return;
    to_next_tile(params, cta);
  }

  // 0: A; else 128 columns of B.
  BWGEMM_DEVICE int part() const { return part_; }
  BWGEMM_DEVICE bool begins_block(int part) const { return part == first_; }
  BWGEMM_DEVICE bool ends_block(int part) const { return part + 1 == end_; }
  BWGEMM_DEVICE std::uint32_t tile(const KernelParams& params) const {
    return walk_.number(params);
  }
  BWGEMM_DEVICE bool begins_tile() const { return part_ == first_ && block_ == split_.first; }
  BWGEMM_DEVICE int block() const { return block_; }
  BWGEMM_DEVICE int k() const { return block_ * config.tile.k; }
  BWGEMM_DEVICE int row() const { return row_; }
  BWGEMM_DEVICE int column() const { return column_; }
  BWGEMM_DEVICE int batch() const { return batch_; }

 private:
  // That has any blocks.
  BWGEMM_DEVICE void to_next_tile(const KernelParams& params, const Cta<config>& cta) {
    do {
      if (has_begun_) walk_.advance();
      has_begun_ = true;
      if (!walk_.valid()) return;
      split_ = k_split<config.tile.k>(params, walk_, walk_.is_split(params), k_blocks_);
    } while (split_.blocks() == 0);
    const TileIndex tile = walk_.at(params);
    row_ = cta.row(tile);
    column_ = cta.b_column(tile);
    batch_ = tile.batch;
    block_ = split_.first;
  }

  Walk<config> walk_;
  int k_blocks_;
  int first_, end_, part_;
  bool has_begun_ = false;
  KSplit split_{};
  int block_ = 0, row_ = 0, column_ = 0, batch_ = 0;
};

template <KernelConfig config>
class Loader {
 public:
  BWGEMM_DEVICE Loader(const KernelParams& params, const Cta<config>& cta)
      : a_{params.a, params.a_major, static_cast<int>(params.m), static_cast<int>(params.k)},
        b_{params.b, params.b_major, static_cast<int>(params.n), static_cast<int>(params.k)},
        b_lines_(held_b_columns(config, cta.tile_n, params.b_major)),
        y_row_(cta.is_stacked() ? cta.d_tile_n : b_lines_),
        to_y_(cta.b_to_y - cta.d_tile_n) {}

  BWGEMM_DEVICE void fetch(const LoaderSteps<config>& step) {
    part_ = step.part();
    const bool is_a = part_ == 0;
    const LoadedOperand& operand = is_a ? a_ : b_;
    LoosePlace places[units];
    bool are_whole = true;
#pragma unroll
    for (int i = 0; i < units; ++i) {
      const int first = is_a ? step.row() : step.column() + (row(i) < y_row_ ? 0 : to_y_);
      places[i] = operand.place(first, step.k(), step.batch(), row(i),
                                column() * LoosePlace::unit_elements, is_in_tile(i));
      are_whole = are_whole && places[i].is_whole();
    }
    if (are_whole) {
#pragma unroll
      for (int i = 0; i < units; ++i) units_[i].load_whole(places[i]);
    } else {
#pragma unroll
      for (int i = 0; i < units; ++i) units_[i].load_elements(places[i]);
    }
  }

  BWGEMM_DEVICE int part() const {
    return part_;
  }

  BWGEMM_DEVICE void store(const Cta<config>& cta, std::uint32_t stage) const {
    const std::uint32_t operand = part_ == 0 ? cta.a(stage) : cta.b(stage);
#pragma unroll
    for (int i = 0; i < units; ++i) {
      const std::uint32_t line = operand + row(i) * swizzle_row_bytes;
      if (!is_in_tile(i)) continue;
      std::uint32_t words[LooseUnit::words];
      units_[i].get_shifted(words);
      ptx::st_shared_v4(line + (column() ^ row(i) % row_units) * LoosePlace::unit_bytes, words[0],
                        words[1], words[2], words[3]);
    }
  }

 private:
  static constexpr int rows_at_once = loader_threads / row_units;
  static constexpr int units = cta_rows / rows_at_once;

  // Neighbours have the units of a row. In the slot of the operand.
  BWGEMM_DEVICE static int column() {
    return threadIdx.x % row_units;
  }
  BWGEMM_DEVICE int row(int i) const {
    const int first = part_ == 0 ? 0 : (part_ - 1) * cta_rows;
    return first + i * rows_at_once + threadIdx.x % loader_threads / row_units;
  }
  BWGEMM_DEVICE bool is_in_tile(int i) const {
    return part_ == 0 || row(i) < b_lines_;
  }

  LoadedOperand a_, b_;
  int b_lines_;       // in the slot
  int y_row_, to_y_;  // of a stacked gate: of B in the slot, and how much farther on it lies in B
  int part_ = 0;
  LooseUnit units_[units];
};

template <KernelConfig config>
BWGEMM_DEVICE void run_loader(const KernelParams& params, const Cta<config>& cta, int k_blocks) {
  if (loader_arrivals<config>(params) == 0) return;
  const Ring ring = cta.operands();
  LoaderSteps<config> steps(params, cta, k_blocks);
  Loader<config> next(params, cta);
  Cursor at;
  Trace trace(params, TraceRole::loader, 0, threadIdx.x % loader_threads == 0);
  for (bool has_loaded = false;; has_loaded = true) {
    const Loader<config> loaded = next;
    const int loaded_block = steps.block();
    steps.advance(params, cta);
    if (steps.valid()) {
      if (steps.begins_tile()) trace(TraceEvent::tile, steps.tile(params));
      trace(TraceEvent::issue, steps.block());
      next.fetch(steps);
    }
    if (has_loaded) {
      // The multiplications' reads of the slot's last contents before this thread's writes.
      trace(TraceEvent::wait_empty, loaded_block);
      if (steps.begins_block(loaded.part())) ring.wait_empty(at);
      trace(TraceEvent::move, loaded_block);
      loaded.store(cta, at.stage);
      if (steps.ends_block(loaded.part())) {
        ptx::fence_proxy_async_shared();  // this thread's writes before the reads of the products
        __syncwarp();                     // all lanes' writes and fences before the arrival of one
        if (ptx::laneid() == 0) ptx::mbarrier_arrive(ring.full(at).address);
        at.advance(cta.stages);
      }
    }
    if (!steps.valid()) return;
  }
}

}  // namespace bwgemm::sm100
