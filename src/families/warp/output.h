// SPDX-License-Identifier: Apache-2.0
// From a warp's accumulators to D: each lane stores what it holds, without a way through shared
// memory.
#pragma once

#include "device/fused.h"
#include "device/pointers.h"
#include "families/warp/layout.h"

namespace bwgemm::warp {

// Accumulators: blocks of 16 x 8 as mma.sync leaves them: a lane has columns 2 * (lane % 4) and the
// next, the first two of row lane / 4 and the others of the row 8 below.
template <KernelConfig config>
struct Accumulators {
  static constexpr int block_rows = config.tile.m / 16, block_columns = config.tile.n / 8;
  float block[block_rows][block_columns][4];
};

// What a lane has of a tile (device/fused.h): pairs of neighbours 8 rows and 8 columns apart.
template <KernelConfig config>
struct Patch {
  static constexpr int rows = config.tile.m / 8, pairs = config.tile.n / 8;
  static constexpr bool is_single = false;
  static constexpr bool in_pairs = false;
  static constexpr bool in_steps = false;

  const KernelParams& params;
  std::int64_t first_row, first_column;
  std::int64_t batch;

  BWGEMM_DEVICE std::int64_t row(int i) const { return first_row + 8 * i; }
  BWGEMM_DEVICE std::int64_t first(int i) const { return first_column + 8 * i; }
  BWGEMM_DEVICE std::int64_t second(int i) const { return first(i) + 1; }
  BWGEMM_DEVICE bool has_row(int i) const { return row(i) < params.m; }
  BWGEMM_DEVICE bool has_first(int i) const { return first(i) < params.n; }
  BWGEMM_DEVICE bool has_second(int i) const { return second(i) < params.n; }
  BWGEMM_DEVICE Dtype type16() const { return params.type16; }
  BWGEMM_DEVICE static constexpr bool is_exchanged() { return false; }
  BWGEMM_DEVICE StridedMatrix c() const { return direct::matrix_of_batch(params, params.c, batch); }
};

// Where a lane's values lie in D: addresses are sums of few products, since each takes several
// instructions.
template <int element_bytes>
class LanePlaces {
 public:
  BWGEMM_DEVICE LanePlaces(const StridedMatrix& d, std::int64_t batch, std::int64_t row,
                           std::int64_t column)
      : row_step_(8 * element_bytes * d.outer_stride),
        column_bytes_(element_bytes * d.inner_stride),
        // D is only ever reached through this pointer; StridedMatrix is const for the inputs' sake.
        first_(const_cast<char*>(static_cast<const char*>(d.data)) + column * column_bytes_ +
               element_bytes * (batch * d.batch_stride + row * d.outer_stride)) {}

  // The first element of a pair, and the distance to the second.
  BWGEMM_DEVICE char* at(int row, int pair) const {
    return first_ + row * row_step_ + 8 * pair * column_bytes_;
  }
  BWGEMM_DEVICE std::int64_t column_bytes() const { return column_bytes_; }
  // Whether each pair is one aligned access, if all of it is inside of D.
  BWGEMM_DEVICE bool are_pairs() const {
    constexpr int bytes = 2 * element_bytes;
    return column_bytes_ == element_bytes && row_step_ % (8 * bytes) == 0 &&
           reinterpret_cast<std::uintptr_t>(first_) % bytes == 0;
  }

 private:
  std::int64_t row_step_, column_bytes_;
  char* first_;
};

template <int element_bytes>
BWGEMM_DEVICE void store_pair(Dtype type, bool exists, char* at, Pair values) {
  if constexpr (element_bytes == 4)
    ptx::st_global_v2_if(exists, at, __float_as_uint(values.low), __float_as_uint(values.high));
  else
    ptx::st_global_if(exists, at, pack(type, values));
}

template <int element_bytes>
BWGEMM_DEVICE void store_element(Dtype type, bool exists, char* at, float value) {
  if constexpr (element_bytes == 4)
    ptx::st_global_if(exists, at, __float_as_uint(value));
  else
    ptx::st_global_u16_if(exists, at, pack(type, {value, 0}));
}

template <KernelConfig config, int element_bytes>
BWGEMM_DEVICE void store(const StridedMatrix& to, const Patch<config>& patch, const Pair* x) {
  const KernelParams& params = patch.params;
  const LanePlaces<element_bytes> d(to, patch.batch, patch.first_row, patch.first_column);
  const auto for_all = [&](auto visit) {
#pragma unroll
    for (int i = 0; i < patch.rows * patch.pairs; ++i) visit(x[i], i % patch.rows, i / patch.rows);
  };
  if (params.n % 2 == 0 && d.are_pairs())
    for_all([&](Pair values, int row, int pair) {
      const bool exists = patch.has_row(row) && patch.has_first(pair);
      store_pair<element_bytes>(params.d_type, exists, d.at(row, pair), values);
    });
  else
    for_all([&](Pair values, int row, int pair) {
      const bool has_row = patch.has_row(row);
      char* const at = d.at(row, pair);
      store_element<element_bytes>(params.d_type, has_row && patch.has_first(pair), at, values.low);
      store_element<element_bytes>(params.d_type, has_row && patch.has_second(pair),
                                   at + d.column_bytes(), values.high);
    });
}

template <KernelConfig config>
BWGEMM_DEVICE void write(const Patch<config>& patch, const Scaling& scaling,
                         const Accumulators<config>& accumulators) {
  const KernelParams& params = patch.params;
  constexpr int rows = patch.rows, count = rows * patch.pairs;
  Pair x[count];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const float(&block)[4] = accumulators.block[i % rows / 2][i / rows];
    x[i] = {scaling.combine(block[i % 2 * 2]), scaling.combine(block[i % 2 * 2 + 1])};
  }
  if (params.fused.has(operation::any) || scaling.reads_c()) {
    const Fused<Patch<config>> fused(params, operations_with_c(params), scaling, patch);
    fused.add_operands(x, [](Pair(&)[count]) {});  // it loads C itself
    if (fused.has(operation::reads_aux))
      fused.differentiate(x);
    else
      fused.apply_activation(x);
  }
  const StridedMatrix d = direct::matrix_of_batch(params, params.d, patch.batch);
  if (params.d_type == Dtype::f32)
    store<config, 4>(d, patch, x);
  else
    store<config, 2>(d, patch, x);
}

}  // namespace bwgemm::warp
