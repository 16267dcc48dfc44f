// SPDX-License-Identifier: Apache-2.0
// The consumer role of the cooperative kernel: a warpgroup that multiplies 64 rows of each tile
// into registers and hands them to its staging buffers slice by slice (sm90/slices.h).
#pragma once

#include "kernels/epilogue.h"
#include "kernels/ptx/wgmma.h"
#include "kernels/ptx/wgmma_mma.h"
#include "kernels/sm90/cta.h"
#include "kernels/sm90/descriptors.h"
#include "kernels/sm90/slices.h"
#include "kernels/tiles.h"

namespace bwgemm::sm90 {

// Multiplies one stage: 64 rows of A by tile.n columns of B, 64 deep.
template <KernelConfig config>
BWGEMM_DEVICE void multiply_stage(float (&accumulators)[config.tile.n / 2], std::uint64_t a,
                                  std::uint64_t b, bool accumulate) {
  constexpr int transpose_a = config.a == Major::mn, transpose_b = config.b == Major::mn;
#pragma unroll
  for (int step = 0; step < k_block / instruction_k; ++step) {
    const std::uint64_t a_step = a + descriptor_step(step * k_step_bytes(config.a));
    const std::uint64_t b_step = b + descriptor_step(step * k_step_bytes(config.b));
    if constexpr (config.input == Input::bf16)
      ptx::wgmma_mma_async_bf16<transpose_a, transpose_b>(accumulators, a_step, b_step,
                                                          accumulate || step > 0);
    else
      ptx::wgmma_mma_async_f16<transpose_a, transpose_b>(accumulators, a_step, b_step,
                                                         accumulate || step > 0);
  }
}

// Hides where a value comes from, so that the compiler does not derive it again in the main loop.
BWGEMM_DEVICE std::uint64_t computed_once(std::uint64_t value) {
  asm volatile("" : "+l"(value));
  return value;
}

// The consumers' side of the operand ring.
template <KernelConfig config>
class OperandReader {
 public:
  BWGEMM_DEVICE OperandReader(const Cta<config>& cta, int warpgroup)
      : ring_(cta.operands()),
        a_(computed_once(
            operand_descriptor(cta.a(0) + warpgroup * 64 * swizzle_row_bytes, config.a))),
        b_(computed_once(operand_descriptor(cta.b(0), config.b))),
        releases_(ptx::laneid() < cta.cluster_size),
        released_(cta.cluster_size == 1
                      ? ring_.empty_address
                      : ptx::mapa(ring_.empty_address, ptx::laneid() % cta.cluster_size)) {}

  // Leaves the product of the whole tile in the accumulators and the ring without its slots.
  BWGEMM_DEVICE void multiply_tile(float (&accumulators)[config.tile.n / 2], int k_blocks) {
    std::uint32_t previous = 0;
    for (int block = 0; block < k_blocks; ++block) {
      ring_.wait_full(at_);  // the slot's TMA writes before the reads of wgmma
      ptx::wgmma_fence();    // the epilogue's reads of the accumulators before wgmma writes them
      const std::uint64_t step = at_.stage * descriptor_step(Cta<config>::offsets.stage_bytes);
      multiply_stage<config>(accumulators, a_ + step, b_ + step, block > 0);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();  // the previous block's reads of its slot before its release
      if (block > 0) release(previous);
      previous = at_.stage;
      at_.advance(config.stages);
    }
    ptx::wgmma_wait_group<0>();  // the last block's reads, and all accumulators before their use
    keep_behind_wait(accumulators);
    if (k_blocks > 0) release(previous);
  }

 private:
  // Nothing tells the compiler that the wait completes the accumulators; an empty volatile
  // statement that seems to change them keeps their uses behind it.
  BWGEMM_DEVICE static void keep_behind_wait(float (&accumulators)[config.tile.n / 2]) {
#pragma unroll
    for (float& value : accumulators) asm volatile("" : "+f"(value)::"memory");
  }

  // One lane per CTA of the cluster, in every warp: each warp answers for its own wait only. What
  // is handed over are finished reads of wgmma, not ordinary memory: a release at cluster scope
  // would put a GPU-wide fence before every arrival, which took a quarter of the speed
  // (bench/NOTES.md, 2026-11-21).
  BWGEMM_DEVICE void release(std::uint32_t stage) const {
    if (!releases_) return;
    if constexpr (Cta<config>::cluster_size == 1)
      ptx::mbarrier_arrive(released_ + 8 * stage);
    else
      ptx::mbarrier_arrive_relaxed_cluster(released_ + 8 * stage);
  }

  Ring ring_;
  std::uint64_t a_, b_;     // descriptors of stage 0
  bool releases_;           // this lane arrives
  std::uint32_t released_;  // at this address for stage 0, possibly in another CTA
  Cursor at_;
};

template <KernelConfig config>
BWGEMM_DEVICE void run_consumer(const KernelParams& params, const Cta<config>& cta, int warpgroup,
                                const Scaling& scaling, int k_blocks) {
  // Written by the first wgmma of each tile. Without any they stay zero for all tiles.
  float accumulators[config.tile.n / 2] = {};
  OperandReader<config> operands(cta, warpgroup);
  SliceWriter<config> slices(cta, warpgroup, scaling);
  for (Tiles tiles(params, cta.cluster_size); tiles.valid(); tiles.advance()) {
    operands.multiply_tile(accumulators, k_blocks);
    slices.write_tile(accumulators, params.d_type);
  }
}

}  // namespace bwgemm::sm90
