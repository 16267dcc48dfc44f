// SPDX-License-Identifier: Apache-2.0
// The mma role of the pair kernel: one thread of the leader that multiplies for both CTAs, from the
// operand ring into the two accumulators in tensor memory.
#pragma once

#include "kernels/ptx/tcgen05.h"
#include "kernels/sm100/cta.h"
#include "kernels/sm100/descriptors.h"

namespace bwgemm::sm100 {

// Multiplies one stage: 256 rows of A by tile_n columns of B, 64 deep.
BWGEMM_DEVICE void multiply_stage(const KernelParams& params, std::uint32_t accumulator,
                                  std::uint64_t a, std::uint64_t b, std::uint32_t instruction,
                                  bool accumulate) {
  const int a_step = k_step_bytes(params.a_major), b_step = k_step_bytes(params.b_major);
#pragma unroll
  for (int step = 0; step < k_block / instruction_k; ++step)
    ptx::tcgen05_mma_f16(accumulator, moved(a, step * a_step), moved(b, step * b_step), instruction,
                         accumulate || step > 0);
}

// At least one block of k per tile.
BWGEMM_DEVICE void run_mma(const KernelParams& params, const Cta& cta, std::uint32_t tensor_memory,
                           int k_blocks) {
  const Ring operands = cta.operands();
  const Ring ring = cta.accumulator_ring();
  const std::uint32_t instruction =
      instruction_descriptor(params.input_type, params.a_major, params.b_major, cta.tile_n);
  const std::uint64_t a = operand_descriptor(cta.a(0), params.a_major);
  const std::uint64_t b = operand_descriptor(cta.b(0), params.b_major);
  Cursor at, accumulator;
  for (Tiles tiles(params, pair_size, 1); tiles.valid(); tiles.advance()) {
    // The epilogues' loads of the accumulator, in both CTAs, before it is overwritten.
    ring.wait_empty(accumulator);
    ptx::tcgen05_fence_after_thread_sync();
    const std::uint32_t d = tensor_memory + accumulator.stage * accumulator_columns;
    for (int block = 0; block < k_blocks; ++block) {
      // The slot's TMA writes, in both CTAs, before the reads of the multiplications.
      operands.wait_full(at);
      ptx::tcgen05_fence_after_thread_sync();
      const std::uint32_t slot = at.stage * cta.offsets.stage_bytes;
      multiply_stage(params, d, moved(a, slot), moved(b, slot), instruction, block > 0);
      // The reads of the slot before its next loads, in both CTAs.
      ptx::tcgen05_commit_multicast(operands.empty(at).address, both_ctas);
      at.advance(cta.stages);
    }
    // The writes of the accumulator before the epilogues' loads, in both CTAs.
    ptx::tcgen05_commit_multicast(ring.full(accumulator).address, both_ctas);
    accumulator.advance(accumulators);
  }
  // The last arrivals of both CTAs' epilogues on this CTA's barriers before its exit.
  for (int i = 0; i < accumulators; ++i) {
    ring.wait_empty(accumulator);
    accumulator.advance(accumulators);
  }
}

}  // namespace bwgemm::sm100
