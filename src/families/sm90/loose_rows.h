// SPDX-License-Identifier: Apache-2.0
// Loose rows: A of Load::loose_a, whose rows run along k and may start at any element. Each
// consumer warp copies the 16 rows that it multiplies, in whole units of 16 bytes, to its part of a
// slot. It takes fragments of A for wgmma from there, two neighbours of k at a time, and shifts
// what begins inside of a word. B comes by TMA (producer.h).
//
// Pipeline   copies -> warp     groups of cp.async, as many on their way as there are slots:
//                               each lane waits for its own, then __syncwarp()
//            warp   -> copies   __syncwarp(): a warp's part of a slot is its own
// Timeline   k: wait for the group -> read fragments -> wait full (B) -> wgmma -> start the copies
//            of k + stages -> wait for wgmma -> release B
#pragma once

#include "device/ptx/cp_async.h"
#include "device/ptx/shared_memory.h"
#include "families/sm90/blocks.h"
#include "families/sm90/consumer.h"

namespace bwgemm::sm90 {

inline constexpr int loose_warp_rows = 16;

// Bytes from the 16-byte boundary at or before a row's first element to that element.
BWGEMM_DEVICE int bytes_before(const char* row) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % loose_unit_bytes);
}

// A warp's copies, block after block of all tiles.
template <KernelConfig config>
class LooseCopies {
  static constexpr int units = loose_warp_rows * loose_row_units;
  static constexpr int passes = (units + 31) / 32;

 public:
  // `first_row`: the warp's, of a tile.
  BWGEMM_DEVICE LooseCopies(const KernelParams& params, const Cta<config>& cta, int first_row,
                            int k_blocks)
      : blocks_(params, cta, k_blocks), first_row_(first_row) {
    locate(params);
  }

  // Starts the copies of the next block, if there is one, to the warp's part of a slot. They are a
  // group.
  BWGEMM_DEVICE void start(const KernelParams& params, const Cta<config>& cta, std::uint32_t to) {
    if (blocks_.valid()) {
      // Bytes of a row from the block on. What is copied of it begins bytes_before() earlier.
      const int left = 2 * static_cast<int>(params.k) - blocks_.block() * swizzle_row_bytes;
      if (left >= loose_row_bytes)
        copy(to, [](std::uint32_t at, const char* from, int) { ptx::cp_async_16(at, from); });
      else
        copy(to, [&](std::uint32_t at, const char* from, int i) {
          const int end = left + static_cast<int>((befores_ >> (4 * i)) & 15);
          ptx::cp_async_16(at, from, max(0, min(end - place(i), loose_unit_bytes)));
        });
      from_ += swizzle_row_bytes;
      blocks_.advance(params, cta);
      if (blocks_.starts_split()) locate(params);
    }
    ptx::cp_async_commit_group();
  }

 private:
  template <class Copy>
  BWGEMM_DEVICE void copy(std::uint32_t to, const Copy& copy_unit) const {
    const int lane = ptx::laneid();
#pragma unroll
    for (int i = 0; i < passes; ++i)
      if (units % 32 == 0 || i + 1 < passes || lane < units % 32)
        copy_unit(to + (i * 32 + lane) * loose_unit_bytes, from_ + offsets_[i], i);
  }

  // The lane's i-th unit: its row of the warp's, and where it lies in what is copied of the row.
  BWGEMM_DEVICE static int row(int i) {
    return (i * 32 + static_cast<int>(ptx::laneid())) / loose_row_units;
  }
  BWGEMM_DEVICE static int place(int i) {
    return (i * 32 + static_cast<int>(ptx::laneid())) % loose_row_units * loose_unit_bytes;
  }

  // Where the lane's units of the block lie. What is copied in place of rows behind the last is the
  // last one: nobody stores what becomes of it.
  BWGEMM_DEVICE void locate(const KernelParams& params) {
    if (!blocks_.valid()) return;
    const StridedMatrix& a = params.a;
    const int first = blocks_.row() + first_row_, last = static_cast<int>(params.m) - 1;
    from_ = static_cast<const char*>(a.data) +
            2 * (min(first, last) * a.outer_stride + blocks_.batch() * a.batch_stride) +
            blocks_.block() * swizzle_row_bytes;
    befores_ = 0;
#pragma unroll
    for (int i = 0; i < passes; ++i) {
      const int further = max(0, min(row(i), last - first));
      offsets_[i] = 2 * further * static_cast<int>(a.outer_stride);
      const int before = bytes_before(from_ + offsets_[i]);
      befores_ |= before << (4 * i);
      offsets_[i] += place(i) - before;
    }
  }

  Blocks<config> blocks_;
  int first_row_;
  const char* from_;       // the warp's first row, of the block
  int offsets_[passes];    // from there to units, in bytes
  std::uint32_t befores_;  // bytes_before() their rows, four bits each
};

// A consumer warp's side of the ring: its rows of A, and B. The members are those of OperandReader.
template <KernelConfig config>
class LooseReader {
  static constexpr int steps = config.tile.k / instruction_k(config.mma);
  using Fragments = std::uint32_t[steps][4];

 public:
  BWGEMM_DEVICE LooseReader(const KernelParams& params, const Cta<config>& cta, int warpgroup,
                            int k_blocks)
      : params_(params),
        cta_(cta),
        tiles_(cta.all_tiles(params)),
        ring_(cta.operands()),
        b_(computed_once(
            operand_descriptor(cta.b(0), config.b, chunk_of(config.b, config.tile.n)))),
        first_row_(cta.first_row(warpgroup) +
                   ptx::tid_x() / 32 % warps_per_warpgroup * loose_warp_rows),
        copies_(params, cta, first_row_, k_blocks) {
    for (int stage = 0; stage < config.stages; ++stage) copies_.start(params, cta, slot(stage));
  }

  // As OperandReader::multiply_tile().
  template <class BehindLast>
  BWGEMM_DEVICE void multiply_tile(const MmaTypes& types, Accumulators<config>& accumulators,
                                   int k_blocks, Trace& trace, const BehindLast& behind_last) {
    find_shift();
    multiply_by_types<config.mma>(*this, types, accumulators, k_blocks, trace, behind_last);
  }

  template <MmaTypes types, class BehindLast>
  BWGEMM_DEVICE void multiply_blocks(Accumulators<config>& accumulators, int k_blocks, Trace& trace,
                                     const BehindLast& behind_last) {
#pragma unroll 1
    for (int block = 0; block < k_blocks; ++block) {
      trace(TraceEvent::wait_full, block);
      ptx::cp_async_wait_group<config.stages - 1>();
      __syncwarp();  // copies of all lanes before the reads of any
      Fragments a;
      read(slot(at_.stage), a);
      __syncwarp();          // reads of all lanes before the copies of any to the same place
      ring_.wait_full(at_);  // the slot's TMA writes before the reads of wgmma
      trace(TraceEvent::multiply, block);
      multiply<types>(accumulators[0], a, block > 0);
      copies_.start(params_, cta_, slot(at_.stage));
      ptx::wgmma_wait_group<0>();  // reads of the slot and of the fragments, and all sums
      keep_behind_wait<config>(accumulators);
      if (ptx::laneid() == 0) ptx::mbarrier_arrive(ring_.empty(at_).address);
      at_.advance(config.stages);
    }
    behind_last();
  }

 private:
  BWGEMM_DEVICE std::uint32_t slot(std::uint32_t stage) const {
    return cta_.a(stage) + first_row_ * loose_row_bytes;
  }

  // Where the lane's rows of the tile begin in what is copied of them: its rows of a wgmma are 8
  // apart, and so begin equally far behind a boundary.
  BWGEMM_DEVICE void find_shift() {
    const TileIndex tile = tiles_.at(params_);
    const int row = cta_.row(tile) + first_row_ + static_cast<int>(ptx::laneid()) / 4;
    const std::int64_t element = row * params_.a.outer_stride + tile.batch * params_.a.batch_stride;
    before_ = bytes_before(static_cast<const char*>(params_.a.data) + 2 * element);
    tiles_.advance();
  }

  // The warp's fragments of a block.
  BWGEMM_DEVICE void read(std::uint32_t from, Fragments& a) const {
    constexpr int word_bytes = 4, lower_rows = 8 * loose_row_bytes, further_k = 16;
    const int lane = ptx::laneid();
    const std::uint32_t first = from + lane / 4 * loose_row_bytes + lane % 4 * word_bytes +
                                before_ / word_bytes * word_bytes;
    const int shift = before_ % word_bytes * 8;
#pragma unroll
    for (int step = 0; step < steps; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t at =
            first + step * instruction_k_bytes + i % 2 * lower_rows + i / 2 * further_k;
        a[step][i] = __funnelshift_r(ptx::ld_shared(at), ptx::ld_shared(at + word_bytes), shift);
      }
  }

  template <MmaTypes types>
  BWGEMM_DEVICE void multiply(float (&sums)[config.tile.n / 2], const Fragments& a,
                              bool accumulate) const {
    constexpr int b_step_bytes =
        k_step_bytes(config.mma, config.b, chunk_of(config.b, config.tile.n));
    ptx::wgmma_fence();  // writes of fragments, and the epilogue's reads of sums
    const std::uint64_t b = b_ + at_.stage * descriptor_step(Cta<config>::offsets.stage_bytes);
#pragma unroll
    for (int step = 0; step < steps; ++step)
      ptx::wgmma_mma_async<types, config.b == Major::mn>(
          sums, a[step], b + descriptor_step(step * b_step_bytes), accumulate || step > 0);
    ptx::wgmma_commit_group();
  }

  const KernelParams& params_;
  const Cta<config>& cta_;
  Tiles tiles_;
  Ring ring_;
  std::uint64_t b_;  // descriptor of stage 0
  int first_row_;    // the warp's, of a tile
  int before_ = 0;   // bytes of a row's first unit in front of the row
  LooseCopies<config> copies_;
  Cursor at_;
};

}  // namespace bwgemm::sm90
