// SPDX-License-Identifier: Apache-2.0
// FusedTile: from staged accumulators to D where more is asked for than alpha and beta: two
// neighbouring elements at a time, anywhere in memory. With a gate the tile has been computed
// twice, for the columns of x and for those of y.
#pragma once

#include "device/fused.h"
#include "device/pointers.h"
#include "families/direct/output_tile.h"

namespace bwgemm::direct {

// Two neighbours of D, of which those outside of it are neither read nor written.
struct PairPatch {
  static constexpr int rows = 1, pairs = 1;
  static constexpr bool is_single = false;
  static constexpr bool in_pairs = false;
  static constexpr bool in_steps = false;

  const KernelParams& params;
  std::int64_t at_row, d_column;
  std::int64_t y;  // from the column of an x to that of its y; 0 for x
  std::int64_t batch;

  BWGEMM_DEVICE std::int64_t row(int) const { return at_row; }
  BWGEMM_DEVICE std::int64_t first(int) const { return d_column * params.fused.columns.step + y; }
  BWGEMM_DEVICE std::int64_t second(int) const {
    return (d_column + 1) * params.fused.columns.step + y;
  }
  BWGEMM_DEVICE bool has_row(int) const { return at_row < params.m; }
  BWGEMM_DEVICE bool has_first(int) const { return d_column < params.n; }
  BWGEMM_DEVICE bool has_second(int) const { return d_column + 1 < params.n; }
  BWGEMM_DEVICE Dtype type16() const { return params.type16; }
  BWGEMM_DEVICE bool is_exchanged() const { return false; }
  BWGEMM_DEVICE StridedMatrix c() const { return matrix_of_batch(params, params.c, batch); }
};

class FusedTile {
 public:
  BWGEMM_DEVICE explicit FusedTile(const TileIndex& at) : at_(at) {}

  // By all threads. `products`: staged accumulators, with a gate those of y, and those of x at
  // `gated`.
  BWGEMM_DEVICE void write(const KernelParams& params, const Scaling& scaling,
                           std::uint32_t products, std::uint32_t gated) const {
#pragma unroll 1
    for (int row = ptx::tid_x() / 32; row < tile_rows; row += threads / 32) {
      // Nothing that follows from these is computed before the loop and kept.
      const int batch = computed_here(at_.batch), column = computed_here(ptx::tid_x()) % 32 * 2;
      const std::int64_t at_row = first_row(at_) + computed_here(row);
      const std::int64_t at_column = first_column(at_) + column;
      if (at_row >= params.m) return;
      const std::uint32_t operations = operations_of(params);
      const bool has_gate = (operations & operation::gate) != 0;
      Pair d{};
#pragma unroll 1
      for (bool is_x = has_gate;; is_x = false) {
        const std::int64_t y = has_gate && !is_x ? params.fused.to_y : 0;
        const PairPatch patch{params, at_row, at_column, y, batch};
        Pair x[1];
        fill(params, operations, scaling, patch, is_x ? gated : products, row, column, x);
        const Fused<PairPatch> fused(params, operations, scaling, patch);
        if (fused.has(operation::reads_aux))
          fused.differentiate(x);
        else if (is_x || !has_gate)
          fused.apply_activation(x);
        if (has_gate && !is_x)
          d = {__fmul_rn(d.low, x[0].low), __fmul_rn(d.high, x[0].high)};
        else
          d = x[0];
        if (!is_x) break;
      }
      const PairPatch patch{params, at_row, at_column, 0, batch};
      store(params, matrix_of_batch(params, params.d, batch), patch, d);
    }
  }

 private:
  BWGEMM_DEVICE static void fill(const KernelParams& params, std::uint32_t operations,
                                 const Scaling& scaling, const PairPatch& patch,
                                 std::uint32_t staging, int row, int column, Pair (&x)[1]) {
    float sums[2];
    read_staged(staging + staged(row, column), sums);
    x[0] = {scaling.combine(sums[0]), scaling.combine(sums[1])};
    const auto no_staged = [](Pair(&c)[1]) { c[0] = {}; };  // C is loaded element by element
    Fused<PairPatch>(params, operations, scaling, patch).add_operands(x, no_staged);
  }

  BWGEMM_DEVICE static void store(const KernelParams& params, const StridedMatrix& d,
                                  const PairPatch& patch, const Pair& values) {
    const std::int64_t index = patch.batch * d.batch_stride + patch.at_row * d.outer_stride +
                               patch.d_column * d.inner_stride;
    const std::int64_t bytes = size_bytes(params.d_type);
    // D is only ever reached through this pointer; StridedMatrix is const for the inputs' sake.
    char* const first = const_cast<char*>(static_cast<const char*>(d.data)) + bytes * index;
    char* const second = first + bytes * d.inner_stride;
    if (params.d_type == Dtype::f32) {
      ptx::st_global_if(patch.has_first(0), first, __float_as_uint(values.low));
      ptx::st_global_if(patch.has_second(0), second, __float_as_uint(values.high));
    } else {
      const std::uint32_t packed = pack(params.d_type, values);
      ptx::st_global_u16_if(patch.has_first(0), first, packed & 0xffff);
      ptx::st_global_u16_if(patch.has_second(0), second, packed >> 16);
    }
  }

  TileIndex at_;
};

}  // namespace bwgemm::direct
