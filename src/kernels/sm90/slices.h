// SPDX-License-Identifier: Apache-2.0
// SliceWriter: the epilogue of one consumer warpgroup. It turns accumulators into output values and
// puts them, slice by slice, into the staging buffers that the output role stores
// (kernels/output.h).
//
// Accumulators 4g..4g+3 of a thread are two pairs of neighbours in group g, the tile's columns
// 8g..8g+7: row 16*warp + lane/4 of the warpgroup's 64 (and the row 8 below it for the second
// pair), columns 2*(lane%4) and the next.
#pragma once

#include "kernels/epilogue.h"
#include "kernels/ptx/shared_memory.h"
#include "kernels/ptx/sync.h"
#include "kernels/sm90/cta.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class SliceWriter {
  static constexpr Dtype type16 = config.input == Input::bf16 ? Dtype::bf16 : Dtype::f16;
  static constexpr int pairs = config.tile.n / 4;  // of accumulators per thread

 public:
  BWGEMM_DEVICE SliceWriter(const Cta<config>& cta, int warpgroup, const Scaling& scaling)
      : staging_(cta.staging(warpgroup)), scaling_(scaling), lane_(ptx::laneid()) {
    const std::uint32_t warp_row = threadIdx.x / 32 % warps_per_warpgroup * 16;
    const std::uint32_t pair_row = (warp_row + lane_ / 4) * swizzle_row_bytes;
    pair16_ = swizzled(pair_row + lane_ % 4 * 4, swizzle_row_bytes);
    pair32_ = swizzled(pair_row + lane_ % 4 * 8, swizzle_row_bytes);
    const std::uint32_t matrix_row = (warp_row + lane_ % 16) * swizzle_row_bytes;
    matrix_ = swizzled(matrix_row + lane_ / 16 * 16, swizzle_row_bytes);
  }

  BWGEMM_DEVICE void write_tile(const float (&accumulators)[config.tile.n / 2], Dtype d_type) {
    if (d_type == Dtype::f32)
      write_slices<Dtype::f32>(accumulators);
    else
      write_slices<type16>(accumulators);
  }

 private:
  template <Dtype type>
  BWGEMM_DEVICE void write_slices(const float (&accumulators)[config.tile.n / 2]) {
    constexpr int per_slice = staging_columns(config.tile.n, size_bytes(type)) / 4;
#pragma unroll
    for (int first = 0; first < pairs; first += per_slice) {
      staging_.ring.wait_full(at_);  // stores have left the buffer, TMA writes of C have landed
      const std::uint32_t buffer = staging_.buffer(at_, staging_.bytes);
      Pair values[per_slice];
      combine<type>(values, &accumulators[2 * first], buffer);
      write<type>(values, buffer);
      // This thread's writes and reads of C before the TMA store's reads and the next C's writes.
      ptx::fence_proxy_async_shared();
      __syncwarp();  // all lanes' accesses and fences before the arrival of one
      if (lane_ == 0) ptx::mbarrier_arrive(staging_.ring.empty(at_).address);
      at_.advance(staging_buffers);
    }
  }

  template <Dtype type, int count>
  BWGEMM_DEVICE void combine(Pair (&values)[count], const float* accumulators,
                             std::uint32_t buffer) const {
    if (!scaling_.reads_c()) {
#pragma unroll
      for (int i = 0; i < count; ++i)
        values[i] = {scaling_.combine(accumulators[2 * i]),
                     scaling_.combine(accumulators[2 * i + 1])};
      return;
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const Pair c = read_c<type>(buffer, i);
      values[i] = {scaling_.combine(accumulators[2 * i], c.low),
                   scaling_.combine(accumulators[2 * i + 1], c.high)};
    }
    __syncwarp();  // every lane's reads of C before any lane's stmatrix over them
  }

  template <Dtype type>
  BWGEMM_DEVICE Pair read_c(std::uint32_t buffer, int pair) const {
    if constexpr (type == Dtype::f32) {
      std::uint32_t c[2];
      ptx::ld_shared_v2(pair_address<type>(buffer, pair), c);
      return {__uint_as_float(c[0]), __uint_as_float(c[1])};
    } else {
      return unpack(type, ptx::ld_shared(pair_address<type>(buffer, pair)));
    }
  }

  template <Dtype type, int count>
  BWGEMM_DEVICE void write(const Pair (&values)[count], std::uint32_t buffer) const {
    if constexpr (type == Dtype::f32) {
#pragma unroll
      for (int i = 0; i < count; ++i)
        ptx::st_shared_v2(pair_address<type>(buffer, i), __float_as_uint(values[i].low),
                          __float_as_uint(values[i].high));
    } else {
#pragma unroll
      for (int i = 0; i < count; i += 4)  // 16 rows of two groups
        ptx::stmatrix_m8n8_x4(matrix_address(buffer, i / 2), pack(type, values[i]),
                              pack(type, values[i + 1]), pack(type, values[i + 2]),
                              pack(type, values[i + 3]));
    }
  }

  // Groups move an address by whole 16-byte units, which the swizzle permutes by exclusive or.
  template <Dtype type>
  BWGEMM_DEVICE std::uint32_t pair_address(std::uint32_t buffer, int pair) const {
    const std::uint32_t group = pair / 2 * 8 * size_bytes(type);
    const std::uint32_t row_below = pair % 2 * atom_rows * swizzle_row_bytes;
    return buffer + ((type == Dtype::f32 ? pair32_ : pair16_) ^ group) + row_below;
  }
  BWGEMM_DEVICE std::uint32_t matrix_address(std::uint32_t buffer, int group) const {
    return buffer + (matrix_ ^ group * 16);
  }

  static constexpr int atom_rows = 8;  // the swizzle repeats

  StagingBuffers staging_;
  Scaling scaling_;
  Cursor at_;
  std::uint32_t lane_;
  // Offsets in a buffer, for its first group: of this thread's first pair in 16-bit and in f32
  // output, and of the row that this lane names for stmatrix (lanes 16..31: of the next group).
  std::uint32_t pair16_, pair32_, matrix_;
};

}  // namespace bwgemm::sm90
