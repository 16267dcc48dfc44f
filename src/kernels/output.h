// SPDX-License-Identifier: Apache-2.0
// The output role: one thread that moves slices between staging buffers and global memory, for both
// architectures. The epilogue warps only compute.
//
// Pipeline, per buffer   producer -> consumer   full arrives          empty arrives
//   staging              output   -> epilogue   1 (+ TMA bytes of C)  1 per epilogue warp
// Timeline   output    offer a buffer (with beta: C arrives in it) ... wait written -> TMA store
//            epilogue  wait full -> combine in place -> fence.proxy.async -> arrive on empty
#pragma once

#include "kernels/ptx/cp_async_bulk.h"
#include "kernels/ring.h"
#include "kernels/tiles.h"

namespace bwgemm {

struct StagingBuffers {
  Ring ring;
  std::uint32_t address;  // of buffer 0
  std::uint32_t bytes;    // of one buffer; what one box of the output maps moves

  BWGEMM_DEVICE std::uint32_t buffer(const Cursor& at, std::uint32_t pitch) const {
    return address + at.stage * pitch;
  }
};

// Offers the next slice's buffer to the epilogue: empty, or being filled with C.
BWGEMM_DEVICE void offer_slice(const KernelParams& params, const StagingBuffers& staging,
                               std::uint32_t pitch, bool reads_c, const OutputSlices& slice,
                               const Cursor& at) {
  const Barrier ready = staging.ring.full(at);
  if (!reads_c) {
    ptx::mbarrier_arrive(ready.address);
    return;
  }
  ptx::mbarrier_arrive_expect_tx(ready.address, staging.bytes);
  ptx::cp_async_bulk_tensor_3d(staging.buffer(at, pitch), params.c_map, slice.column(), slice.row(),
                               slice.batch(), ready.address);
}

// Run by one thread. `pitch` is the distance between staging buffers; `buffers` their number, at
// least 2.
BWGEMM_DEVICE void run_output(const KernelParams& params, const StagingBuffers& staging,
                              std::uint32_t pitch, int buffers, bool reads_c,
                              const OutputWindow& window, int cluster_size) {
  OutputSlices offered(params, window, cluster_size);
  Cursor offering;
  auto offer = [&] {
    if (!offered.valid()) return;
    offer_slice(params, staging, pitch, reads_c, offered, offering);
    offered.advance(params);
    offering.advance(buffers);
  };
  for (int i = 0; i < buffers; ++i) offer();

  Cursor storing;
  bool first = true;
  for (OutputSlices slice(params, window, cluster_size); slice.valid(); slice.advance(params)) {
    staging.ring.empty(storing).wait(storing.phase);  // written by the epilogue, this round
    ptx::cp_async_bulk_tensor_3d_store(params.d_map, slice.column(), slice.row(), slice.batch(),
                                       staging.buffer(storing, pitch));
    ptx::cp_async_bulk_commit_group();
    storing.advance(buffers);
    // The store before this one has left its buffer: that buffer can be offered again.
    ptx::cp_async_bulk_wait_group_read<1>();
    if (!first) offer();
    first = false;
  }
  ptx::cp_async_bulk_wait_group_read<0>();  // shared memory must outlive the reads of the stores
}

}  // namespace bwgemm
