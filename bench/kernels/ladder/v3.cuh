// SPDX-License-Identifier: Apache-2.0
// v3: a ring of stages. Loads run ahead by all stages but one: while a block is multiplied, the
// next ones arrive. The same thread still does everything in turn, and waits for each product.
#pragma once

#include "ladder/v2b.cuh"

namespace bwgemm::ladder::v3 {

inline constexpr Shape shape = shape_of("v3");

template <Shape shape, class Technique>
BWGEMM_DEVICE void run_main_loop(const Params& params, const Cta<shape>& cta,
                                 const TilePosition& tile, std::uint32_t accumulator) {
  const Ring ring = cta.operands();
  Cursor loading, at;
  auto load = [&](int block) {
    if (block < params.k_blocks) load_block<shape, Technique>(params, cta, tile, block, loading);
    loading.advance(shape.stages);
  };
  for (int block = 0; block < shape.stages - 1; ++block) load(block);
  for (int block = 0; block < params.k_blocks; ++block) {
    load(block + shape.stages - 1);
    ring.wait_full(at);  // TMA's writes before the multiplications' reads
    ptx::tcgen05_fence_after_thread_sync();
    multiply_block<shape, Technique>(cta, accumulator, at.stage, block > 0);
    Technique::commit(ring.empty(at).address);
    // The multiplications' reads before the loads of the next round, which go to this stage.
    ring.empty(at).wait(at.phase);
    at.advance(shape.stages);
  }
}

template <Shape shape, class Technique>
BWGEMM_DEVICE void gemm(const Params& params) {
  const Cta<shape> cta;
  const std::uint32_t tensor_memory = set_up<shape, Technique>(cta);
  const TilePosition tile = TilePosition::of(params, blockIdx.x);
  if (cta.warp == 0 && ptx::elect_sync()) {
    run_main_loop<shape, Technique>(params, cta, tile, tensor_memory);
    Technique::commit(cta.accumulators().full({}).address);
  }
  finish_tile<shape, Technique>(params, cta, tile, tensor_memory);
}

}  // namespace bwgemm::ladder::v3
