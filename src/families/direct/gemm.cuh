// SPDX-License-Identifier: Apache-2.0
// The kernel that serves every problem, on both architectures: threads move operands of any
// alignment, mma.sync, no workspace unless k is split. Persistent over units of (batch, tile,
// split).
//
// Roles (256 threads)   all threads load, multiply (eight warps, 2x4, 32x16 each) and store
// Shared memory         four slabs of A and four of B; between main loops the same bytes stage D;
//                       behind them the products of a gate's x
// Timeline, per unit    k, operands at multiples of 4 bytes, a slab a turn:
//                         slab i has arrived, barrier | copy slab i+3 | multiply slab i
//                       k, other operands, two slabs a turn; A, B or both pass registers:
//                         store pair i | load pair i+1 | barrier | copy pair i+1 | multiply pair i
//                       split: leave the partial tile in memory, arrive; the last CTA of the tile
//                       adds all of them and continues, the others take their next unit
//                       accumulators -> staging, barrier, C -> combine -> D, barrier
//                       with a gate (never split): main loop and staging run first for the columns
//                       of x, then for the columns of y; one pass combines both into D
#pragma once

#include "device/computed_here.h"
#include "device/pointers.h"
#include "device/ptx/sync.h"
#include "device/trace.h"
#include "families/direct/fused_tile.h"
#include "families/direct/output_tile.h"
#include "families/direct/slab.h"
#include "families/direct/split.h"

namespace bwgemm::direct {

inline constexpr int slabs_bytes = 2 * slab_bytes;  // A, then B
inline constexpr int slabs_held = 4;
inline constexpr int gated_at = slabs_held * slabs_bytes;
static_assert(staging_bytes <= gated_at);

// Steps [begin, end) of the main loop that one split takes.
struct SlabRange {
  int begin, end;
};

BWGEMM_DEVICE SlabRange slabs_of_split(const KernelParams& params, int slabs, int splits,
                                       int split) {
  if (splits == 1) return {0, slabs};
  const std::int64_t per_split = params.k_per_split / slab_depth;
  const std::int64_t begin = split * per_split, end = begin + per_split;
  return {static_cast<int>(begin < slabs ? begin : slabs),
          static_cast<int>(end < slabs ? end : slabs)};
}

// One slab of A times one of B.
BWGEMM_DEVICE void multiply(const FragmentReader& a, const FragmentReader& b, std::uint32_t slabs,
                            Dtype type, Accumulators& accumulators) {
  const bool is_bf16 = type == Dtype::bf16;
  __syncwarp();  // loads at the edges may have parted the lanes; ldmatrix needs them together
#pragma unroll
  for (int step = 0; step < slab_depth / 16; ++step) {
    std::uint32_t a_fragments[Accumulators::rows][4], b_fragment[4];
#pragma unroll
    for (int i = 0; i < Accumulators::rows; ++i) a.read(slabs, i, step, a_fragments[i]);
    b.read(slabs + slab_bytes, 0, step, b_fragment);
#pragma unroll
    for (int i = 0; i < Accumulators::rows; ++i)
#pragma unroll
      for (int j = 0; j < Accumulators::columns; ++j) {
        // A 16x16 block of B is two operands of 8 columns.
        const std::uint32_t b0 = b_fragment[2 * j], b1 = b_fragment[2 * j + 1];
        ptx::mma_m16n8k16_bf16_if(is_bf16, accumulators.block[i][j], a_fragments[i], b0, b1);
        ptx::mma_m16n8k16_f16_if(!is_bf16, accumulators.block[i][j], a_fragments[i], b0, b1);
      }
  }
}

// The product over `range`, whose first slab is where the loaders stand, of operands that cp.async
// can copy. A slab is copied three turns before it is multiplied. Ends with a barrier after the
// last read of shared memory.
BWGEMM_DEVICE void multiply_copied(const KernelParams& params, SlabRange range,
                                   SlabLoader& a_loader, SlabLoader& b_loader,
                                   const FragmentReader& a, const FragmentReader& b,
                                   std::uint32_t shared, Accumulators& accumulators, Trace& trace) {
  constexpr int ahead = slabs_held - 1;
  const auto slabs_at = [shared](std::uint32_t slab) {
    return shared + slab % slabs_held * slabs_bytes;
  };
  const int whole_slabs = static_cast<int>(params.k / slab_depth);
  const int rest = static_cast<int>(params.k % slab_depth);
#pragma unroll 1
  for (int slab = range.begin - ahead; slab < range.end; ++slab) {
    const int next = slab + ahead;
    if (slab >= range.begin) {
      trace(TraceEvent::wait_full, slab);
      ptx::cp_async_wait_group<ahead - 1>();
      // Orders copies of this slab before its reads, reads of the slab before it before the copies
      // that take its place.
      __syncthreads();
    }
    if (next < range.end) {
      trace(TraceEvent::issue, next);
      const int depth = next < whole_slabs ? slab_depth : rest;
      const std::uint32_t to = slabs_at(next);
      a_loader.copy(to, depth);
      b_loader.copy(to + slab_bytes, depth);
    }
    ptx::cp_async_commit_group();  // an empty one counts, too
    if (slab >= range.begin) {
      trace(TraceEvent::multiply, slab);
      multiply(a, b, slabs_at(slab), params.input_types.a, accumulators);
    }
  }
  __syncthreads();
}

// The same of operands of which one or both pass through registers. Slabs come in pairs: the
// assembler has one scoreboard for all loads of the loop, so a store waits for the youngest of
// them. Those of a pair are issued before the pair ahead of it is multiplied.
template <bool copies_a, bool copies_b>
BWGEMM_DEVICE void multiply_loaded(const KernelParams& params, SlabRange range,
                                   SlabLoader& a_loader, SlabLoader& b_loader,
                                   const FragmentReader& a, const FragmentReader& b,
                                   std::uint32_t shared, Accumulators& accumulators, Trace& trace) {
  constexpr int pair = slabs_held / 2, pair_bytes = pair * slabs_bytes;
  const int whole_slabs = static_cast<int>(params.k / slab_depth);
  const int rest = static_cast<int>(params.k % slab_depth);
  SlabWords a_words[pair] = {}, b_words[pair] = {};
  std::uint32_t now = 0;  // the half of the slabs' memory that is multiplied in this turn
#pragma unroll 1
  for (int first = range.begin - pair; first < range.end; first += pair) {
    const std::uint32_t here = shared + now;
    now ^= pair_bytes;
    const auto for_each = [&](int slab, auto&& act) {
#pragma unroll
      for (int i = 0; i < pair; ++i)
        if (slab + i < range.end) act(i, slab + i < whole_slabs ? slab_depth : rest);
    };
    const bool multiplies = first >= range.begin;
    if (multiplies)
      for_each(first, [&](int i, int) {
        trace(TraceEvent::wait_full, first + i);
        if (!copies_a) a_loader.store(here + i * slabs_bytes, a_words[i]);
        if (!copies_b) b_loader.store(here + i * slabs_bytes + slab_bytes, b_words[i]);
      });
    for_each(first + pair, [&](int i, int depth) {
      trace(TraceEvent::issue, first + pair + i);
      if (!copies_a) a_loader.load(depth, a_words[i]);
      if (!copies_b) b_loader.load(depth, b_words[i]);
    });
    if (multiplies) {
      if (copies_a || copies_b) ptx::cp_async_wait_group<0>();
      // Orders stores and copies of this pair before its reads, reads of the pair before it before
      // the copies below and the stores of the next turn.
      __syncthreads();
    }
    if (copies_a || copies_b) {
      for_each(first + pair, [&](int i, int depth) {
        const std::uint32_t to = shared + now + i * slabs_bytes;
        if (copies_a) a_loader.copy(to, depth);
        if (copies_b) b_loader.copy(to + slab_bytes, depth);
      });
      ptx::cp_async_commit_group();
    }
    if (multiplies)
      for_each(first, [&](int i, int) {
        trace(TraceEvent::multiply, first + i);
        multiply(a, b, here + i * slabs_bytes, params.input_types.a, accumulators);
      });
  }
  __syncthreads();
}

// Where an operand of the batch lies, of `rows` rows (or columns) and `shift` elements behind the
// matrix; the loader is fitted to it.
BWGEMM_DEVICE const char* operand_at(const KernelParams& params, SlabLoader& loader,
                                     const StridedMatrix& matrix, std::int64_t rows,
                                     std::int64_t batch, std::int64_t shift) {
  const char* const data = data_of_batch(params, matrix.data, batch) + 2 * shift;
  if (params.is_pointer_array || params.fused.has(operation::gate))
    loader.fit(data, rows, params.batch);
  return data;
}

// By the main loop that the operands' addresses allow.
BWGEMM_DEVICE void multiply_slabs(const KernelParams& params, SlabRange range, SlabLoader& a_loader,
                                  SlabLoader& b_loader, const FragmentReader& a,
                                  const FragmentReader& b, std::uint32_t shared,
                                  Accumulators& accumulators, Trace& trace) {
  const auto run = [&](const auto& product) {
    product(params, range, a_loader, b_loader, a, b, shared, accumulators, trace);
  };
  const bool copies_a = a_loader.can_be_copied(), copies_b = b_loader.can_be_copied();
  if (copies_a && copies_b)
    run(multiply_copied);
  else if (copies_a)
    run(multiply_loaded<true, false>);
  else if (copies_b)
    run(multiply_loaded<false, true>);
  else
    run(multiply_loaded<false, false>);
}

template <KernelConfig config>
BWGEMM_DEVICE void gemm(const KernelParams& params) {
  static_assert(config.tile == Tile{tile_rows, tile_columns, slab_depth});
  alignas(1024) __shared__ std::uint8_t memory[gated_at + staging_bytes];
  const std::uint32_t shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
  ptx::griddepcontrol_wait();  // what grids before this one wrote before anything is read
  const Scaling scaling = load_scaling(params);
  const int slabs = k_blocks_to_run(params, scaling.alpha);
  const int splits = slabs > 0 ? params.splits : 1;  // beta * C is not a sum
  const std::int64_t tiles_per_batch = static_cast<std::int64_t>(params.tiles_m) * params.tiles_n;
  const std::int64_t tiles = tiles_per_batch * params.batch;

  SlabLoader a_loader(params.a, params.m, params.batch);
  SlabLoader b_loader(params.b, params.n, params.batch);
  const WarpTile warp(threadIdx.x);
  const FragmentReader a(lines_along_k(params.a), warp.row, BlockOrder::rows_first);
  const FragmentReader b(lines_along_k(params.b), warp.column, BlockOrder::k_first);
  Trace trace(params, TraceRole::team, 0, threadIdx.x == 0);
  for (std::int64_t unit = blockIdx.x; unit < tiles * splits; unit += gridDim.x) {
    trace(TraceEvent::tile, static_cast<std::uint32_t>(unit));
    // Divisions are most of what comes before the first load: none without need.
    const std::int64_t tile = splits == 1 ? unit : unit / splits;
    const int split = static_cast<int>(unit - tile * splits);
    const std::int64_t batch = tile < tiles_per_batch ? 0 : tile / tiles_per_batch;
    TileIndex at = tile_at(static_cast<std::uint32_t>(tile - batch * tiles_per_batch),
                           params.tiles_m, params.tiles_n, params.raster_group, params.reciprocals);
    at.batch = static_cast<std::int32_t>(batch);
    const SlabRange range = slabs_of_split(params, slabs, splits, split);
    Accumulators accumulators;
#pragma unroll 1
    for (bool is_x = params.fused.has(operation::gate);; is_x = false) {
      // Zero where there is no gate.
      const std::int64_t shift = is_x ? 0 : params.fused.b_to_y;
      // Nothing that follows from these is computed before the passes and kept.
      const TileIndex here{computed_here(at.m), computed_here(at.n), computed_here(at.batch)};
      const std::int64_t k = static_cast<std::int64_t>(computed_here(range.begin)) * slab_depth;
      const std::int64_t row = first_row(here), column = first_column(here);
      const char* const a_data = operand_at(params, a_loader, params.a, params.m, here.batch, 0);
      const char* const b_data =
          operand_at(params, b_loader, params.b, params.n, here.batch, shift);
      a_loader.seek(a_data, row, k, here.batch, clipped(params.m - row, slab_rows));
      b_loader.seek(b_data, column, k, here.batch, clipped(params.n - column, slab_rows));
      accumulators = {};
      multiply_slabs(params, range, a_loader, b_loader, a, b, shared, accumulators, trace);
      if (!is_x) break;
      stage(shared + gated_at, accumulators);  // read behind the barrier after the second pass
    }
    if (unit + gridDim.x >= tiles * splits && params.next_start != NextStart::when_gone)
      ptx::griddepcontrol_launch_dependents();
    trace(TraceEvent::sum);
    if (splits > 1 && !sum_splits(params, tiles, tile, split, accumulators)) continue;
    trace(TraceEvent::epilogue);
    stage(shared, accumulators);
    __syncthreads();  // orders the staged values before the reads of other threads
    if (params.fused.has(operation::any))
      FusedTile(at).write(params, scaling, shared, shared + gated_at);
    else
      OutputTile(at).write(params, scaling, shared);
    __syncthreads();  // orders those reads before the slabs of the next unit
  }
}

}  // namespace bwgemm::direct
