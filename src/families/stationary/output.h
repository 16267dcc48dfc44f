// SPDX-License-Identifier: Apache-2.0
// From a warp's accumulators to D: each lane stores what it holds, 8 neighbours at a time where D
// lies so, without a way through shared memory.
#pragma once

#include "device/computed_here.h"
#include "device/fused.h"
#include "device/pointers.h"
#include "device/raster.h"
#include "families/stationary/operands.h"

namespace bwgemm::stationary {

// Blocks of 16 x 8 as mma.sync leaves them: of each a lane has two neighbours of row line_of_lane()
// and two of the row 8 below. Which columns of D they are column_of() says.
template <KernelConfig config>
struct Accumulators {
  static constexpr int blocks = config.tile.n / 8;
  float block[blocks][4];
};

// What a lane has of 32 columns of a tile (device/fused.h): 8 neighbours of two rows.
template <KernelConfig config>
struct Patch {
  static constexpr int rows = 2, pairs = unit_elements / 2;
  static constexpr bool is_single = false;
  static constexpr bool in_pairs = false;
  static constexpr bool in_steps = true;

  const KernelParams& params;
  int first_row, first_column;
  std::int64_t batch;

  BWGEMM_DEVICE int row(int i) const { return first_row + 8 * i; }
  BWGEMM_DEVICE static constexpr int column_offset(int i) { return 2 * i; }
  BWGEMM_DEVICE int first(int i) const { return first_column + column_offset(i); }
  BWGEMM_DEVICE int second(int i) const { return first(i) + 1; }
  BWGEMM_DEVICE bool has_row(int i) const { return row(i) < params.m; }
  BWGEMM_DEVICE bool has_first(int i) const { return first(i) < params.n; }
  BWGEMM_DEVICE bool has_second(int i) const { return second(i) < params.n; }
  BWGEMM_DEVICE Dtype type16() const { return params.type16; }
  BWGEMM_DEVICE static constexpr bool is_exchanged() { return false; }
  BWGEMM_DEVICE StridedMatrix c() const { return of_batch(params.c); }
  BWGEMM_DEVICE StridedMatrix of_batch(const StridedMatrix& matrix) const {
    if constexpr (holds_all_of_b(config)) return matrix;
    return direct::matrix_of_batch(params, matrix, batch);
  }
};

inline constexpr int patch_values = unit_elements;  // pairs: four of each of two rows
using Values = Pair[patch_values];

// Whether a lane's 8 neighbours of a row are there or not as one, at multiples of 16 bytes.
BWGEMM_DEVICE bool lies_in_units(const StridedMatrix& matrix, int element_bytes, std::int64_t n) {
  return matrix.inner_stride == 1 && n % unit_elements == 0 &&
         matrix.outer_stride * element_bytes % unit_bytes == 0 &&
         matrix.batch_stride * element_bytes % unit_bytes == 0 &&
         reinterpret_cast<std::uintptr_t>(matrix.data) % unit_bytes == 0;
}

// Where the neighbours of a row lie, in such a matrix.
template <KernelConfig config>
BWGEMM_DEVICE char* units_at(const Patch<config>& patch, const StridedMatrix& matrix,
                             int element_bytes, int row) {
  // D is only ever reached through this pointer; StridedMatrix is const for the inputs' sake.
  return const_cast<char*>(static_cast<const char*>(matrix.data)) +
         element_bytes * (patch.batch * matrix.batch_stride + patch.row(row) * matrix.outer_stride +
                          patch.first_column);
}

template <KernelConfig config>
BWGEMM_DEVICE void store_units(const Patch<config>& patch, const StridedMatrix& d,
                               const Values& x) {
  const KernelParams& params = patch.params;
  const Dtype type = params.d_type;
#pragma unroll
  for (int row = 0; row < Patch<config>::rows; ++row) {
    const auto value = [&](int pair) { return x[pair * Patch<config>::rows + row]; };
    if (!patch.has_row(row) || !patch.has_first(0)) continue;
    if (type == Dtype::f32) {
      char* const at = units_at(patch, d, 4, row);
#pragma unroll
      for (int i = 0; i < Patch<config>::pairs; i += 2)
        ptx::st_global_v4(at + 8 * i, __float_as_uint(value(i).low), __float_as_uint(value(i).high),
                          __float_as_uint(value(i + 1).low), __float_as_uint(value(i + 1).high));
    } else {
      ptx::st_global_v4(units_at(patch, d, 2, row), pack(type, value(0)), pack(type, value(1)),
                        pack(type, value(2)), pack(type, value(3)));
    }
  }
}

// Zero where there is none.
template <KernelConfig config>
BWGEMM_DEVICE void load_units(const Patch<config>& patch, bool is_f32, Values& c) {
  const KernelParams& params = patch.params;
#pragma unroll
  for (int row = 0; row < Patch<config>::rows; ++row) {
    const auto value = [&](int pair) -> Pair& { return c[pair * Patch<config>::rows + row]; };
    const bool exists = patch.has_row(row) && patch.has_first(0);
    std::uint32_t word[4];
    if (is_f32) {
      const char* const at = units_at(patch, params.c, 4, row);
#pragma unroll
      for (int i = 0; i < Patch<config>::pairs; i += 2) {
        ptx::ld_global_v4_if(exists, at + 8 * i, word);
        value(i) = {__uint_as_float(word[0]), __uint_as_float(word[1])};
        value(i + 1) = {__uint_as_float(word[2]), __uint_as_float(word[3])};
      }
    } else {
      ptx::ld_global_v4_if(exists, units_at(patch, params.c, 2, row), word);
#pragma unroll
      for (int i = 0; i < Patch<config>::pairs; ++i) value(i) = unpack(params.type16, word[i]);
    }
  }
}

// `x`: alpha * A * B.
template <KernelConfig config>
BWGEMM_DEVICE void write(const Patch<config>& patch, const Scaling& scaling, Values& x) {
  const KernelParams& params = patch.params;
  std::uint32_t operations = operations_with_c(params);
  if (params.fused.has(operation::any) || scaling.reads_c()) {
    const bool c_is_f32 = (operations & operation::c_f32) != 0;
    if (!params.is_pointer_array && lies_in_units(params.c, c_is_f32 ? 4 : 2, params.n))
      operations &= ~operation::loads_c;
    const Fused<Patch<config>> fused(params, operations, scaling, patch);
    fused.add_operands(x, [&](Values& values) { load_units(patch, c_is_f32, values); });
    if (fused.has(operation::reads_aux))
      fused.differentiate(x);
    else
      fused.apply_activation(x);
  }
  const StridedMatrix d = patch.of_batch(params.d);
  const bool is_f32 = params.d_type == Dtype::f32;
  if (lies_in_units(d, is_f32 ? 4 : 2, params.n))
    store_units(patch, d, x);
  else
    Fused<Patch<config>>(params, operations, scaling, patch).store(d, is_f32, x);
}

// The lane's share of a tile. `row`: the first of the warp. The same code for all columns, because
// fetching more instructions takes a short launch longer than moving the accumulators.
template <KernelConfig config>
BWGEMM_DEVICE void write(const KernelParams& params, const TileIndex& at, int row,
                         const Scaling& scaling, Accumulators<config>& accumulators) {
  constexpr int blocks = accumulators.blocks, at_once = Patch<config>::pairs;
  int column = at.n * config.tile.n + unit_of_lane() * unit_elements;
#pragma unroll 1
  for (int first = 0; first < blocks && column < params.n;
       first += at_once, column += 8 * at_once) {
    Values x;
#pragma unroll
    for (int i = 0; i < Patch<config>::rows * Patch<config>::pairs; ++i) {
      const float(&block)[4] = accumulators.block[i / Patch<config>::rows];
      const int half = i % Patch<config>::rows * 2;
      x[i] = {scaling.combine(block[half]), scaling.combine(block[half + 1])};
    }
    // What follows from the row is not computed in front of the loop and kept.
    const int first_row = computed_here(row) + line_of_lane();
    write(Patch<config>{params, first_row, column, at.batch}, scaling, x);
#pragma unroll
    for (int i = 0; i + at_once < blocks; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) accumulators.block[i][j] = accumulators.block[i + at_once][j];
  }
}

}  // namespace bwgemm::stationary
