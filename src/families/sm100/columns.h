// SPDX-License-Identifier: Apache-2.0
// ColumnWriter: the epilogue of swap-AB, where the few rows of the problem are the tile's columns.
// A line of a staging buffer is 128 bytes of one column of the tile. A thread owns one row and so
// one element of each line. A box is as many rows as a line holds, and all columns.
#pragma once

#include "families/sm100/staged.h"

namespace bwgemm::sm100 {

template <KernelConfig config, Dtype type>
class ColumnWriter {
 public:
  BWGEMM_DEVICE ColumnWriter(const KernelParams&, const Cta<config>& cta, const Scaling& scaling)
      : scaling_(scaling), tile_n_(cta.tile_n), staged_(cta, type) {}

  BWGEMM_DEVICE void announce(bool has_sums) { staged_.announce(has_sums); }

  BWGEMM_DEVICE void write_tile(const TileIndex&, AccumulatorReader<config>& accumulators) {
    const int own_box = static_cast<int>(AccumulatorReader<config>::quarter()) / box_rows;
#pragma unroll 1
    for (int box = 0; box < cta_rows / box_rows; ++box) {
      const std::uint32_t buffer = staged_.receive();
      if (box == own_box) write_box(buffer, accumulators);
      staged_.hand_over();
    }
  }

 private:
  static constexpr int step = cta_tiles(config).columns_at_once;
  static constexpr int bytes = size_bytes(type);
  static constexpr int box_rows = swizzle_row_bytes / bytes;

  BWGEMM_DEVICE void write_box(std::uint32_t buffer,
                               AccumulatorReader<config>& accumulators) const {
    const std::uint32_t in_line = AccumulatorReader<config>::row() % box_rows * bytes;
#pragma unroll 1
    for (int first = 0; first < tile_n_; first += step) {
      float product[step];
      accumulators.read(product, 0, first);
#pragma unroll
      for (int i = 0; i < step; ++i) {
        const std::uint32_t at =
            swizzled(buffer + (first + i) * swizzle_row_bytes + in_line, swizzle_row_bytes);
        store(at, scaling_.reads_c() ? scaling_.combine(product[i], load(at))
                                     : scaling_.combine(product[i]));
      }
    }
  }

  BWGEMM_DEVICE static float load(std::uint32_t address) {
    if constexpr (type == Dtype::f32)
      return __uint_as_float(ptx::ld_shared(address));
    else
      return unpack(type, ptx::ld_shared_u16(address)).low;
  }
  BWGEMM_DEVICE static void store(std::uint32_t address, float value) {
    if constexpr (type == Dtype::f32)
      ptx::st_shared(address, __float_as_uint(value));
    else
      ptx::st_shared_u16(address, pack(type, {value, value}));
  }

  Scaling scaling_;
  int tile_n_;
  Staged<config> staged_;
};

}  // namespace bwgemm::sm100
