// SPDX-License-Identifier: Apache-2.0
// TileBiases: the biases of a warpgroup's part of a tile, in shared memory as f32. They are loaded
// before the main loop (ping-pong: at its end) and stored when the last products are under way. The
// epilogue then waits for no global memory and checks no type or edge. Where registers are short,
// the epilogue itself loads them, one after the other (Parts::loads_biases_late).
#pragma once

#include "device/computed_here.h"
#include "device/epilogue.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "families/sm90/cta.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class TileBiases {
  static constexpr int threads = 128;  // of the warpgroup
  static constexpr int columns_of_thread = (config.tile.n + threads - 1) / threads;

 public:
  // What a thread has loaded: bits of an f32, or of 16 bits.
  struct Loaded {
    std::uint32_t columns[columns_of_thread], row;
  };

  BWGEMM_DEVICE TileBiases(const KernelParams& params, const Cta<config>& cta, int warpgroup)
      : params_(params),
        columns_(cta.biases(warpgroup)),
        barrier_(warpgroups_of(config).consumers == 1 ? first_barrier : first_barrier + warpgroup) {
  }

  // `row` and `column`: of the product, where the warpgroup's part of the tile begins.
  BWGEMM_DEVICE void load(Loaded& loaded, int row, int column, int batch) const {
    const int thread = threadIdx.x % threads;
    if (has(operation::column_bias)) {
#pragma unroll
      for (int i = 0; i < columns_of_thread; ++i)
        loaded.columns[i] = load_column(column, thread + i * threads, batch);
    }
    if (has(operation::row_bias)) loaded.row = load_row(row, thread, batch);
  }

  // Every thread of the warpgroup stores what it has loaded.
  BWGEMM_DEVICE void store(const Loaded& loaded) const {
    const int thread = threadIdx.x % threads;
    ptx::barrier_sync(barrier_, threads);  // reads of the tile before
    if (has(operation::column_bias)) {
#pragma unroll
      for (int i = 0; i < columns_of_thread; ++i)
        store_column(thread + i * threads, loaded.columns[i]);
    }
    if (has(operation::row_bias)) store_row(thread, loaded.row);
    ptx::barrier_sync(barrier_, threads);  // before reads of any of these
  }

  // Loads and stores, with one register for what was loaded.
  BWGEMM_DEVICE void fetch(int row, int column, int batch) const {
    // Computed here, so that main loops keep no register for it.
    const int thread = computed_here(threadIdx.x % threads);
    ptx::barrier_sync(barrier_, threads);  // reads of the tile before
    if (has(operation::column_bias)) {
#pragma unroll 1
      for (int offset = thread; offset < config.tile.n; offset += threads)
        store_column(offset, load_column(column, offset, batch));
    }
    if (has(operation::row_bias)) store_row(thread, load_row(row, thread, batch));
    ptx::barrier_sync(barrier_, threads);  // before reads of any of these
  }

  BWGEMM_DEVICE void add(Accumulators<config>& values) const {
    const int lane = ptx::laneid();
    if (has(operation::row_bias)) {
      const std::uint32_t first =
          rows() + 4 * (threadIdx.x / 32 % warps_per_warpgroup * 16 + lane / 4);
#pragma unroll
      for (int i = 0; i < warpgroups_of(config).rows / 64; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float bias = __uint_as_float(ptx::ld_shared(first + 4 * (64 * i + 8 * half)));
#pragma unroll
          for (int j = 2 * half; j < config.tile.n / 2; j += 4) {
            values[i][j] = __fadd_rn(values[i][j], bias);
            values[i][j + 1] = __fadd_rn(values[i][j + 1], bias);
          }
        }
    }
    if (has(operation::column_bias)) {
      const std::uint32_t first = columns_ + lane % 4 * 16;
      constexpr int last = config.tile.n / 16 * 16;
#pragma unroll
      for (int column = 0; column < last; column += 16)
        add_columns<16>(values, column, first + 4 * column);
      if constexpr (last < config.tile.n) add_columns<8>(values, last, first + 4 * last);
    }
  }

 private:
  static constexpr int first_barrier = 5;

  // Adds the biases of 16 columns of the tile from `column` on, or of 8. The thread's biases of
  // these are at `from`.
  template <int count>
  BWGEMM_DEVICE static void add_columns(Accumulators<config>& values, int column,
                                        std::uint32_t from) {
    std::uint32_t bias[count / 4];
    if constexpr (count == 16)
      ptx::ld_shared_v4(from, bias);
    else
      ptx::ld_shared_v2(from, bias);
#pragma unroll
    for (auto& row_block : values)
#pragma unroll
      for (int i = 0; i < count / 2; ++i) {
        float& at = row_block[column / 2 + i];
        at = __fadd_rn(at, __uint_as_float(bias[i / 4 * 2 + i % 2]));
      }
  }

  BWGEMM_DEVICE bool has(std::uint32_t operation) const {
    return params_.fused.has(operation);
  }
  BWGEMM_DEVICE std::uint32_t rows() const {
    return columns_ + 4 * bias_columns(config);
  }

  // A thread reads two neighbours of each of two groups of eight columns at once.
  BWGEMM_DEVICE static int place(int column) {
    return column / 16 * 16 + column % 8 / 2 * 4 + column / 8 % 2 * 2 + column % 2;
  }

  // The bias of the column `offset` columns behind `column`, or 0 where there is none.
  BWGEMM_DEVICE std::uint32_t load_column(int column, int offset, int batch) const {
    return load_one(params_.fused.column_bias, has(operation::column_bias_f32), batch,
                    column + offset,
                    offset < config.tile.n && column + offset < static_cast<int>(params_.n));
  }
  BWGEMM_DEVICE std::uint32_t load_row(int row, int offset, int batch) const {
    return load_one(
        params_.fused.row_bias, has(operation::row_bias_f32), batch, row + offset,
        offset < warpgroups_of(config).rows && row + offset < static_cast<int>(params_.m));
  }
  BWGEMM_DEVICE void store_column(int offset, std::uint32_t loaded) const {
    if (offset < config.tile.n)
      ptx::st_shared(columns_ + 4 * place(offset), value(loaded, has(operation::column_bias_f32)));
  }
  BWGEMM_DEVICE void store_row(int offset, std::uint32_t loaded) const {
    if (offset < warpgroups_of(config).rows)
      ptx::st_shared(rows() + 4 * offset, value(loaded, has(operation::row_bias_f32)));
  }

  BWGEMM_DEVICE static std::uint32_t load_one(const FusedVector& vector, bool is_f32, int batch,
                                              int index, bool condition) {
    const std::int64_t element = batch * vector.batch_stride + index;
    const auto* const data = static_cast<const char*>(vector.data);
    if (is_f32) return ptx::ld_global_if(condition, data + 4 * element);
    return ptx::ld_global_u16_if(condition, data + 2 * element);
  }
  BWGEMM_DEVICE std::uint32_t value(std::uint32_t loaded, bool is_f32) const {
    return is_f32 ? loaded : __float_as_uint(unpack(params_.type16, loaded).low);
  }

  const KernelParams& params_;
  std::uint32_t columns_;  // in shared memory; rows follow
  int barrier_;
};

}  // namespace bwgemm::sm90
