// SPDX-License-Identifier: Apache-2.0
// FusedWriter: the epilogue where more is asked for than alpha and beta, for every output and type:
// what the other writers fix when compiled is chosen at launch here, so that the operations are
// there once. A thread has 16 columns of its row at a time.
#pragma once

#include <type_traits>

#include "kernels/fused.h"
#include "kernels/sm100/staged.h"

namespace bwgemm::sm100 {

inline constexpr int patch_columns = 16;

template <KernelConfig config>
struct Patch {
  static constexpr int rows = 1, pairs = patch_columns / 2;
  static constexpr bool is_single = false;
  static constexpr bool in_pairs = config.output == Output::rows;
  static constexpr bool in_steps = false;

  const KernelParams& params;
  int at_row, at_column, batch;

  BWGEMM_DEVICE int row(int) const { return at_row; }
  BWGEMM_DEVICE static constexpr int column_offset(int i) { return 2 * i; }
  BWGEMM_DEVICE int column() const { return at_column; }
  BWGEMM_DEVICE int first(int i) const { return at_column + 2 * i; }
  BWGEMM_DEVICE int second(int i) const { return first(i) + 1; }
  BWGEMM_DEVICE bool has_row(int) const { return at_row < static_cast<int>(params.m); }
  BWGEMM_DEVICE bool has_first(int i) const { return first(i) < static_cast<int>(params.n); }
  BWGEMM_DEVICE bool has_second(int i) const { return second(i) < static_cast<int>(params.n); }
  BWGEMM_DEVICE Dtype type16() const { return params.input_type; }
  BWGEMM_DEVICE static constexpr bool is_exchanged() { return config.output == Output::columns; }
  BWGEMM_DEVICE const StridedMatrix& c() const { return params.c; }
};

template <KernelConfig config>
class FusedWriter {
 public:
  BWGEMM_DEVICE FusedWriter(const KernelParams& params, const Cta<config>& cta,
                            const Scaling& scaling)
      : params_(params), cta_(cta), scaling_(scaling), staged_(cta, params.d_type) {}

  BWGEMM_DEVICE void announce(bool has_sums) {
    if constexpr (config.output != Output::scattered) staged_.announce(has_sums);
  }

  BWGEMM_DEVICE void write_tile(const TileIndex& tile, Sums<config>& sums) {
    if constexpr (config.output == Output::columns) {
      const int own_slice = static_cast<int>(Sums<config>::quarter()) * bytes() / swizzle_row_bytes;
#pragma unroll 1
      for (int slice = 0; slice < cta_rows * bytes() / swizzle_row_bytes; ++slice) {
        const std::uint32_t buffer = staged_.receive();
        if (slice == own_slice)
          for_all_columns(tile, sums, 0, [&](Values& x, int column, const auto& fused) {
            write_lines(buffer + column * swizzle_row_bytes, x, fused);
          });
        staged_.hand_over();
      }
    } else {
#pragma unroll 1
      for (int row_block = 0; row_block < row_blocks(config); ++row_block)
        for_all_columns(tile, sums, row_block, [&](Values& x, int column, const auto& fused) {
          if constexpr (config.output == Output::rows)
            write_slice(column, x, fused);
          else
            write_elements(x, fused);
        });
    }
  }

 private:
  using Values = Pair[patch_columns / 2];
  struct NotStaged {
    BWGEMM_DEVICE NotStaged(const Cta<config>&, Dtype) {}
  };

  BWGEMM_DEVICE int bytes() const {
    return is_f32() ? 4 : 2;
  }
  BWGEMM_DEVICE bool is_f32() const {
    return params_.d_type == Dtype::f32;
  }

  template <class Write>
  BWGEMM_DEVICE void for_all_columns(const TileIndex& tile, Sums<config>& sums, int row_block,
                                     const Write& write) {
#pragma unroll 1
    for (int column = 0; column < cta_.tile_n; column += patch_columns) {
      float products[patch_columns];
      sums.read(products, row_block, column);
      Values x;
#pragma unroll
      for (int i = 0; i < patch_columns / 2; ++i)
        x[i] = {scaling_.combine(products[2 * i]), scaling_.combine(products[2 * i + 1])};
      const Patch<config> patch{
          params_, cta_.row(tile) + row_block * cta_rows + static_cast<int>(sums.row()),
          tile.n * cta_.tile_n + column, tile.batch};
      write(x, column, Fused<Patch<config>>(params_, operations_of(params_), scaling_, patch));
    }
  }

  template <class Operations, class ReadStaged>
  BWGEMM_DEVICE static void apply(const Operations& fused, Values& x, const ReadStaged& read) {
    fused.add_operands(x, read);
    if (fused.has(operation::reads_aux))
      fused.differentiate(x);
    else
      fused.bend(x);
  }

  template <class Operations>
  BWGEMM_DEVICE void write_elements(Values& x, const Operations& fused) const {
    apply(fused, x, [](Values& c) {
      for (Pair& pair : c) pair = {};  // it loads C itself
    });
    fused.store(params_.d, is_f32(), x);
  }

  // The thread's row of a slice is a line of the buffer.
  template <class Operations>
  BWGEMM_DEVICE void write_slice(int column, Values& x, const Operations& fused) {
    const int slice_columns = staging_columns(cta_.tile_n, bytes());
    const int in_slice = column % slice_columns, line_bytes = slice_columns * bytes();
    const std::uint32_t line = staged_.receive() + Sums<config>::row() * line_bytes;
    auto unit = [&](int index) {
      return swizzled(line + in_slice * bytes() + 16 * index, line_bytes);
    };
    apply(fused, x, [&](Values& c) {
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
    });
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
    if (in_slice + patch_columns == slice_columns) staged_.hand_over();
  }
  BWGEMM_DEVICE std::uint32_t word(const Pair& values) const {
    return pack(params_.d_type, values);
  }

  // The thread's row is an element of each column's line; `lines` begins with the first.
  template <class Operations>
  BWGEMM_DEVICE void write_lines(std::uint32_t lines, Values& x, const Operations& fused) const {
    const std::uint32_t in_line = Sums<config>::row() * bytes() % swizzle_row_bytes;
    auto element = [&](int column) {
      return swizzled(lines + column * swizzle_row_bytes + in_line, swizzle_row_bytes);
    };
    apply(fused, x, [&](Values& c) {
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
    });
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
  std::conditional_t<config.output == Output::scattered, NotStaged, Staged<config>> staged_;
};

}  // namespace bwgemm::sm100
