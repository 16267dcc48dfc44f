// SPDX-License-Identifier: Apache-2.0
// The mma role: one thread of a group's leader that multiplies for all its CTAs, from the operand
// ring into the accumulators in tensor memory.
#pragma once

#include "kernels/ptx/tcgen05.h"
#include "kernels/sm100/descriptors.h"
#include "kernels/sm100/walk.h"
#include "kernels/trace.h"

namespace bwgemm::sm100 {

// An operand of the stages: its descriptor in stage 0, and `held` rows of m or n in one CTA.
struct OperandTiles {
  std::uint64_t descriptor;
  Major major;
  int held;
};

// Multiplies one stage, 64 deep: each block of A's rows by tile_n columns of B.
template <KernelConfig config>
BWGEMM_DEVICE void multiply_stage(std::uint32_t accumulator, std::uint32_t slot,
                                  const OperandTiles& a, const OperandTiles& b,
                                  std::uint32_t instruction, bool accumulate) {
  const std::uint64_t a_slot = moved(a.descriptor, slot), b_slot = moved(b.descriptor, slot);
#pragma unroll
  for (int rows = 0; rows < row_blocks(config); ++rows)
#pragma unroll
    for (int step = 0; step < k_block / instruction_k; ++step)
      ptx::tcgen05_mma_f16<group_ctas(config)>(
          accumulator + rows * max_tile_n(config),
          moved(a_slot,
                row_block_offset<config>(a.major, rows) + k_offset<config>(a.major, a.held, step)),
          moved(b_slot, k_offset<config>(b.major, b.held, step)), instruction,
          accumulate || step > 0);
}

// Arrives where this thread's multiplications so far are complete.
template <KernelConfig config>
BWGEMM_DEVICE void commit(std::uint32_t barrier, std::uint16_t ctas) {
  if constexpr (group_ctas(config) == 2)
    ptx::tcgen05_commit_multicast(barrier, ctas);
  else
    ptx::tcgen05_commit(barrier);
}

template <KernelConfig config>
BWGEMM_DEVICE void run_mma(const KernelParams& params, const Cta<config>& cta,
                           std::uint32_t tensor_memory, int k_blocks) {
  constexpr int accumulators = config.choices.accumulators;
  constexpr int accumulator_pitch = row_blocks(config) * max_tile_n(config);
  const Ring operands = cta.operands();
  const Ring ring = cta.accumulator_ring();
  const std::uint32_t instruction =
      instruction_descriptor<config>(params.input_type, params.a_major, params.b_major, cta.tile_n);
  const OperandTiles a{operand_descriptor<config>(cta.a(0), params.a_major, cta.rows),
                       params.a_major, cta.rows};
  const OperandTiles b{operand_descriptor<config>(cta.b(0), params.b_major, cta.b_columns()),
                       params.b_major, cta.b_columns()};
  Cursor at, accumulator;
  Trace trace(params, TraceRole::mma, 0, true);
  for (Walk<config> walk(params, cta); walk.valid(); walk.advance()) {
    const int blocks = k_slice(params, walk, k_blocks).blocks();
    if (blocks == 0) continue;
    trace(TraceEvent::tile, walk.number(params));
    trace(TraceEvent::wait_accumulator);
    // The epilogues' loads of the accumulator, in all CTAs of the group, before it is overwritten.
    ring.wait_empty(accumulator);
    ptx::tcgen05_fence_after_thread_sync();
    const std::uint32_t d = tensor_memory + accumulator.stage * accumulator_pitch;
    for (int block = 0; block < blocks; ++block) {
      // The slot's TMA writes, in all CTAs of the group, before the reads of the multiplications.
      trace(TraceEvent::wait_full, block);
      operands.wait_full(at);
      trace(TraceEvent::multiply, block);
      ptx::tcgen05_fence_after_thread_sync();
      multiply_stage<config>(d, at.stage * cta.offsets.stage_bytes, a, b, instruction, block > 0);
      // The reads of the slot before its next loads, which any CTA of the cluster may send.
      commit<config>(operands.empty(at).address, cta.all_ctas);
      at.advance(cta.stages);
    }
    // The writes of the accumulator before the epilogues' loads, in all CTAs of the group.
    commit<config>(ring.full(accumulator).address, cta.group_ctas_mask());
    accumulator.advance(accumulators);
  }
  trace(TraceEvent::finish);
  // The last arrivals of the group's epilogues on this CTA's barriers before its exit.
  for (int i = 0; i < accumulators; ++i) {
    ring.wait_empty(accumulator);
    accumulator.advance(accumulators);
  }
}

}  // namespace bwgemm::sm100
