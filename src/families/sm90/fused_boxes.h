// SPDX-License-Identifier: Apache-2.0
// FusedBoxes: a BoxWriter that knows operations which read matrices, too. It then fills boxes part
// by part, because accumulators leave enough registers for a part of a matrix only.
#pragma once

#include "device/fused.h"
#include "families/sm90/boxes.h"
#include "families/sm90/patch.h"

namespace bwgemm::sm90 {

// What a gate leaves of 64 rows in columns, 8 rows of each warp: lines of 32 elements of either
// width.
template <int element_bytes>
class StagedGated {
  static constexpr int line_bytes = gated_box_rows * element_bytes;

 public:
  BWGEMM_DEVICE StagedGated(int warp, int lane)
      : offset_(swizzled(lane % 4 * 2 * line_bytes + (warp * 8 + lane / 4) * element_bytes,
                         line_bytes)) {}

  // A pair for each group.
  template <int count>
  BWGEMM_DEVICE void write(Dtype type, std::uint32_t buffer, const Pair (&values)[count],
                           int first) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const std::uint32_t low = buffer + offset_ + (first + i) * group_columns * line_bytes;
      if constexpr (element_bytes == 4) {
        ptx::st_shared(low, __float_as_uint(values[i].low));
        // In the line of the next column units are swapped.
        ptx::st_shared((low ^ 16) + line_bytes, __float_as_uint(values[i].high));
      } else {
        const std::uint32_t packed = pack(type, values[i]);
        ptx::st_shared_u16(low, packed & 0xffff);
        ptx::st_shared_u16(low + line_bytes, packed >> 16);
      }
    }
  }

 private:
  std::uint32_t offset_;
};

template <KernelConfig config>
class FusedBoxes : public BoxWriter<config> {
 public:
  using BoxWriter<config>::BoxWriter;

  // The warpgroup's rows begin at (row, column) of the product.
  BWGEMM_DEVICE void write_fused(const Accumulators<config>& accumulators, int row, int column,
                                 int batch) {
    int written = 0;  // pairs of the box
#pragma unroll 1
    for (int part = 0; part < parts; ++part) {
      // Nothing that follows from these is computed before the loop and kept.
      const std::uint32_t operations = operations_of(params_);
      const int lane = computed_here(lane_), warp = computed_here(warp_);
      const Patch<config> patch{
          params_, row + part / parts_of_rows * staging_rows + warp * 16 + lane / 4,
          column + part % parts_of_rows * patch_columns + lane % 4 * 2, batch};
      const Fused<Patch<config>> fused(params_, operations, scaling_, patch);
      const Staged16<config> staged16(warp, lane);
      const Dtype type16 = params_.type16;
      const Staged32<config> staged32(warp, lane);
      Pair x[part_pairs];
      take(accumulators, part, x);
      const bool has_gate = can_gate && fused.has(operation::gate);
      if (written == 0) begin_box(has_gate);
      const std::uint32_t buffer = staging_.buffer(at_);
      fused.add_operands(x, [&](Pair(&c)[part_pairs]) {
        is_f32_ ? staged32.read(Dtype::f32, buffer, c, written)
                : staged16.read(type16, buffer, c, written);
        __syncwarp();  // every lane's reads of C before any lane's stmatrix over them
      });
      finish(fused, operations, has_gate, x);
      auto write = [&](const auto& values) {
        is_f32_ ? staged32.write(Dtype::f32, buffer, values, written)
                : staged16.write(type16, buffer, values, written);
      };
      if constexpr (can_gate) {
        if (has_gate) {
          Pair gated[part_pairs / 2];
#pragma unroll
          for (int i = 0; i < part_pairs / 2; ++i)
            gated[i] = {__fmul_rn(x[i].low, x[i + part_pairs / 2].low),
                        __fmul_rn(x[i].high, x[i + part_pairs / 2].high)};
          if constexpr (!gates_rows)
            write(gated);
          else if (is_f32_)
            StagedGated<4>(warp, lane).write(Dtype::f32, buffer, gated, written / 2);
          else
            StagedGated<2>(warp, lane).write(type16, buffer, gated, written / 2);
        } else {
          write(x);
        }
      } else {
        write(x);
      }
      // A gate halves the lines of a box, or their number.
      written += has_gate && !gates_rows ? part_pairs / 2 : part_pairs;
      if (written < (is_f32_ ? Staged32<config>::pairs : Staged16<config>::pairs)) continue;
      end_box(has_gate);
      written = 0;
    }
  }

 private:
  using Boxes = BoxWriter<config>;
  using Boxes::at_, Boxes::hand_over, Boxes::is_f32_, Boxes::lane_, Boxes::params_, Boxes::scaling_,
      Boxes::staging_, Boxes::warp_;

  // Parts that a fused epilogue handles at a time.
  static constexpr int patch_columns = staged_boxes(config).patch_columns;
  static constexpr int part_pairs = patch_columns / 4;
  static constexpr int parts_of_rows = config.tile.n / patch_columns;
  static constexpr int parts = parts_of_rows * warpgroups_of(config).rows / staging_rows;
  static constexpr bool can_gate = parts_of(config).gates != Gates::none;
  static constexpr bool gates_rows = parts_of(config).gates == Gates::rows;

  // alpha * A * B of a part. One of its branches runs: registers have no index.
  BWGEMM_DEVICE void take(const Accumulators<config>& accumulators, int part,
                          Pair (&x)[part_pairs]) const {
    take_from<parts - 1>(accumulators, part, x);
  }
  template <int candidate>
  BWGEMM_DEVICE void take_from(const Accumulators<config>& accumulators, int part,
                               Pair (&x)[part_pairs]) const {
    if constexpr (candidate > 0)
      if (part != candidate) return take_from<candidate - 1>(accumulators, part, x);
    const float* const from =
        &accumulators[candidate / parts_of_rows][candidate % parts_of_rows * 2 * part_pairs];
#pragma unroll
    for (int i = 0; i < part_pairs; ++i)
      x[i] = {ptx::mul_rn_here(scaling_.alpha, from[2 * i]),
              ptx::mul_rn_here(scaling_.alpha, from[2 * i + 1])};
  }

  // The curve. With a gate x comes first; y comes behind and stays as it is.
  BWGEMM_DEVICE void finish(const Fused<Patch<config>>& fused, std::uint32_t operations,
                            bool has_gate, Pair (&x)[part_pairs]) const {
    if (fused.has(operation::reads_aux)) {
      fused.differentiate(x);
      return;
    }
    if constexpr (can_gate) {
      if (has_gate) sort(x);
      apply_activation<part_pairs / 2>(params_.fused, operations, x);
      if (!has_gate)
        apply_activation<part_pairs / 2>(params_.fused, operations, x + part_pairs / 2);
    } else {
      fused.apply_activation(x);
    }
  }

  // Groups of 8 columns are x, y, x, y, of two pairs each; or of a thread's two rows one is x, the
  // other y.
  BWGEMM_DEVICE static void sort(Pair (&x)[part_pairs]) {
    constexpr int run = gates_rows ? 1 : 2;
    static_assert(part_pairs % (2 * run) == 0);
    Pair sorted[part_pairs];
#pragma unroll
    for (int i = 0; i < part_pairs; ++i)
      sorted[i / (2 * run) * run + i % run + i / run % 2 * (part_pairs / 2)] = x[i];
#pragma unroll
    for (int i = 0; i < part_pairs; ++i) x[i] = sorted[i];
  }

  // A box may be staged in two buffers, for 32 rows each: each warp writes one and passes on the
  // other.
  BWGEMM_DEVICE bool is_in_two(bool has_gate) const {
    return Staged32<config>::boxes_of_rows == 2 && is_f32_ && !has_gate;
  }
  BWGEMM_DEVICE void begin_box(bool has_gate) {
    if (is_in_two(has_gate) && warp_ / 2 == 1) pass_on();
    staging_.ring.wait_full(at_);  // stores have left the buffer, TMA writes of C have landed
  }
  BWGEMM_DEVICE void end_box(bool has_gate) {
    // This thread's writes and reads of C before the TMA store's reads and the next C's writes.
    ptx::fence_proxy_async_shared();
    hand_over();
    if (is_in_two(has_gate) && warp_ / 2 == 0) pass_on();
  }
  BWGEMM_DEVICE void pass_on() {
    staging_.ring.wait_full(at_);
    hand_over();
  }
};

}  // namespace bwgemm::sm90
