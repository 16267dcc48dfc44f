// SPDX-License-Identifier: Apache-2.0
// Scatter: the epilogue of one consumer warpgroup that stores D itself, with ordinary stores at any
// address. Each warp passes its 16 rows through a staging buffer of its own, 64 columns at a time,
// and writes them row by row. Undoes the order in which lines of K-major operands are loaded
// (device/residues.h).
#pragma once

#include "device/fused.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/shared_memory.h"
#include "device/residues.h"
#include "families/sm90/cta.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class Scatter {
 public:
  using Params = ResidueParams;

  BWGEMM_DEVICE Scatter(const Params& params, const Cta<config>& cta, int, const Scaling& scaling)
      : params_(params), scaling_(scaling), staging_(cta.shared + cta.offsets.staging) {}

  BWGEMM_DEVICE void write_tile(const Accumulators<config>& accumulators, const Cta<config>& cta,
                                const TileIndex& tile) const {
#pragma unroll 1
    for (int segment = 0; segment < segments; ++segment) {
      __syncwarp();  // all lanes' reads of the last segment before any lane's writes of this one
      stage<segments - 1>(accumulators[0], segment);
      __syncwarp();  // and all writes before the reads
      store_rows(cta.row(tile), cta.column(tile) + segment * segment_columns, tile.batch);
    }
  }

 private:
  static_assert(warpgroups_of(config).rows == 64);
  static constexpr int segment_columns = 64;
  static constexpr int segments = config.tile.n / segment_columns;
  static constexpr int row_bytes = segment_columns * 4;
  static constexpr int warp_rows = 16;
  static constexpr int rows_at_once = 4;  // equally far from each other in D, in either order

  // A thread's lane and its warp's staging buffer. Computed anew where they are used: what is
  // derived from them would be kept in registers.
  struct Own {
    int lane;
    std::uint32_t staging;
  };
  BWGEMM_DEVICE Own own() const {
    return {ptx::tid_x() % 32, staging_ + warp_row() * row_bytes};
  }
  BWGEMM_DEVICE static int warp_row() {
    return (ptx::tid_x() / 32 - warps_per_warpgroup) * warp_rows;
  }

  // Where 16 bytes of a staged row lie. Accesses meet no bank twice, except when two lanes read
  // elements for one word of D.
  BWGEMM_DEVICE static std::uint32_t unit(const Own& own, int row, int index) {
    return own.staging + row * row_bytes + (index ^ index >> 3 ^ (row & 3) << 1) * unit_bytes;
  }

  // One of its branches runs: registers have no index.
  template <int candidate>
  BWGEMM_DEVICE void stage(const float (&sums)[config.tile.n / 2], int segment) const {
    if constexpr (candidate > 0)
      if (segment != candidate) return stage<candidate - 1>(sums, segment);
    if (config.b == Major::k && params_.residues_b.by_class)
      stage_by_class(sums, candidate);
    else
      stage_in_order(sums, candidate);
  }

  // A thread has two times eight neighbours of the segment: those of line i of each class, and of
  // line i + 1.
  BWGEMM_DEVICE void stage_by_class(const float (&sums)[config.tile.n / 2], int segment) const {
    const Own own = this->own();
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < residue_classes; j += 4) {
          auto value = [&](int of_class) {
            return product(sums[(segments * of_class + segment) * 4 + 2 * half + i]);
          };
          ptx::st_shared_v4(unit(own, own.lane / 4 + 8 * half, own.lane % 4 * 4 + 2 * i + j / 4),
                            value(j), value(j + 1), value(j + 2), value(j + 3));
        }
  }

  BWGEMM_DEVICE void stage_in_order(const float (&sums)[config.tile.n / 2], int segment) const {
    const Own own = this->own();
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int group = 0; group < segment_columns / 8; ++group) {
        const float* pair = &sums[(segment * (segment_columns / 8) + group) * 4 + 2 * half];
        ptx::st_shared_v2(unit(own, own.lane / 4 + 8 * half, 2 * group + own.lane % 4 / 2) +
                              own.lane % 2 * (unit_bytes / 2),
                          product(pair[0]), product(pair[1]));
      }
  }

  // alpha * sum, as it is staged.
  BWGEMM_DEVICE std::uint32_t product(float sum) const {
    return __float_as_uint(scaling_.combine(sum));
  }
  BWGEMM_DEVICE static float staged(const Own& own, int row, int column) {
    return __uint_as_float(ptx::ld_shared(unit(own, row, column / 4) + column % 4 * 4));
  }

  // Where the segment begins in the first of some rows, and how far they are apart.
  struct Rows {
    char* address;
    std::int64_t pitch;  // bytes
  };

  // Some rows of the warp in one segment.
  struct Part {
    int first;  // of the warp's rows
    int count;  // those that D has
    int row, row_step, column, batch;
    int left;  // columns that D has
  };

  template <bool is_f32>
  BWGEMM_DEVICE static Rows rows_of(const StridedMatrix& matrix, const Part& part) {
    constexpr int bytes = is_f32 ? 4 : 2;
    char* const first = const_cast<char*>(static_cast<const char*>(matrix.data));
    return {first + bytes * (part.row * matrix.outer_stride + part.column +
                             part.batch * matrix.batch_stride),
            bytes * part.row_step * matrix.outer_stride};
  }

  // The two columns of a lane in one row.
  struct Columns {
    int first, second;
    bool has_first, has_second;
  };

  // A lane's two columns: 2-byte elements are neighbours in an aligned word. A row's first and last
  // element at odd addresses are in no such word: they are the last lane's.
  template <bool is_f32>
  BWGEMM_DEVICE static Columns columns_of(int lane, const char* row, int left) {
    if constexpr (is_f32) return {lane, lane + 32, lane < left, lane + 32 < left};
    const int first = lane * 2 + static_cast<int>(reinterpret_cast<std::uintptr_t>(row) >> 1 & 1);
    const int second = (first + 1) % segment_columns;
    return {first, second, first < left, second < left};
  }

  BWGEMM_DEVICE void store_rows(int tile_row, int column, int batch) const {
    if (params_.n <= column) return;
    const bool by_class = config.a == Major::k && params_.residues_a.by_class;
    Part part{.row_step = by_class ? residue_classes : 1, .column = column, .batch = batch};
    part.left = static_cast<int>(min(params_.n - column, std::int64_t{segment_columns}));
#pragma unroll 1
    for (part.first = 0; part.first < warp_rows; part.first += rows_at_once) {
      const int position = warp_row() + part.first;
      part.row = tile_row + (by_class ? line_at(position, config.tile.m) : position);
      const std::int64_t rows = (params_.m - part.row + part.row_step - 1) / part.row_step;
      part.count = static_cast<int>(min(rows, std::int64_t{rows_at_once}));
      if (params_.fused.has(operation::any))
        store_fused(part);
      else if (params_.d_type == Dtype::f32)
        store_some<true>(part);
      else
        store_some<false>(part);
    }
  }

  // Two neighbouring columns of the same rows.
  struct Patch {
    static constexpr int rows = rows_at_once, pairs = 1;
    static constexpr bool is_single = false;
    static constexpr bool in_pairs = false;
    static constexpr bool in_steps = false;

    const KernelParams& params;
    const Part& part;
    int column, batch;  // column: of the segment

    BWGEMM_DEVICE int row(int i) const { return part.row + i * part.row_step; }
    BWGEMM_DEVICE int first(int) const { return part.column + column; }
    BWGEMM_DEVICE int second(int) const { return part.column + column + 1; }
    BWGEMM_DEVICE bool has_row(int i) const { return i < part.count; }
    BWGEMM_DEVICE bool has_first(int) const { return column < part.left; }
    BWGEMM_DEVICE bool has_second(int) const { return column + 1 < part.left; }
    BWGEMM_DEVICE Dtype type16() const { return params.type16; }
    BWGEMM_DEVICE static constexpr bool is_exchanged() { return false; }
    BWGEMM_DEVICE const StridedMatrix& c() const { return params.c; }
  };

  BWGEMM_DEVICE void store_fused(const Part& part) const {
    const Own own = this->own();
    const Patch patch{params_, part, own.lane * 2, part.batch};
    const Fused<Patch> fused(params_, operations_of(params_), scaling_, patch);
    Pair values[rows_at_once];
#pragma unroll
    for (int i = 0; i < rows_at_once; ++i)
      values[i] = {staged(own, part.first + i, patch.column),
                   staged(own, part.first + i, patch.column + 1)};
    fused.add_operands(values, [](Pair(&c)[rows_at_once]) {
      for (Pair& pair : c) pair = {};  // the fused epilogue loads C itself
    });
    if (fused.has(operation::reads_aux))
      fused.differentiate(values);
    else
      fused.apply_activation(values);
    fused.store(params_.d, params_.d_type == Dtype::f32, values);
  }

  template <bool is_f32>
  BWGEMM_DEVICE void store_some(const Part& part) const {
    const Rows d = rows_of<is_f32>(params_.d, part);
    const Own own = this->own();
    Pair values[rows_at_once];
#pragma unroll
    for (int i = 0; i < rows_at_once; ++i) {
      const Columns columns = columns_of<is_f32>(own.lane, d.address + i * d.pitch, part.left);
      values[i] = {staged(own, part.first + i, columns.first),
                   staged(own, part.first + i, columns.second)};
    }
    if (scaling_.reads_c()) add_c<is_f32>(part, d, values);
#pragma unroll
    for (int i = 0; i < rows_at_once; ++i) {
      char* const to = d.address + i * d.pitch;
      if (i < part.count) store<is_f32>(to, columns_of<is_f32>(own.lane, to, part.left), values[i]);
    }
  }

  template <bool is_f32>
  BWGEMM_DEVICE void add_c(const Part& part, const Rows& d, Pair (&values)[rows_at_once]) const {
    const Rows c = rows_of<is_f32>(params_.c, part);
    const Own own = this->own();
    std::uint32_t loaded[rows_at_once][2];  // all loads first
#pragma unroll
    for (int i = 0; i < rows_at_once; ++i) {
      const Columns columns = columns_of<is_f32>(own.lane, d.address + i * d.pitch, part.left);
      const char* const from = c.address + i * c.pitch;
      loaded[i][0] = load<is_f32>(i < part.count && columns.has_first, from, columns.first);
      loaded[i][1] = load<is_f32>(i < part.count && columns.has_second, from, columns.second);
    }
#pragma unroll
    for (int i = 0; i < rows_at_once; ++i)
      values[i] = {__fmaf_rn(scaling_.beta, value<is_f32>(loaded[i][0]), values[i].low),
                   __fmaf_rn(scaling_.beta, value<is_f32>(loaded[i][1]), values[i].high)};
  }

  template <bool is_f32>
  BWGEMM_DEVICE static std::uint32_t load(bool condition, const char* row, int column) {
    if constexpr (is_f32)
      return ptx::ld_global_if(condition, row + 4 * column);
    else
      return ptx::ld_global_u16_if(condition, row + 2 * column);
  }
  template <bool is_f32>
  BWGEMM_DEVICE float value(std::uint32_t bits) const {
    if constexpr (is_f32)
      return __uint_as_float(bits);
    else
      return unpack(params_.type16, bits).low;
  }

  template <bool is_f32>
  BWGEMM_DEVICE void store(char* row, const Columns& columns, const Pair& values) const {
    if constexpr (is_f32) {
      if (columns.has_first) ptx::st_global(row + 4 * columns.first, __float_as_uint(values.low));
      if (columns.has_second)
        ptx::st_global(row + 4 * columns.second, __float_as_uint(values.high));
      return;
    }
    const std::uint32_t packed = pack(params_.type16, values);
    if (columns.has_first && columns.has_second && columns.second > columns.first) {
      ptx::st_global(row + 2 * columns.first, packed);
      return;
    }
    if (columns.has_first) ptx::st_global_u16(row + 2 * columns.first, packed & 0xffff);
    if (columns.has_second) ptx::st_global_u16(row + 2 * columns.second, packed >> 16);
  }

  const ResidueParams& params_;
  Scaling scaling_;
  std::uint32_t staging_;  // of all warps
};

}  // namespace bwgemm::sm90
