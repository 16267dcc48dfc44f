// SPDX-License-Identifier: Apache-2.0
// RowWriter: the epilogue of Output::rows: output values, slice by slice, into the staging buffers
// that the output role stores. A thread owns one row of each buffer.
#pragma once

#include "kernels/sm100/staged.h"

namespace bwgemm::sm100 {

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

template <KernelConfig config, Dtype type, int columns>
class RowWriter {
 public:
  BWGEMM_DEVICE RowWriter(const KernelParams&, const Cta<config>& cta, const Scaling& scaling)
      : scaling_(scaling), tile_n_(cta.tile_n), staged_(cta, type) {}

  BWGEMM_DEVICE void announce(bool has_sums) { staged_.announce(has_sums); }

  BWGEMM_DEVICE void write_tile(const TileIndex&, Sums<config>& sums) {
#pragma unroll 1
    for (int row_block = 0; row_block < row_blocks(config); ++row_block) {
      const int held = holds && sums.are_accumulators() ? min(tile_n_, held_columns) : 0;
#pragma unroll 1
      for (int column = 0; column < tile_n_ - held; column += columns) {
        float product[columns];
        if constexpr (holds)
          sums.read_some(product, row_block, column);
        else
          sums.read(product, row_block, column);
        write_slice(product);
      }
      if constexpr (holds)
        if (held > 0) write_held(row_block, held, sums);
    }
  }

 private:
  // Where the next tile waits for the only accumulators, a thread reads the last ones of its row
  // before it waits for the first of their staging buffers.
  static constexpr bool holds = config.choices.accumulators == 1;
  static constexpr int held_columns = 192;  // of f32: as many registers, and few more

  BWGEMM_DEVICE void write_held(int row_block, int held, Sums<config>& sums) {
    float products[held_columns / columns][columns];
#pragma unroll
    for (int i = 0; i < held_columns / columns; ++i)
      if (i * columns < held) sums.load(products[i], row_block, tile_n_ - held + i * columns);
    sums.hand_back(row_block);
#pragma unroll
    for (int i = 0; i < held_columns / columns; ++i)
      if (i * columns < held) write_slice(products[i]);
  }

  BWGEMM_DEVICE void write_slice(const float (&product)[columns]) {
    const std::uint32_t address =
        staged_.receive() + Sums<config>::row() * SliceRow<type, columns>::bytes;
    SliceRow<type, columns> slice;
    if (scaling_.reads_c()) {
      slice.read(address);
      slice.combine(scaling_, product);
    } else {
      slice.assign(scaling_, product);
    }
    slice.write(address);
    staged_.hand_over();
  }

  Scaling scaling_;
  int tile_n_;
  Staged<config> staged_;
};

}  // namespace bwgemm::sm100
