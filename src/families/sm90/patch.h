// SPDX-License-Identifier: Apache-2.0
// Patch: the part of the tile that a consumer thread handles at a time in a fused epilogue
// (device/fused.h). It has enough columns to overlap latencies, within a box of f32 and the free
// registers. The thread has two rows of it, 8 apart, and two neighbours of every 8 columns.
#pragma once

#include "device/fused.h"
#include "families/sm90/cta.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
struct Patch {
  static constexpr int rows = 2, pairs = staged_boxes(config).patch_columns / 8;
  static constexpr bool is_single = false;
  static constexpr bool in_pairs = stores_rows_by_tma(config);
  static constexpr bool in_steps = false;

  const KernelParams& params;
  int first_row, first_column;  // of the kernel
  int batch;

  BWGEMM_DEVICE int row(int i) const {
    return config.swaps_ab ? of_product(first_row, i) : first_row + 8 * i;
  }
  BWGEMM_DEVICE static constexpr int column_offset(int i) { return 8 * i; }
  BWGEMM_DEVICE int column(int i = 0) const { return first_column + column_offset(i); }
  BWGEMM_DEVICE int first(int i) const {
    return config.swaps_ab ? column(i) : of_product(first_column, i);
  }
  BWGEMM_DEVICE int second(int i) const {
    return first(i) + (config.swaps_ab ? 1 : params.fused.columns.step);
  }
  BWGEMM_DEVICE bool has_row(int i) const { return first_row + 8 * i < static_cast<int>(params.m); }
  BWGEMM_DEVICE bool has_first(int i) const { return column(i) < static_cast<int>(params.n); }
  // Rows end with a pair (rules/rejects.cpp).
  BWGEMM_DEVICE bool has_second(int i) const {
    return config.swaps_ab ? column(i) + 1 < static_cast<int>(params.n) : has_first(i);
  }
  BWGEMM_DEVICE Dtype type16() const { return params.type16; }
  BWGEMM_DEVICE static constexpr bool is_exchanged() { return config.swaps_ab; }
  BWGEMM_DEVICE const StridedMatrix& c() const { return params.c; }

 private:
  // The product's index of what the kernel has 8 * i behind `first`, along D's contiguous
  // dimension: groups of 16 may be x and y of a gate.
  BWGEMM_DEVICE int of_product(int first, int i) const {
    const GateColumns& columns = params.fused.columns;
    return first / 16 * columns.block + first % 8 * columns.step + i / 2 * columns.block +
           i % 2 * columns.half;
  }
};

// Begins to bring to L1 the vectors that the epilogue of a tile loads itself. Nothing else passes
// through L1 while products are computed. Without this the epilogue would wait for each patch's
// part in turn. One thread for every 8 rows and every 8 columns.
template <KernelConfig config>
BWGEMM_DEVICE void prefetch_vectors(const KernelParams& params, int row, int column, int batch) {
  constexpr bool has_biases = parts_of(config).loads_biases_late;
  const FusedParams& fused = params.fused;
  const Patch<config> groups{params, row, column, batch};
  const int group = threadIdx.x % 128;
  const auto prefetch = [&](std::uint32_t operation, std::uint32_t is_f32,
                            const FusedVector& vector, int index) {
    if (!fused.has(operation)) return;
    const std::int64_t element = batch * vector.batch_stride + index;
    ptx::prefetch_global_l1(static_cast<const char*>(vector.data) +
                            element * (is_f32 == 0 || fused.has(is_f32) ? 4 : 2));
  };
  if (group < warpgroups_of(config).rows / 8 && groups.has_row(group)) {
    if constexpr (has_biases)
      prefetch(operation::row_bias, operation::row_bias_f32, fused.row_bias, groups.row(group));
    prefetch(operation::row_scale, 0, fused.row_scale, groups.row(group));
  }
  if (group < config.tile.n / 8 && groups.has_first(group)) {
    if constexpr (has_biases)
      prefetch(operation::column_bias, operation::column_bias_f32, fused.column_bias,
               groups.first(group));
    prefetch(operation::column_scale, 0, fused.column_scale, groups.first(group));
  }
}

}  // namespace bwgemm::sm90
