// SPDX-License-Identifier: Apache-2.0
// OutputTile: from accumulators to D, and C on the way. Accumulators pass through shared memory so
// that C is read and D written in whole lines, as wide as pointers and leading dimensions allow.
#pragma once

#include "device/epilogue.h"
#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "device/raster.h"
#include "families/direct/access.h"

namespace bwgemm::direct {

inline constexpr int tile_rows = 64, tile_columns = 64;
inline constexpr int log2_tile_columns = 6;
inline constexpr int staging_bytes = tile_rows * tile_columns * 4;

// Eight warps, two by four, hold 32x16 each as 2x2 mma blocks of 16x8.
struct Accumulators {
  static constexpr int rows = 2, columns = 2;
  float block[rows][columns][4];
};

struct WarpTile {
  int row, column;

  BWGEMM_DEVICE explicit WarpTile(int thread)
      : row(thread / 128 * (tile_rows / 2)), column(thread / 32 % 4 * (tile_columns / 4)) {}
};

// Rows are 256 bytes; 32-byte units are crossed with the row, for the four rows that one half-warp
// writes at a time.
BWGEMM_DEVICE std::uint32_t staged(int row, int column) {
  return row * tile_columns * 4 + ((column * 4) ^ ((row & 3) << 5));
}

BWGEMM_DEVICE void stage(std::uint32_t staging, const Accumulators& accumulators) {
  const int thread = ptx::tid_x(), lane = thread % 32;
  const WarpTile warp(thread);
#pragma unroll
  for (int i = 0; i < Accumulators::rows; ++i)
#pragma unroll
    for (int j = 0; j < Accumulators::columns; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = warp.row + 16 * i + 8 * half + lane / 4;
        const int column = warp.column + 8 * j + lane % 4 * 2;
        ptx::st_shared_v2(staging + staged(row, column),
                          __float_as_uint(accumulators.block[i][j][2 * half]),
                          __float_as_uint(accumulators.block[i][j][2 * half + 1]));
      }
}

// `width` neighbouring values of a staged tile.
template <int width>
BWGEMM_DEVICE void read_staged(std::uint32_t address, float (&value)[width]) {
  constexpr int words = width < 4 ? width : 4;
#pragma unroll
  for (int i = 0; i < width; i += words) {
    std::uint32_t bits[words];
    if constexpr (words == 4)
      ptx::ld_shared_v4(address + 4 * i, bits);
    else if constexpr (words == 2)
      ptx::ld_shared_v2(address + 4 * i, bits);
    else
      bits[0] = ptx::ld_shared(address + 4 * i);
#pragma unroll
    for (int word = 0; word < words; ++word) value[i + word] = __uint_as_float(bits[word]);
  }
}

BWGEMM_DEVICE std::int64_t first_row(const TileIndex& at) {
  return static_cast<std::int64_t>(at.m) * tile_rows;
}

BWGEMM_DEVICE std::int64_t first_column(const TileIndex& at) {
  return static_cast<std::int64_t>(at.n) * tile_columns;
}

// How much of a tile's extent lies inside the matrix.
BWGEMM_DEVICE int clipped(std::int64_t left, int extent) {
  return left < extent ? static_cast<int>(left) : extent;
}

class OutputTile {
 public:
  BWGEMM_DEVICE explicit OutputTile(const TileIndex& at) : at_(at) {}

  // D of this tile from the staged accumulators, by all threads.
  BWGEMM_DEVICE void write(const KernelParams& params, const Scaling& scaling,
                           std::uint32_t staging) const {
    const int bytes = access_bytes(params, scaling.reads_c());
    if (params.d_type == Dtype::f32) {
      switch (bytes) {
        case 16: write_units<4, 4>(params, scaling, staging); break;
        case 8: write_units<4, 2>(params, scaling, staging); break;
        default: write_units<4, 1>(params, scaling, staging); break;
      }
    } else {
      switch (bytes) {
        case 16: write_units<2, 8>(params, scaling, staging); break;
        case 8: write_units<2, 4>(params, scaling, staging); break;
        case 4: write_units<2, 2>(params, scaling, staging); break;
        default: write_units<2, 1>(params, scaling, staging); break;
      }
    }
  }

 private:
  static BWGEMM_DEVICE int access_bytes(const KernelParams& params, bool reads_c) {
    const int element_bytes = size_bytes(params.d_type);
    Alignment alignment;
    alignment.bits |= element_bytes * params.n;  // no access crosses the end of a row
    auto add = [&](const StridedMatrix& matrix) {
      alignment.add(matrix.data);
      alignment.add(element_bytes * matrix.batch_stride, params.batch);
      alignment.add(element_bytes * matrix.outer_stride, params.m);
      if (matrix.inner_stride != 1) alignment.bits |= element_bytes;
    };
    add(params.d);
    if (reads_c) add(params.c);
    return alignment.bytes();
  }

  BWGEMM_DEVICE std::int64_t offset(const StridedMatrix& matrix, const UnitMap& units) const {
    return at_.batch * matrix.batch_stride + (first_row(at_) + units.line) * matrix.outer_stride +
           (first_column(at_) + units.column) * matrix.inner_stride;
  }

  template <int element_bytes, int width>
  BWGEMM_DEVICE void write_units(const KernelParams& params, const Scaling& scaling,
                                 std::uint32_t staging) const;

  TileIndex at_;
};

// In `value`: in, the elements of C if it is read; out, those of D.
template <int element_bytes, int width>
BWGEMM_DEVICE void combine_unit(Dtype type, const Scaling& scaling,
                                const float (&accumulated)[width], std::uint32_t* value) {
  const bool reads_c = scaling.reads_c();
  auto combine = [&](float sum, float c) {
    return reads_c ? scaling.combine(sum, c) : scaling.combine(sum);
  };
  if constexpr (element_bytes == 4) {
#pragma unroll
    for (int i = 0; i < width; ++i)
      value[i] = __float_as_uint(combine(accumulated[i], __uint_as_float(value[i])));
  } else {
#pragma unroll
    for (int i = 0; i < width; i += 2) {
      const Pair c = unpack(type, value[i / 2]);
      const float high = width > 1 ? combine(accumulated[(i + 1) % width], c.high) : 0;
      value[i / 2] = pack(type, {combine(accumulated[i], c.low), high});
    }
  }
}

template <int element_bytes, int width>
BWGEMM_DEVICE void OutputTile::write_units(const KernelParams& params, const Scaling& scaling,
                                           std::uint32_t staging) const {
  constexpr int bytes = element_bytes * width, unit_words = words_of(bytes);
  constexpr int units = tile_rows * tile_columns / threads / width;
  constexpr int group = width == 1 ? 8 : units < 4 ? units : 4;  // loads of C in flight
  const UnitMap at(ptx::tid_x(), width, log2_tile_columns);
  const int rows = clipped(params.m - first_row(at_), tile_rows);
  if (at.column >= clipped(params.n - first_column(at_), tile_columns)) return;
  const std::int64_t c_step = element_bytes * at.line_step() * params.c.outer_stride;
  const std::int64_t d_step = element_bytes * at.line_step() * params.d.outer_stride;
  const char* c = static_cast<const char*>(params.c.data) + element_bytes * offset(params.c, at);
  // D is only ever reached through this pointer; StridedMatrix is const for the inputs' sake.
  char* d = const_cast<char*>(static_cast<const char*>(params.d.data)) +
            element_bytes * offset(params.d, at);
  int row = at.line;
#pragma unroll 1
  for (int inside = at.units_in(rows); inside > 0; inside -= group) {
    std::uint32_t value[group * unit_words] = {};
    if (scaling.reads_c()) {
#pragma unroll
      for (int i = 0; i < group; ++i) {
        if (i < inside) load_global<bytes>(c, value + i * unit_words);
        c = ptx::add_s64(c, c_step);
      }
    }
#pragma unroll
    for (int i = 0; i < group; ++i) {
      if (i < inside) {
        float accumulated[width];
        read_staged(staging + staged(row, at.column), accumulated);
        combine_unit<element_bytes>(params.d_type, scaling, accumulated, value + i * unit_words);
        store_global<bytes>(d, value + i * unit_words);
      }
      d = ptx::add_s64(d, d_step);
      row += at.line_step();
    }
  }
}

}  // namespace bwgemm::direct
