// SPDX-License-Identifier: Apache-2.0
// v1a: tcgen05.mma fed by TMA, one block of k after the other. Without swizzle the instruction
// wants each 8 rows of 16 bytes together, so k is loaded as columns of 16 bytes, each a box of its
// own.
#pragma once

#include "ladder/common.h"

namespace bwgemm::ladder::v1a {

inline constexpr Shape shape = shape_of("v1a");

struct Technique {
  template <int depth, int rows>
  BWGEMM_DEVICE static void load(std::uint32_t to, const TensorMap& map, int row, int k,
                                 std::uint32_t barrier) {
#pragma unroll 4
    for (int column = 0; column < depth / 8; ++column)
      ptx::cp_async_bulk_tensor_2d(to + column * rows * 16, map, k + 8 * column, row, barrier);
  }
  // Of one instruction: two columns, the leading offset apart; the stride leads to the next 8 rows.
  template <int rows>
  BWGEMM_DEVICE static std::uint64_t descriptor(std::uint32_t address, int instruction) {
    return matrix_descriptor(address + instruction * rows * 32, rows * 16, 8 * 16, 0);
  }

  BWGEMM_DEVICE static std::uint32_t full_barrier(std::uint32_t own) {
    return own;
  }
  BWGEMM_DEVICE static void expect(std::uint32_t barrier, std::uint32_t bytes) {
    ptx::mbarrier_arrive_expect_tx(barrier, bytes);
  }
  BWGEMM_DEVICE static void commit(std::uint32_t barrier) {
    ptx::tcgen05_commit(barrier);
  }
  BWGEMM_DEVICE static void meet() {
    __syncthreads();
  }
  template <class AnyCta>
  BWGEMM_DEVICE static void init_more(const AnyCta&) {}
};

// One thread does it all and nothing overlaps: loads, then their product, then the next loads.
template <Shape shape, class Technique>
BWGEMM_DEVICE void run_main_loop(const Params& params, const Cta<shape>& cta,
                                 const TilePosition& tile, std::uint32_t accumulator) {
  const Ring ring = cta.operands();
  Cursor at;
  for (int block = 0; block < params.k_blocks; ++block) {
    load_block<shape, Technique>(params, cta, tile, block, at);
    ring.wait_full(at);  // TMA's writes before the multiplications' reads
    ptx::tcgen05_fence_after_thread_sync();
    multiply_block<shape, Technique>(cta, accumulator, at.stage, block > 0);
    Technique::commit(ring.empty(at).address);
    ring.empty(at).wait(at.phase);  // the multiplications' reads before the next loads
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

}  // namespace bwgemm::ladder::v1a
