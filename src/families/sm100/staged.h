// SPDX-License-Identifier: Apache-2.0
// Staged: what the epilogues that store by TMA share: the handover of staging buffers between an
// epilogue warp and the output role (device/output.h).
#pragma once

#include "device/epilogue.h"
#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "families/sm100/accumulator_reader.h"

namespace bwgemm::sm100 {

template <KernelConfig config>
class Staged {
 public:
  BWGEMM_DEVICE Staged(const Cta<config>& cta, Dtype type)
      : buffers_(cta.staging(type)), has_sums_(cta.has_sums()) {}

  // Tells the output role whether the tile follows; only of a split of k.
  BWGEMM_DEVICE void announce(bool has_sums) {
    buffers_.ring.wait_full(at_);  // the last message of this buffer is read
    if (threadIdx.x % cta_rows == 0) ptx::st_shared(has_sums_ + 4 * at_.stage, has_sums);
    hand_over();
  }

  // The next buffer, as TMA left it: stores have left it, C has landed in it.
  BWGEMM_DEVICE std::uint32_t receive() const {
    buffers_.ring.wait_full(at_);
    return buffers_.buffer(at_);
  }

  // Passes the buffer on when every lane has written its part.
  BWGEMM_DEVICE void hand_over() {
    // This thread's writes (and reads of C) before the TMA store's reads (and the next C).
    ptx::fence_proxy_async_shared();
    __syncwarp();  // all lanes' writes and fences before the arrival of one
    if (ptx::laneid() == 0) ptx::mbarrier_arrive(buffers_.ring.empty(at_).address);
    at_.advance(staging_buffers);
  }

 private:
  StagingBuffers buffers_;
  std::uint32_t has_sums_;
  Cursor at_;
};

}  // namespace bwgemm::sm100
