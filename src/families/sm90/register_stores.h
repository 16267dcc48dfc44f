// SPDX-License-Identifier: Apache-2.0
// RegisterStores: the epilogue of a consumer warpgroup whose tiles are narrow and whose operands
// are exchanged (swap-AB), so that a tile is a few columns of D. The threads store from registers,
// wherever the columns begin. The way through staging buffers and the output role takes longer, and
// nothing hides that time where a CTA has one tile. Narrow tiles without the exchange were slower
// with stores from registers: bench/log/2026-11-25.md.
#pragma once

#include "device/epilogue.h"
#include "device/ptx/global_memory.h"
#include "families/sm90/cta.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class RegisterStores {
 public:
  // For the tile at which the walk stands.
  RegisterStores() = default;
  BWGEMM_DEVICE RegisterStores(const KernelParams& params, const Cta<config>& cta,
                               const Tiles& tiles, int warpgroup) {
    const TileIndex tile = tiles.at(params);
    const int warp = threadIdx.x / 32 % warps_per_warpgroup, lane = ptx::laneid();
    row_ = cta.row(tile) + cta.first_row(warpgroup) + warp * 16 + lane / 4;
    column_ = cta.column(tile) + lane % 4 * 2;
    batch_ = tile.batch;
  }

  BWGEMM_DEVICE void write_tile(const KernelParams& params,
                                const Accumulators<config>& accumulators,
                                const Scaling& scaling) const {
    if (params.d_type == Dtype::f32)
      write<Dtype::f32>(params, accumulators, scaling);
    else if (params.type16 == Dtype::bf16)
      write<Dtype::bf16>(params, accumulators, scaling);
    else
      write<Dtype::f16>(params, accumulators, scaling);
  }

 private:
  template <Dtype type>
  BWGEMM_DEVICE void write(const KernelParams& params, const Accumulators<config>& accumulators,
                           const Scaling& scaling) const {
    constexpr int bytes = size_bytes(type);
    const StridedMatrix& d = params.d;
    const std::int64_t column_pitch = bytes * d.outer_stride;
    char* const first = static_cast<char*>(const_cast<void*>(d.data)) +
                        bytes * (d.batch_stride * batch_ + row_) + column_pitch * column_;
    const int rows_left = static_cast<int>(params.m) - row_,
              columns_left = static_cast<int>(params.n) - column_;
#pragma unroll
    for (int i = 0; i < config.tile.n / 8; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float* const pair = &accumulators[0][4 * i + 2 * half];
        const int row = 8 * half, column = 8 * i;
        char* const low = first + column * column_pitch + bytes * row;
        store<type>(row < rows_left && column < columns_left, low,
                    row < rows_left && column + 1 < columns_left, low + column_pitch,
                    {scaling.combine(pair[0]), scaling.combine(pair[1])});
      }
  }

  template <Dtype type>
  BWGEMM_DEVICE static void store(bool has_low, char* low, bool has_high, char* high, Pair values) {
    if constexpr (type == Dtype::f32) {
      ptx::st_global_if(has_low, low, __float_as_uint(values.low));
      ptx::st_global_if(has_high, high, __float_as_uint(values.high));
    } else {
      const std::uint32_t packed = pack(type, values);
      ptx::st_global_u16_if(has_low, low, packed & 0xffff);
      ptx::st_global_u16_if(has_high, high, packed >> 16);
    }
  }

  int row_, column_;  // of the thread's first element
  int batch_;
};

}  // namespace bwgemm::sm90
