// SPDX-License-Identifier: Apache-2.0
// BoxWriter: the epilogue of one consumer warpgroup that stores through staging buffers. A box is
// what one buffer holds and one TMA store moves. The warpgroup writes output values box by box into
// the buffers, for the output role (device/output.h, or line_stores.h). staging.h says where in a
// buffer each value lies.
#pragma once

#include "device/epilogue.h"
#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "families/sm90/cta.h"
#include "families/sm90/patch.h"
#include "families/sm90/split.h"
#include "families/sm90/staging.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class BoxWriter {
 public:
  using Params = KernelParams;

  BWGEMM_DEVICE BoxWriter(const KernelParams& params, const Cta<config>& cta, int warpgroup,
                          const Scaling& scaling)
      : params_(params),
        staging_(cta.staging(warpgroup)),
        has_sums_(cta.has_sums(warpgroup)),
        scaling_(scaling),
        is_f32_(params.d_type == Dtype::f32),
        lane_(ptx::laneid()),
        warp_(__shfl_sync(0xffffffff, threadIdx.x / 32 % warps_per_warpgroup, 0)),
        staged16_(warp_, lane_),
        staged32_(warp_, lane_) {}

  // Tells the output role whether write_tile follows; only where k is split.
  BWGEMM_DEVICE void announce(bool has_sums) {
    staging_.ring.wait_full(at_);  // the last message of this buffer is read
    if (warp_ == 0 && lane_ == 0) ptx::st_shared(has_sums_ + 4 * at_.stage, has_sums);
    hand_over();
  }

  // `scaling`: what is left to do. `is_half`: the first half of the columns is all.
  BWGEMM_DEVICE void write_tile(const Accumulators<config>& accumulators, const Scaling& scaling,
                                bool is_half) {
#pragma unroll
    for (const auto& row_block : accumulators) {
      if (is_f32_)
        write_boxes(staged32_, Dtype::f32, row_block, scaling, is_half);
      else
        write_boxes(staged16_, params_.type16, row_block, scaling, is_half);
    }
  }

  // The same with fused operations. The warpgroup's rows begin at (row, column) of the product.
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
          column + part % parts_of_rows * patch_columns(config) + lane % 4 * 2, batch};
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
          if constexpr (!gates_rows(config))
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
      written += has_gate && !gates_rows(config) ? part_pairs / 2 : part_pairs;
      if (written < (is_f32_ ? Staged32<config>::pairs : Staged16<config>::pairs)) continue;
      end_box(has_gate);
      written = 0;
    }
  }

 private:
  static constexpr int pairs = config.tile.n / 4;  // of a thread in 64 rows

  // Parts that a fused epilogue handles at a time.
  static constexpr int part_pairs = patch_columns(config) / 4;
  static constexpr int parts_of_rows = config.tile.n / patch_columns(config);
  static constexpr int parts = parts_of_rows * warpgroup_rows(config) / staging_rows;
  static constexpr bool can_gate = sm90::can_gate(config);

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
    constexpr int run = gates_rows(config) ? 1 : 2;
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

  template <class Staged>
  BWGEMM_DEVICE void write_boxes(const Staged& staged, Dtype type,
                                 const float (&accumulators)[config.tile.n / 2],
                                 const Scaling& scaling, bool is_half) {
#pragma unroll
    for (int done = 0; done < pairs; done += Staged::pairs) {
      if (gates_columns(config) && is_half && done >= pairs / 2) break;
      const int last = pairs - Staged::pairs;
      const int first = done < last ? done : last;
#pragma unroll 1
      for (int part = 0; part < Staged::boxes_of_rows; ++part) {
        staging_.ring.wait_full(at_);  // stores have left the buffer, TMA writes of C have landed
        const bool has_rows = Staged::boxes_of_rows == 1 || warp_ / 2 == part;
        if (has_rows) {
          write_box(staged, type, &accumulators[2 * first], scaling, staging_.buffer(at_));
          // This thread's writes and reads of C before the TMA store's reads and the next C's
          // writes.
          ptx::fence_proxy_async_shared();
        }
        hand_over();
      }
    }
  }

  template <class Staged>
  BWGEMM_DEVICE void write_box(const Staged& staged, Dtype type, const float* accumulators,
                               const Scaling& scaling, std::uint32_t buffer) const {
    Pair values[Staged::pairs];
    if (scaling.reads_c()) {
      staged.read(type, buffer, values);
#pragma unroll
      for (int i = 0; i < Staged::pairs; ++i)
        values[i] = {scaling.combine(accumulators[2 * i], values[i].low),
                     scaling.combine(accumulators[2 * i + 1], values[i].high)};
      __syncwarp();  // every lane's reads of C before any lane's stmatrix over them
    } else {
#pragma unroll
      for (int i = 0; i < Staged::pairs; ++i)
        values[i] = {scaling.combine(accumulators[2 * i]),
                     scaling.combine(accumulators[2 * i + 1])};
    }
    staged.write(type, buffer, values);
  }

  BWGEMM_DEVICE void hand_over() {
    __syncwarp();  // all lanes' accesses and fences before the arrival of one
    if (lane_ == 0) ptx::mbarrier_arrive(staging_.ring.empty(at_).address);
    // Tells the compiler that the warp is whole again. Without this the compiler may keep the main
    // loop's descriptors in vector registers, at twice the instructions (bench/log/2026-11-21.md).
    __syncwarp();
    at_.advance(staging_.count);
  }

  const KernelParams& params_;
  StagingBuffers staging_;
  std::uint32_t has_sums_;
  Scaling scaling_;
  bool is_f32_;
  Cursor at_;
  int lane_, warp_;
  Staged16<config> staged16_;
  Staged32<config> staged32_;
};

}  // namespace bwgemm::sm90
