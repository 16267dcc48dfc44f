// SPDX-License-Identifier: Apache-2.0
// The mma role: one thread of a group's leader that multiplies for all its CTAs, from the operand
// ring into the accumulators in tensor memory.
#pragma once

#include "device/ptx/tcgen05.h"
#include "device/trace.h"
#include "families/sm100/descriptors.h"
#include "families/sm100/walk.h"

namespace bwgemm::sm100 {

// An operand of the stages: its descriptor in stage 0, and `held` rows of m or n in one CTA.
struct OperandTiles {
  std::uint64_t descriptor;
  Major major;
  int held;
};

// Multiplies stages, 64 deep: blocks of A's rows by tile_n columns of B.
template <KernelConfig config>
struct Multiplier {
  OperandTiles a, b;
  std::uint32_t instruction, stage_bytes;

  BWGEMM_DEVICE void rows(int row_block, std::uint32_t accumulator, const Cursor& at,
                          bool accumulate) const {
    const std::uint32_t slot = at.stage * stage_bytes;
    const std::uint64_t a_slot = moved(a.descriptor, slot), b_slot = moved(b.descriptor, slot);
#pragma unroll
    for (int step = 0; step < config.tile.k / instruction_k(config.mma); ++step)
      ptx::tcgen05_mma_f16<groups_of(config).ctas>(
          accumulator + row_block * cta_tiles(config).most_columns,
          moved(a_slot, row_block_offset<config>(a.major, row_block) +
                            k_offset<config>(a.major, a.held, step)),
          moved(b_slot, k_offset<config>(b.major, b.held, step)), instruction,
          accumulate || step > 0);
  }
  BWGEMM_DEVICE void all_rows(std::uint32_t accumulator, const Cursor& at, bool accumulate) const {
#pragma unroll
    for (int row_block = 0; row_block < cta_tiles(config).row_blocks; ++row_block)
      rows(row_block, accumulator, at, accumulate);
  }
};

// Arrives where this thread's multiplications so far are complete.
template <KernelConfig config>
BWGEMM_DEVICE void commit(std::uint32_t barrier, std::uint16_t ctas) {
  if constexpr (groups_of(config).ctas == 2)
    ptx::tcgen05_commit_multicast(barrier, ctas);
  else
    ptx::tcgen05_commit(barrier);
}

template <KernelConfig config>
class MmaRole {
 public:
  BWGEMM_DEVICE MmaRole(const KernelParams& params, const Cta<config>& cta,
                        std::uint32_t tensor_memory)
      : cta_(cta),
        operands_(cta.operands()),
        ring_(cta.accumulator_ring()),
        multiplier_{{operand_descriptor<config>(cta.a(0), params.a_major, cta.rows), params.a_major,
                     cta.rows},
                    {operand_descriptor<config>(cta.b(0), params.b_major, cta.b_columns()),
                     params.b_major, cta.b_columns()},
                    instruction_descriptor<config>(params.input_types.a, params.a_major,
                                                   params.b_major, cta.tile_n),
                    static_cast<std::uint32_t>(cta.offsets.stage_bytes)},
        tensor_memory_(tensor_memory),
        trace_(params, TraceRole::mma, 0, true) {}

  // One tile, or split of its k; there is at least one block.
  BWGEMM_DEVICE void multiply(std::uint32_t number, int blocks) {
    trace_(TraceEvent::tile, number);
    trace_(TraceEvent::wait_accumulator);
    wait_for_rows(0);
    const std::uint32_t d = tensor_memory_ + accumulator_.stage * accumulator_pitch;
    int block = 0;
    if constexpr (cta_tiles(config).row_blocks == 2) block = multiply_apart(d, blocks);
    for (; block < blocks; ++block) {
      wait_for_operands(at_, block);
      multiplier_.all_rows(d, at_, block > 0);
      free_operands();
    }
    // The writes of the accumulator before the epilogues' loads, in all CTAs of the group.
    commit<config>(ring_.full(accumulator_).address, cta_.group_ctas_mask());
    accumulator_.advance(accumulators);
    is_first_ = false;
  }

  // The last arrivals of the group's epilogues on this CTA's barriers before its exit.
  BWGEMM_DEVICE void finish() {
    trace_(TraceEvent::finish);
    for (int i = 0; i < accumulators; ++i) {
#pragma unroll
      for (int row_block = 0; row_block < cta_tiles(config).row_blocks; ++row_block)
        rows_empty(row_block).wait(accumulator_.phase ^ 1);
      accumulator_.advance(accumulators);
    }
    // And all of their loads before tensor memory is released, in both CTAs of a pair.
    if constexpr (groups_of(config).ctas == 2)
#pragma unroll
      for (std::uint32_t rank = 0; rank < groups_of(config).ctas; ++rank)
        ptx::mbarrier_arrive_relaxed_cluster(
            ptx::mapa(cta_.tensor_memory_read().address, cta_.leader() + rank));
  }

 private:
  static constexpr int accumulators = config.choices.accumulators;
  static constexpr int accumulator_pitch =
      cta_tiles(config).row_blocks * cta_tiles(config).most_columns;

  BWGEMM_DEVICE Barrier rows_empty(int row_block) const {
    return {cta_.rows_empty(ring_.empty_address, accumulator_, row_block)};
  }
  // The epilogues' loads of these rows, in all CTAs of the group, before they are overwritten.
  BWGEMM_DEVICE void wait_for_rows(int row_block) const {
    rows_empty(row_block).wait(accumulator_.phase ^ 1);
    ptx::tcgen05_fence_after_thread_sync();
  }
  // The slot's TMA writes, in all CTAs of the group, before the reads of the multiplications.
  BWGEMM_DEVICE void wait_for_operands(const Cursor& at, int block) {
    trace_(TraceEvent::wait_full, block);
    operands_.wait_full(at);
    trace_(TraceEvent::multiply, block);
    ptx::tcgen05_fence_after_thread_sync();
  }
  // The reads of the slot before its next loads, which any CTA of the cluster may send.
  BWGEMM_DEVICE void free_operands() {
    commit<config>(operands_.empty(at_).address, cta_.all_ctas);
    at_.advance(cta_.stages);
  }

  // Begins a tile while the epilogues read the second block of rows of the one before: some of k
  // for the first block, then for the second. Returns how much: what the ring holds, but for the
  // slot that gives the next loads more time.
  BWGEMM_DEVICE int multiply_apart(std::uint32_t d, int blocks) {
    const int held = is_first_ ? 0 : min(blocks, cta_.stages - 1);
    Cursor ahead = at_;
    for (int block = 0; block < held; ++block) {
      wait_for_operands(ahead, block);
      multiplier_.rows(0, d, ahead, block > 0);
      ahead.advance(cta_.stages);
    }
    trace_(TraceEvent::wait_accumulator);
    wait_for_rows(1);
    for (int block = 0; block < held; ++block) {
      trace_(TraceEvent::multiply, block);
      multiplier_.rows(1, d, at_, block > 0);
      free_operands();
    }
    return held;
  }

  const Cta<config>& cta_;
  Ring operands_, ring_;
  Multiplier<config> multiplier_;
  std::uint32_t tensor_memory_;
  Cursor at_, accumulator_;
  bool is_first_ = true;
  Trace trace_;
};

template <KernelConfig config>
BWGEMM_DEVICE void run_mma(const KernelParams& params, const Cta<config>& cta,
                           std::uint32_t tensor_memory, int k_blocks) {
  MmaRole<config> role(params, cta, tensor_memory);
  for (Walk<config> walk(params, cta); walk.valid(); walk.advance())
    if (const int blocks =
            k_split<config.tile.k>(params, walk, walk.is_split(params), k_blocks).blocks();
        blocks > 0)
      role.multiply(walk.number(params), blocks);
  role.finish();
}

}  // namespace bwgemm::sm100
