// SPDX-License-Identifier: Apache-2.0
// FusedWriter: the epilogue for more than alpha and beta. The type of D and the width of boxes,
// template arguments of other writers, are run-time values here, so that the operations are
// compiled once. A thread has 16 columns of its row at a time.
#pragma once

#include <type_traits>

#include "device/fused.h"
#include "families/sm100/staged.h"

namespace bwgemm::sm100 {

inline constexpr int patch_columns = 16;

template <KernelConfig config>
struct Patch {
  static constexpr int rows = 1, pairs = patch_columns / 2;
  static constexpr bool is_single = false;
  static constexpr bool in_pairs = stores_rows_by_tma(config);
  static constexpr bool in_steps = false;

  const KernelParams& params;
  int at_row, at_column, batch;
  int end;  // of the columns that it may have

  BWGEMM_DEVICE int row(int) const { return at_row; }
  BWGEMM_DEVICE static constexpr int column_offset(int i) { return 2 * i; }
  BWGEMM_DEVICE int column() const { return at_column; }
  BWGEMM_DEVICE int first(int i) const { return at_column + 2 * i; }
  BWGEMM_DEVICE int second(int i) const { return first(i) + 1; }
  BWGEMM_DEVICE bool has_row(int) const { return at_row < static_cast<int>(params.m); }
  BWGEMM_DEVICE bool has_first(int i) const { return first(i) < end; }
  BWGEMM_DEVICE bool has_second(int i) const { return second(i) < end; }
  BWGEMM_DEVICE Dtype type16() const { return params.type16; }
  BWGEMM_DEVICE static constexpr bool is_exchanged() { return config.swaps_ab; }
  BWGEMM_DEVICE const StridedMatrix& c() const { return params.c; }
};

template <KernelConfig config>
class FusedWriter {
 public:
  BWGEMM_DEVICE FusedWriter(const KernelParams& params, const Cta<config>& cta,
                            const Scaling& scaling)
      : params_(params), cta_(cta), scaling_(scaling), staged_(cta, params.d_type) {}

  BWGEMM_DEVICE void announce(bool has_sums) {
    if constexpr (config.store != Store::elements) staged_.announce(has_sums);
  }

  BWGEMM_DEVICE void write_tile(const TileIndex& tile, AccumulatorReader<config>& accumulators) {
    if constexpr (config.swaps_ab) {
      const int own_box =
          static_cast<int>(AccumulatorReader<config>::quarter()) * bytes() / swizzle_row_bytes;
#pragma unroll 1
      for (int box = 0; box < cta_rows * bytes() / swizzle_row_bytes; ++box) {
        const std::uint32_t buffer = staged_.receive();
        if (box == own_box)
          for_all_columns(tile, 0, [&](const Piece& piece) {
            write_lines(buffer + piece.column * swizzle_row_bytes, piece, accumulators);
          });
        staged_.hand_over();
      }
    } else {
#pragma unroll 1
      for (int row_block = 0; row_block < cta_tiles(config).row_blocks; ++row_block)
        for_all_columns(tile, row_block, [&](const Piece& piece) {
          if constexpr (stores_rows_by_tma(config))
            write_box(piece, accumulators);
          else
            write_elements(piece, accumulators);
        });
    }
  }

 private:
  using Values = Pair[patch_columns / 2];
  struct NotStaged {
    BWGEMM_DEVICE NotStaged(const Cta<config>&, Dtype) {}
  };

  // 16 columns of D in the thread's row, from `column` of those that the tile makes.
  struct Piece {
    const TileIndex& tile;
    int row_block, column;
  };
  // As many of the product: where in the tile they are, which, and where the columns end that they
  // may be.
  struct Columns {
    int in_tile, first, end;
  };

  BWGEMM_DEVICE int bytes() const {
    return is_f32() ? 4 : 2;
  }
  BWGEMM_DEVICE bool is_f32() const {
    return params_.d_type == Dtype::f32;
  }

  template <class Write>
  BWGEMM_DEVICE void for_all_columns(const TileIndex& tile, int row_block,
                                     const Write& write) const {
#pragma unroll 1
    for (int column = 0; column < cta_.d_tile_n; column += patch_columns)
      write(Piece{tile, row_block, column});
  }

  BWGEMM_DEVICE Columns of_d(const Piece& piece) const {
    const int columns = static_cast<int>(params_.n);
    return {piece.column, piece.tile.n * cta_.d_tile_n + piece.column,
            cta_.has_gate() ? columns / 2 : columns};
  }
  // With a gate a piece takes twice as many columns: in turn x and y, or first x, then y.
  BWGEMM_DEVICE Columns of_product(const Piece& piece, int half) const {
    const Columns d = of_d(piece);
    if (!cta_.has_gate()) return d;
    if (cta_.is_stacked())
      return {d.in_tile + half * cta_.d_tile_n, d.first + half * cta_.b_to_y,
              d.end + half * cta_.b_to_y};
    const int behind = half * patch_columns;
    return {2 * d.in_tile + behind, 2 * d.first + behind, 2 * d.end};
  }
  BWGEMM_DEVICE Patch<config> patch(const Piece& piece, const Columns& columns) const {
    const int row = cta_.row(piece.tile) + piece.row_block * cta_rows +
                    static_cast<int>(AccumulatorReader<config>::row());
    return {params_, row, columns.first, piece.tile.batch, columns.end};
  }
  BWGEMM_DEVICE Fused<Patch<config>> fused(const Patch<config>& at) const {
    return {params_, operations_of(params_), scaling_, at};
  }

  // D's values, in place of zeros. read_staged_c: as Fused::add_operands() takes it.
  template <class ReadStaged>
  BWGEMM_DEVICE void compute(const Piece& piece, AccumulatorReader<config>& accumulators,
                             const ReadStaged& read_staged_c, Values& x) const {
    Values first{};  // of a gate's two parts, once the second is in `x`
    const int parts = cta_.has_gate() ? 2 : 1;
#pragma unroll 1
    for (int part = 0; part < parts; ++part) {
      const Columns columns = of_product(piece, part);
      float products[patch_columns];
      accumulators.read(products, piece.row_block, columns.in_tile);
#pragma unroll
      for (int i = 0; i < patch_columns / 2; ++i) {
        first[i] = x[i];
        x[i] = {scaling_.combine(products[2 * i]), scaling_.combine(products[2 * i + 1])};
      }
      const Patch<config> at = patch(piece, columns);
      fused(at).add_operands(x, read_staged_c);
    }
    Values y;
    if (cta_.has_gate()) sort(first, x, y);
    const Patch<config> at = patch(piece, of_d(piece));
    const Fused<Patch<config>> of_piece = fused(at);
    if (of_piece.has(operation::reads_aux))
      of_piece.differentiate(x);
    else
      of_piece.apply_activation(x);
    if (cta_.has_gate()) {
#pragma unroll
      for (int i = 0; i < patch_columns / 2; ++i)
        x[i] = {__fmul_rn(x[i].low, y[i].low), __fmul_rn(x[i].high, y[i].high)};
    }
  }

  // Sorts two parts, `first` and the one in `x`, into what belongs to x and what to y.
  BWGEMM_DEVICE void sort(const Values& first, Values& x, Values& y) const {
    constexpr int half = patch_columns / 4;
    const bool is_stacked = cta_.is_stacked();
    Values of_x;
#pragma unroll
    for (int i = 0; i < patch_columns / 2; ++i) {
      const Pair& left = i < half ? first[2 * i] : x[2 * (i - half)];
      const Pair& right = i < half ? first[2 * i + 1] : x[2 * (i - half) + 1];
      of_x[i] = is_stacked ? first[i] : Pair{left.low, right.low};
      y[i] = is_stacked ? x[i] : Pair{left.high, right.high};
    }
#pragma unroll
    for (int i = 0; i < patch_columns / 2; ++i) x[i] = of_x[i];
  }

  BWGEMM_DEVICE void write_elements(const Piece& piece,
                                    AccumulatorReader<config>& accumulators) const {
    const auto no_staged = [](Values& c) {
      for (Pair& pair : c) pair = {};  // it loads C itself
    };
    Values x{};
    compute(piece, accumulators, no_staged, x);
    const Patch<config> at = patch(piece, of_d(piece));
    fused(at).store(params_.d, is_f32(), x);
  }

  // The thread's row of a box is a line of the buffer. What is no whole box is stored by
  // elements; then no C is staged.
  BWGEMM_DEVICE void write_box(const Piece& piece, AccumulatorReader<config>& accumulators) {
    const bool is_rest = may_leave_rest(config) && piece.column >= boxed_columns(cta_.d_tile_n);
    const int box_columns = staging_columns(cta_.d_tile_n, bytes());
    const int in_box = piece.column % box_columns, line_bytes = box_columns * bytes();
    const std::uint32_t line =
        is_rest ? 0 : staged_.receive() + AccumulatorReader<config>::row() * line_bytes;
    auto unit = [&](int index) {
      return swizzled(line + in_box * bytes() + 16 * index, line_bytes);
    };
    const auto read_c = [&](Values& c) {
      std::uint32_t words[4];
      if (is_f32()) {
#pragma unroll
        for (int i = 0; i < patch_columns / 4; ++i) {
          ptx::ld_shared_v4(unit(i), words);
          c[2 * i] = {__uint_as_float(words[0]), __uint_as_float(words[1])};
          c[2 * i + 1] = {__uint_as_float(words[2]), __uint_as_float(words[3])};
        }
      } else {
#pragma unroll
        for (int i = 0; i < patch_columns / 8; ++i) {
          ptx::ld_shared_v4(unit(i), words);
#pragma unroll
          for (int j = 0; j < 4; ++j) c[4 * i + j] = unpack(params_.d_type, words[j]);
        }
      }
    };
    Values x{};
    compute(piece, accumulators, read_c, x);
    if (is_rest) {
      const Patch<config> at = patch(piece, of_d(piece));
      fused(at).store(params_.d, is_f32(), x);
      return;
    }
    if (is_f32()) {
#pragma unroll
      for (int i = 0; i < patch_columns / 4; ++i)
        ptx::st_shared_v4(unit(i), __float_as_uint(x[2 * i].low), __float_as_uint(x[2 * i].high),
                          __float_as_uint(x[2 * i + 1].low), __float_as_uint(x[2 * i + 1].high));
    } else {
#pragma unroll
      for (int i = 0; i < patch_columns / 8; ++i)
        ptx::st_shared_v4(unit(i), word(x[4 * i]), word(x[4 * i + 1]), word(x[4 * i + 2]),
                          word(x[4 * i + 3]));
    }
    if (in_box + patch_columns == box_columns) staged_.hand_over();
  }
  BWGEMM_DEVICE std::uint32_t word(const Pair& values) const {
    return pack(params_.d_type, values);
  }

  // The thread's row is an element of each column's line; `lines` begins with the first.
  BWGEMM_DEVICE void write_lines(std::uint32_t lines, const Piece& piece,
                                 AccumulatorReader<config>& accumulators) const {
    const std::uint32_t in_line = AccumulatorReader<config>::row() * bytes() % swizzle_row_bytes;
    auto element = [&](int column) {
      return swizzled(lines + column * swizzle_row_bytes + in_line, swizzle_row_bytes);
    };
    const auto read_c = [&](Values& c) {
      if (is_f32()) {
#pragma unroll
        for (int i = 0; i < patch_columns / 2; ++i)
          c[i] = {__uint_as_float(ptx::ld_shared(element(2 * i))),
                  __uint_as_float(ptx::ld_shared(element(2 * i + 1)))};
      } else {
#pragma unroll
        for (int i = 0; i < patch_columns / 2; ++i)
          c[i] = unpack(params_.d_type, ptx::ld_shared_u16(element(2 * i)) |
                                            ptx::ld_shared_u16(element(2 * i + 1)) << 16);
      }
    };
    Values x{};
    compute(piece, accumulators, read_c, x);
    if (is_f32()) {
#pragma unroll
      for (int i = 0; i < patch_columns / 2; ++i) {
        ptx::st_shared(element(2 * i), __float_as_uint(x[i].low));
        ptx::st_shared(element(2 * i + 1), __float_as_uint(x[i].high));
      }
    } else {
#pragma unroll
      for (int i = 0; i < patch_columns / 2; ++i) {
        const std::uint32_t packed = word(x[i]);
        ptx::st_shared_u16(element(2 * i), packed & 0xffff);
        ptx::st_shared_u16(element(2 * i + 1), packed >> 16);
      }
    }
  }

  const KernelParams& params_;
  const Cta<config>& cta_;
  Scaling scaling_;
  std::conditional_t<config.store == Store::elements, NotStaged, Staged<config>> staged_;
};

}  // namespace bwgemm::sm100
