// SPDX-License-Identifier: Apache-2.0
// SliceWriter: the epilogue of one consumer warpgroup. It turns accumulators into output values and
// hands them, slice by slice, in the staging buffers to the output role (kernels/output.h). How
// they lie there is sm90/staging.h.
#pragma once

#include "kernels/epilogue.h"
#include "kernels/ptx/shared_memory.h"
#include "kernels/ptx/sync.h"
#include "kernels/sm90/cta.h"
#include "kernels/sm90/split.h"
#include "kernels/sm90/staging.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class SliceWriter {
 public:
  BWGEMM_DEVICE SliceWriter(const KernelParams& params, const Cta<config>& cta, int warpgroup,
                            const Scaling& scaling)
      : staging_(cta.staging(warpgroup)),
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

  BWGEMM_DEVICE void write_tile(const Accumulators<config>& accumulators) {
#pragma unroll
    for (const auto& row_block : accumulators) {
      if (is_f32_)
        write_slices(staged32_, row_block);
      else
        write_slices(staged16_, row_block);
    }
  }

 private:
  static constexpr int pairs = config.tile.n / 4;  // of a thread in 64 rows

  template <class Staged>
  BWGEMM_DEVICE void write_slices(const Staged& staged,
                                  const float (&accumulators)[config.tile.n / 2]) {
#pragma unroll
    for (int first = 0; first < pairs; first += Staged::pairs)
#pragma unroll 1
      for (int part = 0; part < Staged::slices_of_rows; ++part) {
        staging_.ring.wait_full(at_);  // stores have left the buffer, TMA writes of C have landed
        const bool has_rows = Staged::slices_of_rows == 1 || warp_ / 2 == part;
        if (has_rows) {
          write_slice(staged, &accumulators[2 * first], staging_.buffer(at_));
          // This thread's writes and reads of C before the TMA store's reads and the next C's
          // writes.
          ptx::fence_proxy_async_shared();
        }
        hand_over();
      }
  }

  template <class Staged>
  BWGEMM_DEVICE void write_slice(const Staged& staged, const float* accumulators,
                                 std::uint32_t buffer) const {
    Pair values[Staged::pairs];
    if (scaling_.reads_c()) {
      staged.read(buffer, values);
#pragma unroll
      for (int i = 0; i < Staged::pairs; ++i)
        values[i] = {scaling_.combine(accumulators[2 * i], values[i].low),
                     scaling_.combine(accumulators[2 * i + 1], values[i].high)};
      __syncwarp();  // every lane's reads of C before any lane's stmatrix over them
    } else {
#pragma unroll
      for (int i = 0; i < Staged::pairs; ++i)
        values[i] = {scaling_.combine(accumulators[2 * i]),
                     scaling_.combine(accumulators[2 * i + 1])};
    }
    staged.write(buffer, values);
  }

  BWGEMM_DEVICE void hand_over() {
    __syncwarp();  // all lanes' accesses and fences before the arrival of one
    if (lane_ == 0) ptx::mbarrier_arrive(staging_.ring.empty(at_).address);
    // Tells the compiler that the warp is whole again. Without it, it may keep the main loop's
    // descriptors in vector registers, at twice the instructions (bench/NOTES.md).
    __syncwarp();
    at_.advance(staging_.count);
  }

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
