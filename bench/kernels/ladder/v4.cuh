// SPDX-License-Identifier: Apache-2.0
// v4: warps with roles. One thread only loads and waits for room, another only multiplies and waits
// for operands: products follow each other without a pause as long as loads keep up.
#pragma once

#include "ladder/v2b.cuh"

namespace bwgemm::ladder::v4 {

inline constexpr Shape shape = shape_of("v4");

template <Shape shape, class Technique>
BWGEMM_DEVICE void load_tile(const Params& params, const Cta<shape>& cta, const TilePosition& tile,
                             Cursor& at) {
  for (int block = 0; block < params.k_blocks; ++block) {
    // The multiplications' reads of the stage before the loads overwrite it.
    cta.operands().wait_empty(at);
    load_block<shape, Technique>(params, cta, tile, block, at);
    at.advance(shape.stages);
  }
}

template <Shape shape, class Technique>
BWGEMM_DEVICE void multiply_tile(const Params& params, const Cta<shape>& cta,
                                 std::uint32_t accumulator, Cursor& at) {
  for (int block = 0; block < params.k_blocks; ++block) {
    cta.operands().wait_full(at);  // TMA's writes before the multiplications' reads
    ptx::tcgen05_fence_after_thread_sync();
    multiply_block<shape, Technique>(cta, accumulator, at.stage, block > 0);
    Technique::commit(cta.operands().empty(at).address);
    at.advance(shape.stages);
  }
}

// The last arrivals of commits on this CTA's barriers before its exit.
template <Shape shape>
BWGEMM_DEVICE void drain(const Cta<shape>& cta, Cursor& at) {
  for (int stage = 0; stage < shape.stages; ++stage) {
    cta.operands().wait_empty(at);
    at.advance(shape.stages);
  }
}

template <Shape shape, class Technique>
BWGEMM_DEVICE void gemm(const Params& params) {
  const Cta<shape> cta;
  const std::uint32_t tensor_memory = set_up<shape, Technique>(cta);
  const TilePosition tile = TilePosition::of(params, blockIdx.x / shape.ctas);
  Cursor at;
  if (cta.warp == 0 && ptx::elect_sync()) {
    load_tile<shape, Technique>(params, cta, tile, at);
    drain(cta, at);
  } else if (cta.warp == 1 && cta.rank == 0 && ptx::elect_sync()) {
    multiply_tile<shape, Technique>(params, cta, tensor_memory, at);
    Technique::commit(cta.accumulators().full({}).address);
  }
  finish_tile<shape, Technique>(params, cta, tile, tensor_memory);
}

}  // namespace bwgemm::ladder::v4
