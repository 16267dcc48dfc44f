// SPDX-License-Identifier: Apache-2.0
// RowWriter: the epilogue where rows of D leave by TMA. Output values go box by box into the
// staging buffers that the output role stores; a box is what one buffer holds. A thread owns one
// row of each buffer. It stores columns that fill no whole box itself, in units of 16 bytes: if TMA
// can store D, a unit is all inside D or all outside.
#pragma once

#include "device/ptx/global_memory.h"
#include "families/sm100/staged.h"

namespace bwgemm::sm100 {

// One thread's row of a box: `columns` elements of C or D in units of 16 bytes.
template <Dtype type, int columns>
struct BoxRow {
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
  BWGEMM_DEVICE RowWriter(const KernelParams& params, const Cta<config>& cta,
                          const Scaling& scaling)
      : params_(params),
        cta_(cta),
        scaling_(scaling),
        boxed_columns_(has_rest ? boxed_columns(cta.tile_n) : cta.tile_n),
        staged_(cta, type) {}

  BWGEMM_DEVICE void announce(bool has_sums) { staged_.announce(has_sums); }

  BWGEMM_DEVICE void write_tile(const TileIndex& tile, AccumulatorReader<config>& accumulators) {
#pragma unroll 1
    for (int row_block = 0; row_block < cta_tiles(config).row_blocks; ++row_block) {
      const int held =
          holds && accumulators.are_accumulators() ? min(boxed_columns_, held_columns) : 0;
#pragma unroll 1
      for (int column = 0; column < boxed_columns_ - held; column += columns) {
        float product[columns];
        if constexpr (holds)
          accumulators.read_some(product, row_block, column);
        else
          accumulators.read(product, row_block, column);
        write_box(product);
      }
      if constexpr (holds)
        if (held > 0) write_held(row_block, held, accumulators);
      if constexpr (has_rest)
        if (boxed_columns_ < cta_.tile_n) write_rest(tile, row_block, accumulators);
    }
  }

 private:
  // Tiles with a rest have boxes of this width; of pairs that share B tiles are multiples of it.
  static constexpr bool has_rest =
      may_leave_rest(config) && columns == 32 && groups_of(config).count == 1;
  // Where the next tile waits for the only accumulators, a thread reads the last ones of its row
  // before it waits for the first of their staging buffers.
  static constexpr bool holds = config.choices.accumulators == 1;
  static constexpr int held_columns = 192;  // of f32: as many registers, and few more

  BWGEMM_DEVICE void write_rest(const TileIndex& tile, int row_block,
                                AccumulatorReader<config>& accumulators) const {
    float product[tile_n_step];
    accumulators.read(product, row_block, boxed_columns_);
    const int row =
        cta_.row(tile) + row_block * cta_rows + static_cast<int>(AccumulatorReader<config>::row());
    const int column = tile.n * cta_.tile_n + boxed_columns_;
    const std::int64_t left =
        row < params_.m ? size_bytes(type) * (params_.n - column) : std::int64_t{0};
    const auto unit = [&](const StridedMatrix& matrix, int index) {
      char* const first = const_cast<char*>(static_cast<const char*>(matrix.data));
      return first + 16 * index +
             size_bytes(type) *
                 (row * matrix.outer_stride + column + tile.batch * matrix.batch_stride);
    };
    BoxRow<type, tile_n_step> rest;
    if (scaling_.reads_c()) {
#pragma unroll
      for (int i = 0; i < rest.units; ++i)
        ptx::ld_global_v4_if(16 * i < left, unit(params_.c, i), rest.words[i]);
      rest.combine(scaling_, product);
    } else {
      rest.assign(scaling_, product);
    }
#pragma unroll
    for (int i = 0; i < rest.units; ++i)
      if (16 * i < left)
        ptx::st_global_v4(unit(params_.d, i), rest.words[i][0], rest.words[i][1], rest.words[i][2],
                          rest.words[i][3]);
  }

  BWGEMM_DEVICE void write_held(int row_block, int held, AccumulatorReader<config>& accumulators) {
    float products[held_columns / columns][columns];
#pragma unroll
    for (int i = 0; i < held_columns / columns; ++i)
      if (i * columns < held)
        accumulators.load(products[i], row_block, boxed_columns_ - held + i * columns);
    accumulators.hand_back(row_block);
#pragma unroll
    for (int i = 0; i < held_columns / columns; ++i)
      if (i * columns < held) write_box(products[i]);
  }

  BWGEMM_DEVICE void write_box(const float (&product)[columns]) {
    const std::uint32_t address =
        staged_.receive() + AccumulatorReader<config>::row() * BoxRow<type, columns>::bytes;
    BoxRow<type, columns> box;
    if (scaling_.reads_c()) {
      box.read(address);
      box.combine(scaling_, product);
    } else {
      box.assign(scaling_, product);
    }
    box.write(address);
    staged_.hand_over();
  }

  const KernelParams& params_;
  const Cta<config>& cta_;
  Scaling scaling_;
  int boxed_columns_;  // columns
  Staged<config> staged_;
};

}  // namespace bwgemm::sm100
