// SPDX-License-Identifier: Apache-2.0
// What the steps of the ladder share: a CTA's shared memory and part of the tile, descriptors of
// tcgen05.mma, and what happens before, within and after a main loop. A step's Technique says how:
// it is a list of static functions, each inherited from the step before unless the step changes it.
#pragma once

#include "device/ptx/cp_async_bulk.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/math.h"
#include "device/ptx/mbarrier.h"
#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "device/ptx/tcgen05.h"
#include "device/ring.h"
#include "ladder/steps.h"

namespace bwgemm::ladder {

// A Technique:
//   load          rows of one operand, `depth` of k, into a stage
//   descriptor    of an operand's k of one instruction
//   full_barrier  the one that hears of a CTA's loads; expect: tells it of their bytes
//   commit        tells a barrier when the multiplications so far are over
//   meet          all threads that share the work
//   init_more     barriers that no step before had

inline constexpr int warp_threads = 32;
inline constexpr int epilogue_warps = 4;  // a warp reaches a quarter of tensor memory's 128 lanes
inline constexpr int instruction_k = 16;  // of one tcgen05.mma

// Where an operand lies: bits 0-13 start, 16-29 the leading offset, 32-45 the stride, each in units
// of 16 bytes; bit 46 is fixed; bits 61-63 the swizzle: 0 none, 2 of 128 bytes.
constexpr std::uint64_t matrix_descriptor(std::uint32_t address, std::uint32_t leading_bytes,
                                          std::uint32_t stride_bytes, std::uint64_t swizzle) {
  return (address & 0x3ffff) >> 4 | std::uint64_t{leading_bytes >> 4} << 16 |
         std::uint64_t{stride_bytes >> 4} << 32 | std::uint64_t{1} << 46 | swizzle << 61;
}

// What is multiplied: bits 4-5 D is f32, 7-9 and 10-12 A and B are bf16, 17-22 n / 8, 24-28 m / 16;
// m and n of all CTAs together.
constexpr std::uint32_t instruction_descriptor(const Shape& shape) {
  return 1u << 4 | 1u << 7 | 1u << 10 | static_cast<std::uint32_t>(shape.tile_n / 8) << 17 |
         static_cast<std::uint32_t>(shape.tile_m / 16) << 24;
}

template <Shape shape>
struct Cta {
  static constexpr Layout at = layout(shape);

  std::uint32_t shared;  // start of dynamic shared memory
  std::uint32_t rank;    // in the cluster
  int warp;

  BWGEMM_DEVICE Cta() {
    extern __shared__ __align__(1024) std::uint8_t shared_memory[];
    shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory));
    rank = shape.ctas == 1 ? 0 : ptx::cluster_ctarank();
    warp = __shfl_sync(0xffffffff, threadIdx.x / warp_threads, 0);  // uniform for the compiler too
  }

  BWGEMM_DEVICE std::uint32_t a(std::uint32_t stage) const {
    return shared + stage * at.stage_bytes;
  }
  BWGEMM_DEVICE std::uint32_t b(std::uint32_t stage) const { return a(stage) + at.a_bytes; }
  BWGEMM_DEVICE Ring operands() const { return {shared + at.full, shared + at.empty}; }
  BWGEMM_DEVICE Ring accumulators() const {
    return {shared + at.accumulator_full, shared + at.accumulator_empty};
  }
  BWGEMM_DEVICE Ring responses() const {
    return {shared + at.response_full, shared + at.response_empty};
  }
  BWGEMM_DEVICE std::uint32_t tensor_memory_slot() const { return shared + at.tensor_memory; }
};

// A tile of the output: tiles lie one row after the other.
struct TilePosition {
  int m, n;  // in tiles of the cluster

  BWGEMM_DEVICE static TilePosition of(const Params& params, int tile) {
    return {tile / params.tiles_n, tile % params.tiles_n};
  }
};

// Barriers, then tensor memory for all accumulators; returns its address.
template <Shape shape, class Technique>
BWGEMM_DEVICE std::uint32_t set_up(const Cta<shape>& cta) {
  if (cta.warp == 0 && ptx::elect_sync()) {
    cta.operands().init(shape.stages, shape.ctas, 1);
    cta.accumulators().init(shape.accumulators, 1, shape.ctas * epilogue_warps);
    Technique::init_more(cta);
    ptx::fence_mbarrier_init();  // before uses by TMA, by commits and by the peer
  }
  __syncwarp();
  Technique::meet();  // the barriers, and a peer's presence, before what follows
  if (cta.warp == 1) {
    ptx::tcgen05_alloc<shape.ctas, shape.accumulators * shape.tile_n>(cta.tensor_memory_slot());
    ptx::tcgen05_relinquish_alloc_permit<shape.ctas>();
  }
  // The allocation, and the address written to shared memory, before any thread's use.
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  return ptx::ld_shared(cta.tensor_memory_slot());
}

template <Shape shape, class Technique>
BWGEMM_DEVICE void tear_down(const Cta<shape>& cta, std::uint32_t tensor_memory) {
  __syncwarp();
  // All loads from tensor memory before its release; a peer's arrivals here before the exit.
  ptx::tcgen05_fence_before_thread_sync();
  Technique::meet();
  ptx::tcgen05_fence_after_thread_sync();
  if (cta.warp == 1)
    ptx::tcgen05_dealloc<shape.ctas, shape.accumulators * shape.tile_n>(tensor_memory);
}

// One thread: both operands of a block of k into a stage.
template <Shape shape, class Technique>
BWGEMM_DEVICE void load_block(const Params& params, const Cta<shape>& cta, const TilePosition& tile,
                              int block, const Cursor& to) {
  constexpr int b_rows = cta_b_rows(shape);
  const int row = tile.m * shape.tile_m + cta.rank * cta_m;
  const int column = tile.n * shape.tile_n + cta.rank * b_rows;
  const std::uint32_t full = Technique::full_barrier(cta.operands().full(to).address);
  Technique::expect(full, Cta<shape>::at.stage_bytes);
  Technique::template load<shape.tile_k, cta_m>(cta.a(to.stage), params.a_map, row,
                                                block * shape.tile_k, full);
  Technique::template load<shape.tile_k, b_rows>(cta.b(to.stage), params.b_map, column,
                                                 block * shape.tile_k, full);
}

// One thread: a stage's product, added to the accumulator unless it is the first.
template <Shape shape, class Technique>
BWGEMM_DEVICE void multiply_block(const Cta<shape>& cta, std::uint32_t accumulator,
                                  std::uint32_t stage, bool accumulate) {
  constexpr std::uint32_t instruction = instruction_descriptor(shape);
#pragma unroll
  for (int i = 0; i < shape.tile_k / instruction_k; ++i)
    ptx::tcgen05_mma_f16<shape.ctas>(
        accumulator, Technique::template descriptor<cta_m>(cta.a(stage), i),
        Technique::template descriptor<cta_b_rows(shape)>(cta.b(stage), i), instruction,
        accumulate || i > 0);
}

// This thread's lane of 32 columns of an accumulator.
BWGEMM_DEVICE void load_accumulators(float (&values)[32], std::uint32_t address) {
  ptx::tcgen05_ld_32x32b_x32(values, address);
  ptx::tcgen05_wait_ld();  // the registers written before their use
  // Nothing tells the compiler that the wait completes them; an empty volatile statement that seems
  // to change them keeps their uses behind it.
#pragma unroll
  for (float& value : values) asm volatile("" : "+f"(value)::"memory");
}

// Four warps: the CTA's rows of the tile as bf16, a thread one row.
template <Shape shape>
BWGEMM_DEVICE void store_tile(const Params& params, const Cta<shape>& cta, const TilePosition& tile,
                              std::uint32_t accumulator) {
  const std::uint32_t quarter = cta.warp % epilogue_warps * warp_threads;
  const int row = tile.m * shape.tile_m + cta.rank * cta_m + quarter + ptx::laneid();
  const std::int64_t line_bytes = std::int64_t{2} * params.tiles_n * shape.tile_n;
  auto* to = static_cast<std::uint8_t*>(params.d) + row * line_bytes + 2 * tile.n * shape.tile_n;
#pragma unroll 1
  for (int column = 0; column < shape.tile_n; column += 32) {
    float values[32];
    load_accumulators(values, accumulator + (quarter << 16) + column);
    std::uint32_t words[16];
#pragma unroll
    for (int i = 0; i < 16; ++i)
      words[i] = ptx::cvt_rn_bf16x2_f32(values[2 * i + 1], values[2 * i]);
#pragma unroll
    for (int i = 0; i < 16; i += 4)
      ptx::st_global_v4(to + 2 * column + 4 * i, words[i], words[i + 1], words[i + 2],
                        words[i + 3]);
  }
}

// All warps of a CTA that computes one tile: the epilogue, and the end.
template <Shape shape, class Technique>
BWGEMM_DEVICE void finish_tile(const Params& params, const Cta<shape>& cta,
                               const TilePosition& tile, std::uint32_t tensor_memory) {
  __syncwarp();                      // the elected lane back with the others
  cta.accumulators().wait_full({});  // the multiplications' writes before the loads
  ptx::tcgen05_fence_after_thread_sync();
  store_tile<shape>(params, cta, tile, tensor_memory);
  tear_down<shape, Technique>(cta, tensor_memory);
}

}  // namespace bwgemm::ladder
