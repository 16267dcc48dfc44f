// SPDX-License-Identifier: Apache-2.0
// The epilogue role of the pair kernel: four warps that turn accumulators into output values and
// put them, slice by slice, into the staging buffers that the output role stores
// (kernels/output.h). A thread owns one row: a lane of tensor memory and a row of each buffer.
#pragma once

#include "kernels/epilogue.h"
#include "kernels/ptx/shared_memory.h"
#include "kernels/ptx/sync.h"
#include "kernels/ptx/tcgen05.h"
#include "kernels/sm100/cta.h"

namespace bwgemm::sm100 {

// Columns of one tcgen05.ld, and the narrowest slice.
inline constexpr int load_columns = 32;

// One thread's row of a slice: `columns` elements of C or D in units of 16 bytes.
template <Dtype type, int columns>
struct SliceRow {
  static constexpr int bytes = columns * size_bytes(type);
  static constexpr int units = bytes / 16;
  std::uint32_t words[units][4];

  // `address`: of the row in an unswizzled buffer.
  BWGEMM_DEVICE void read(std::uint32_t address) {
#pragma unroll
    for (int i = 0; i < units; ++i) ptx::ld_shared_v4(swizzled(address + 16 * i, bytes), words[i]);
  }
  BWGEMM_DEVICE void write(std::uint32_t address) const {
#pragma unroll
    for (int i = 0; i < units; ++i)
      ptx::st_shared_v4(swizzled(address + 16 * i, bytes), words[i][0], words[i][1], words[i][2],
                        words[i][3]);
  }

  BWGEMM_DEVICE void assign(const Scaling& scaling, const float (&product)[columns]) {
#pragma unroll
    for (int i = 0; i < 4 * units; ++i) {
      if constexpr (type == Dtype::f32)
        words[i / 4][i % 4] = __float_as_uint(scaling.combine(product[i]));
      else
        words[i / 4][i % 4] =
            pack(type, {scaling.combine(product[2 * i]), scaling.combine(product[2 * i + 1])});
    }
  }

  // The same where the words hold C.
  BWGEMM_DEVICE void combine(const Scaling& scaling, const float (&product)[columns]) {
#pragma unroll
    for (int i = 0; i < 4 * units; ++i) {
      std::uint32_t& word = words[i / 4][i % 4];
      if constexpr (type == Dtype::f32) {
        word = __float_as_uint(scaling.combine(product[i], __uint_as_float(word)));
      } else {
        const Pair c = unpack(type, word);
        word = pack(type, {scaling.combine(product[2 * i], c.low),
                           scaling.combine(product[2 * i + 1], c.high)});
      }
    }
  }
};

// This thread's lane of `columns` accumulators from `address` on.
template <int columns>
BWGEMM_DEVICE void load_accumulators(float (&values)[columns], std::uint32_t address) {
#pragma unroll
  for (int column = 0; column < columns; column += load_columns)
    ptx::tcgen05_ld_32x32b_x32(values + column, address + column);
  ptx::tcgen05_wait_ld();  // the registers written before their use
  // Nothing tells the compiler that the wait completes them; an empty volatile statement that seems
  // to change them keeps their uses behind it.
#pragma unroll
  for (float& value : values) asm volatile("" : "+f"(value)::"memory");
}

template <Dtype type, int columns>
BWGEMM_DEVICE void run_epilogue(const KernelParams& params, const Cta& cta,
                                std::uint32_t tensor_memory, const Scaling& scaling,
                                bool has_product) {
  const Ring ring = cta.accumulator_ring();
  const std::uint32_t leaders_empty = ptx::mapa(ring.empty_address, leader);
  const StagingBuffers staging = cta.staging(type);
  const std::uint32_t lane = ptx::laneid();
  const std::uint32_t quarter = threadIdx.x / warp_threads % epilogue_warps * warp_threads;
  const std::uint32_t row = (quarter + lane) * SliceRow<type, columns>::bytes;
  Cursor accumulator, at;
  for (Tiles tiles(params, pair_size, 1); tiles.valid(); tiles.advance()) {
    if (has_product) {
      ring.wait_full(accumulator);  // the multiplications' writes before the loads
      ptx::tcgen05_fence_after_thread_sync();
    }
    const std::uint32_t source =
        tensor_memory + (quarter << 16) + accumulator.stage * accumulator_columns;
    for (int column = 0; column < cta.tile_n; column += columns) {
      float product[columns] = {};
      if (has_product) {
        load_accumulators(product, source + column);
        if (column + columns == cta.tile_n) {
          // All loads of the accumulator by the warp before its next multiplications.
          ptx::tcgen05_fence_before_thread_sync();
          __syncwarp();
          if (lane == 0)
            ptx::mbarrier_arrive_relaxed_cluster(leaders_empty + 8 * accumulator.stage);
        }
      }
      staging.ring.wait_full(at);  // stores have left the buffer, TMA writes of C have landed
      const std::uint32_t address = staging.buffer(at) + row;
      SliceRow<type, columns> slice;
      if (scaling.reads_c()) {
        slice.read(address);
        slice.combine(scaling, product);
      } else {
        slice.assign(scaling, product);
      }
      slice.write(address);
      // This thread's writes (and reads of C) before the TMA store's reads (and the next C).
      ptx::fence_proxy_async_shared();
      __syncwarp();  // all lanes' writes and fences before the arrival of one
      if (lane == 0) ptx::mbarrier_arrive(staging.ring.empty(at).address);
      at.advance(staging_buffers);
    }
    accumulator.advance(accumulators);
  }
}

// The row of a staging buffer is one swizzle row, or half of one where tile_n has no whole ones.
template <Dtype type>
BWGEMM_DEVICE void run_epilogue_of(const KernelParams& params, const Cta& cta,
                                   std::uint32_t tensor_memory, const Scaling& scaling,
                                   bool has_product) {
  constexpr int full_row = swizzle_row_bytes / size_bytes(type);
  if (full_row == load_columns || cta.tile_n % full_row == 0)
    run_epilogue<type, full_row>(params, cta, tensor_memory, scaling, has_product);
  else
    run_epilogue<type, load_columns>(params, cta, tensor_memory, scaling, has_product);
}

}  // namespace bwgemm::sm100
