// SPDX-License-Identifier: Apache-2.0
// ScatterWriter: the epilogue of Store::elements: ordinary stores of D, and loads of C, at any
// address. A thread owns one row and moves 16 bytes of it at a time where they are aligned and
// inside of D, else single elements.
#pragma once

#include "device/epilogue.h"
#include "device/ptx/global_memory.h"
#include "families/sm100/accumulator_reader.h"

namespace bwgemm::sm100 {

template <KernelConfig config, Dtype type>
class ScatterWriter {
 public:
  BWGEMM_DEVICE ScatterWriter(const KernelParams& params, const Cta<config>& cta,
                              const Scaling& scaling)
      : params_(params), cta_(cta), scaling_(scaling) {}

  BWGEMM_DEVICE void announce(bool) const {}

  BWGEMM_DEVICE void write_tile(const TileIndex& tile,
                                AccumulatorReader<config>& accumulators) const {
#pragma unroll 1
    for (int row_block = 0; row_block < cta_tiles(config).row_blocks; ++row_block) {
      const int row = cta_.row(tile) + row_block * cta_rows + static_cast<int>(accumulators.row());
      const int first = tile.n * cta_.tile_n;
      char* d = address_of(params_.d, row, first, tile.batch);
      const char* c = address_of(params_.c, row, first, tile.batch);
      // All lanes take part in the loads from tensor memory, whatever rows D has.
      std::int64_t left = row < params_.m ? params_.n - first : 0;
#pragma unroll 1
      for (int column = 0; column < cta_.tile_n; column += columns) {
        float product[columns];
        accumulators.read(product, row_block, column);
        write(product, d, c, static_cast<int>(min(left, std::int64_t{columns})));
        d += columns * bytes;
        c += columns * bytes;
        left -= columns;
      }
    }
  }

 private:
  static constexpr int columns = cta_tiles(config).columns_at_once;
  static constexpr int bytes = size_bytes(type);
  static constexpr int unit_bytes = 16;
  static constexpr int per_unit = unit_bytes / bytes;

  BWGEMM_DEVICE static char* address_of(const StridedMatrix& matrix, int row, int column,
                                        int batch) {
    char* const first = const_cast<char*>(static_cast<const char*>(matrix.data));
    return first + bytes * (row * matrix.outer_stride + column + batch * matrix.batch_stride);
  }
  BWGEMM_DEVICE static bool is_aligned(const char* address) {
    return reinterpret_cast<std::uintptr_t>(address) % unit_bytes == 0;
  }

  BWGEMM_DEVICE void write(float (&values)[columns], char* d, const char* c, int left) const {
    if (scaling_.reads_c()) {
      float of_c[columns];
      read(of_c, c, left);
#pragma unroll
      for (int i = 0; i < columns; ++i) values[i] = scaling_.combine(values[i], of_c[i]);
    } else {
#pragma unroll
      for (float& value : values) value = scaling_.combine(value);
    }
    if (left == columns && is_aligned(d)) {
#pragma unroll
      for (int i = 0; i < columns; i += per_unit)
        ptx::st_global_v4(d + i * bytes, word(&values[i], 0), word(&values[i], 1),
                          word(&values[i], 2), word(&values[i], 3));
      return;
    }
#pragma unroll
    for (int i = 0; i < columns; ++i)
      if (i < left) store(d + i * bytes, values[i]);
  }

  // Zero where C has no element.
  BWGEMM_DEVICE static void read(float (&values)[columns], const char* c, int left) {
    if (left == columns && is_aligned(c)) {
#pragma unroll
      for (int i = 0; i < columns; i += per_unit) {
        std::uint32_t words[4];
        ptx::ld_global_v4(c + i * bytes, words[0], words[1], words[2], words[3]);
#pragma unroll
        for (int j = 0; j < per_unit; ++j) values[i + j] = element(words, j);
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      if constexpr (type == Dtype::f32)
        values[i] = __uint_as_float(ptx::ld_global_if(i < left, c + i * bytes));
      else
        values[i] = unpack(type, ptx::ld_global_u16_if(i < left, c + i * bytes)).low;
    }
  }

  // Words of one unit, and its elements.
  BWGEMM_DEVICE static std::uint32_t word(const float* values, int index) {
    if constexpr (type == Dtype::f32)
      return __float_as_uint(values[index]);
    else
      return pack(type, {values[2 * index], values[2 * index + 1]});
  }
  BWGEMM_DEVICE static float element(const std::uint32_t (&words)[4], int index) {
    if constexpr (type == Dtype::f32) {
      return __uint_as_float(words[index]);
    } else {
      const Pair pair = unpack(type, words[index / 2]);
      return index % 2 == 0 ? pair.low : pair.high;
    }
  }
  BWGEMM_DEVICE static void store(char* address, float value) {
    if constexpr (type == Dtype::f32)
      ptx::st_global(address, __float_as_uint(value));
    else
      ptx::st_global_u16(address, pack(type, {value, value}));
  }

  const KernelParams& params_;
  const Cta<config>& cta_;
  Scaling scaling_;
};

}  // namespace bwgemm::sm100
