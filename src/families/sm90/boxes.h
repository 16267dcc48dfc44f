// SPDX-License-Identifier: Apache-2.0
// BoxWriter: the epilogue of one consumer warpgroup that stores through staging buffers. It
// writes output values box by box into the buffers, for the output role (device/output.h, or
// line_stores.h). staging.h and staged_f32.h say where in a buffer each value lies.
#pragma once

#include "device/epilogue.h"
#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "families/sm90/cta.h"
#include "families/sm90/staged_f32.h"
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

 private:
  static constexpr int pairs = config.tile.n / 4;  // of a thread in 64 rows
  static constexpr bool gates_columns = parts_of(config).gates == Gates::columns;

  template <class Staged>
  BWGEMM_DEVICE void write_boxes(const Staged& staged, Dtype type,
                                 const float (&accumulators)[config.tile.n / 2],
                                 const Scaling& scaling, bool is_half) {
#pragma unroll
    for (int done = 0; done < pairs; done += Staged::pairs) {
      if (gates_columns && is_half && done >= pairs / 2) break;
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

 protected:
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

 private:
  Staged16<config> staged16_;
  Staged32<config> staged32_;
};

}  // namespace bwgemm::sm90
