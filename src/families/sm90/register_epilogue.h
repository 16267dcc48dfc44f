// SPDX-License-Identifier: Apache-2.0
// RegisterEpilogue: fused operations that read no matrix (scales, biases, activation, gate),
// applied in place to all accumulators of a consumer thread. The tile is then written like that of
// a plain product, which may add a C like D to scales and biases. Operations that read a matrix
// otherwise go part by part (fused_boxes.h), which takes a few times as many instructions.
#pragma once

#include "device/fused.h"
#include "families/sm90/cta.h"
#include "families/sm90/tile_biases.h"

namespace bwgemm::sm90 {

// Columns of the tile whose scales a thread has at a time, all if it can: loads wait together.
template <KernelConfig config>
struct ColumnBlock {
  static constexpr bool is_tight = warpgroups_of(config).accumulators > 160;  // of registers
  static constexpr int row_blocks = warpgroups_of(config).rows / 64;
  static constexpr int rows = 2 * row_blocks;
  static constexpr int spare =
      warpgroups_of(config).registers.consumer - warpgroups_of(config).accumulators - 48;
  static constexpr int pairs = largest_divisor(config.tile.n / 8, is_tight     ? 2
                                                                  : spare < 16 ? 8
                                                                               : spare / 2);
  static constexpr int columns = 8 * pairs;
  static constexpr bool is_single = false;
  static constexpr bool in_steps = true;

  const KernelParams& params;
  int first_row, first_column;  // of the thread
  int batch;
  int columns_left = static_cast<int>(params.n) - first_column;  // may be negative

  BWGEMM_DEVICE int row(int i) const { return first_row + i / 2 * 64 + i % 2 * 8; }
  BWGEMM_DEVICE static constexpr int column_offset(int i) { return 8 * i; }
  BWGEMM_DEVICE int first(int i) const { return first_column + column_offset(i); }
  BWGEMM_DEVICE int second(int i) const { return first(i) + 1; }
  BWGEMM_DEVICE bool has_row(int i) const { return row(i) < static_cast<int>(params.m); }
  BWGEMM_DEVICE bool has_first(int i) const { return column_offset(i) < columns_left; }
  // Rows end with a pair, as in sm90/patch.h.
  BWGEMM_DEVICE bool has_second(int i) const {
    return config.swaps_ab ? column_offset(i) + 1 < columns_left : has_first(i);
  }
  BWGEMM_DEVICE Dtype type16() const { return params.type16; }
  BWGEMM_DEVICE static constexpr bool is_exchanged() { return config.swaps_ab; }
};

template <KernelConfig config>
class RegisterEpilogue {
  static constexpr bool can_gate = parts_of(config).gates != Gates::none;
  static constexpr bool gates_columns = parts_of(config).gates == Gates::columns;

 public:
  // Whether all that is asked for is done here. `operations`: those of the launch.
  BWGEMM_DEVICE static bool serves(std::uint32_t operations, const Scaling& scaling) {
    constexpr std::uint32_t matrices =
        operation::loads_c | operation::writes_aux | operation::reads_aux;
    if ((operations & matrices) != 0) return false;
    // C that lies in the staging buffers is added where the tile is written.
    if (scaling.reads_c()) return (operations & (operation::curves | operation::gate)) == 0;
    if (!can_gate || (operations & operation::gate) == 0) return true;
    // Vectors, and rows, of x and y lie as the gate has them.
    return gates_columns && (operations & operation::reads_vectors) == 0;
  }

  BWGEMM_DEVICE RegisterEpilogue(const KernelParams& params, std::uint32_t operations, float alpha)
      : params_(params), operations_(operations), alpha_(alpha) {}

  // `row` and `column`: of the product, where the warpgroup's part of the tile begins. With a gate
  // the tile's values are then those of half as many columns.
  BWGEMM_DEVICE void apply(Accumulators<config>& values, int row, int column, int batch,
                           const TileBiases<config>& biases) const {
    if (alpha_ != 1) scale(values);
    if (has(operation::scales)) {
      const int lane = computed_here(ptx::laneid());
      const int warp = computed_here(threadIdx.x / 32 % warps_per_warpgroup);
      apply_scales(values, row + warp * 16 + lane / 4, column + lane % 4 * 2, batch);
    }
    if (has(operation::biases)) biases.add(values);
    if (has(operation::curves)) {
      if (has_gate() || has(operation::curves & ~in_place))
        apply_activation_by_parts(values);
      else if (has(operation::relu))
        apply_in_place(Relu{}, values);
      else
        apply_in_place(Swish{params_.fused.constants}, values);
    }
    if constexpr (gates_columns)
      if (has(operation::gate)) multiply_gated(values);
  }

 private:
  static_assert(parts_of(config).takes_matrices || !can_gate);
  using Columns = ColumnBlock<config>;
  static constexpr int pairs = config.tile.n / 4;  // of a thread in 64 rows
  static constexpr int all_pairs = pairs * Columns::row_blocks;
  static constexpr int part_pairs = largest_divisor(pairs, Columns::is_tight ? 8 : 17);
  static constexpr int parts = all_pairs / part_pairs;

  BWGEMM_DEVICE bool has(std::uint32_t operation) const { return (operations_ & operation) != 0; }
  BWGEMM_DEVICE bool has_gate() const { return gates_columns && has(operation::gate); }

  BWGEMM_DEVICE void scale(Accumulators<config>& values) const {
#pragma unroll
    for (auto& row_block : values)
#pragma unroll
      for (float& value : row_block) value = ptx::mul_rn_here(alpha_, value);
  }

  // The code of these curves is there for each value. Nothing but the special function unit then
  // bounds swish. By parts swish takes a third longer, in ping-pong half as long again, since each
  // value is copied twice.
  static constexpr std::uint32_t in_place = operation::relu | operation::swish;

  template <class Curve>
  BWGEMM_DEVICE static void apply_in_place(const Curve& curve, Accumulators<config>& values) {
#pragma unroll
    for (auto& row_block : values)
#pragma unroll
      for (float& value : row_block) value = curve.value(value);
  }

  BWGEMM_DEVICE void apply_scales(Accumulators<config>& values, int row, int column,
                                  int batch) const {
#pragma unroll
    for (int first = 0; first < config.tile.n; first += Columns::columns) {
      const Columns columns{params_, row, column + first, batch};
      const Fused<Columns> fused(params_, operations_, {}, columns);
      Pair x[Columns::rows * Columns::pairs];
      const auto value = [&](int i) {
        const int in_row = i % Columns::rows;
        return &values[in_row / 2][first / 2 + i / Columns::rows * 4 + in_row % 2 * 2];
      };
#pragma unroll
      for (int i = 0; i < Columns::rows * Columns::pairs; ++i) x[i] = {value(i)[0], value(i)[1]};
      fused.apply_scales(x);
#pragma unroll
      for (int i = 0; i < Columns::rows * Columns::pairs; ++i) {
        value(i)[0] = x[i].low;
        value(i)[1] = x[i].high;
      }
    }
  }

  // A curve's code is there once. Behind the parts of all values come those of x alone, where there
  // is a gate: every second group of 8 columns.
  BWGEMM_DEVICE void apply_activation_by_parts(Accumulators<config>& values) const {
    const std::uint32_t curve = gates_columns ? operations_ : operations_ & ~in_place;
    int part = has_gate() ? parts : 0;
    const int end = has_gate() ? parts + parts / 2 : parts;
#pragma unroll 1
    for (; part < end; ++part) {
      Pair x[part_pairs];
      each_of_part<all_parts - 1>(values, part, [&](int i, float* pair) {
        x[i] = {ptx::mov_here(pair[0]), ptx::mov_here(pair[1])};
      });
      bwgemm::apply_activation<part_pairs>(params_.fused, curve, x);
      each_of_part<all_parts - 1>(values, part, [&](int i, float* pair) {
        pair[0] = ptx::mov_here(x[i].low);
        pair[1] = ptx::mov_here(x[i].high);
      });
    }
  }
  static constexpr int all_parts = gates_columns ? parts + parts / 2 : parts;

  // One of its branches runs: registers have no index.
  template <int candidate, class Visit>
  BWGEMM_DEVICE static void each_of_part(Accumulators<config>& values, int part,
                                         const Visit& visit) {
    if constexpr (candidate > 0)
      if (part != candidate) return each_of_part<candidate - 1>(values, part, visit);
#pragma unroll
    for (int i = 0; i < part_pairs; ++i) visit(i, pair_of(values, candidate, i));
  }
  BWGEMM_DEVICE static float* pair_of(Accumulators<config>& values, int part, int i) {
    const bool is_x_alone = part >= parts;
    const int index = (is_x_alone ? part - parts : part) * part_pairs + i;
    const int pair = is_x_alone ? index / 2 * 4 + index % 2 : index;
    return &values[pair / pairs][pair % pairs * 2];
  }

  BWGEMM_DEVICE static void multiply_gated(Accumulators<config>& values) {
#pragma unroll
    for (auto& row_block : values)
#pragma unroll
      for (int i = 0; i < pairs; ++i) {  // accumulators 8g..8g+3 are x, the four behind them y
        const int x = i / 4 * 8 + i % 4;
        row_block[i] = __fmul_rn(row_block[x], row_block[x + 4]);
      }
  }

  const KernelParams& params_;
  std::uint32_t operations_;
  float alpha_;
};

}  // namespace bwgemm::sm90
