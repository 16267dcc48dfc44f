// SPDX-License-Identifier: Apache-2.0
// The output role: one thread that moves boxes between staging buffers and global memory, for both
// architectures. The epilogue warps only compute.
//
// Pipeline, per buffer   producer -> consumer   full arrives          empty arrives
//   staging              output   -> epilogue   1 (+ TMA bytes of C)  1 per epilogue warp
// Timeline   output    offer a buffer (with beta: C arrives in it) ... wait written -> TMA store
//            epilogue  wait full -> combine in place -> fence.proxy.async -> arrive on empty
#pragma once

#include "device/params.h"
#include "device/ptx/cp_async_bulk.h"
#include "device/ptx/shared_memory.h"
#include "device/raster.h"
#include "device/ring.h"
#include "device/trace.h"

namespace bwgemm {

// The part of a cluster's tile that one output stack (a set of staging buffers) covers, in the
// directions of memory: D's elements are contiguous along inner, which is n, or m where D lies in
// column order.
struct OutputWindow {
  bool inner_is_m;
  int tile_inner, tile_outer;  // extent of the cluster's tile
  int inner, outer;            // of the window inside the cluster's tile
  int inner_extent, outer_extent;
  int box_inner, box_outer;  // what one staging buffer holds; see OutputBoxes
};

// The boxes of an output stack in the order in which they pass through its staging buffers: along
// the lines of each window, then line after line, then tile after tile. `may_overlap`: boxes need
// not divide the extent along n; the last box along n then begins inside the one before.
template <class Walk, bool may_overlap = false>
class OutputBoxes {
 public:
  BWGEMM_DEVICE OutputBoxes(const KernelParams& params, const OutputWindow& window,
                            const Walk& tiles)
      : window_(window), tiles_(tiles) {
    locate(params);
  }

  BWGEMM_DEVICE bool valid() const { return tiles_.valid(); }
  BWGEMM_DEVICE int inner() const { return first_inner_ + done_inner_; }
  BWGEMM_DEVICE int outer() const { return first_outer_ + done_outer_; }
  BWGEMM_DEVICE int batch() const { return batch_; }
  BWGEMM_DEVICE bool is_last_along_n() const {
    return window_.inner_is_m ? done_outer_ + window_.box_outer == window_.outer_extent
                              : done_inner_ + window_.box_inner == window_.inner_extent;
  }

  BWGEMM_DEVICE void advance(const KernelParams& params) {
    done_inner_ += window_.box_inner;
    if (done_inner_ != window_.inner_extent) {
      if constexpr (may_overlap)
        done_inner_ = min(done_inner_, window_.inner_extent - window_.box_inner);
      return;
    }
    done_inner_ = 0;
    done_outer_ += window_.box_outer;
    if (done_outer_ != window_.outer_extent) {
      if constexpr (may_overlap)
        done_outer_ = min(done_outer_, window_.outer_extent - window_.box_outer);
      return;
    }
    done_outer_ = 0;
    tiles_.advance();
    locate(params);
  }

 private:
  BWGEMM_DEVICE void locate(const KernelParams& params) {
    if (!tiles_.valid()) return;
    const TileIndex tile = tiles_.at(params);
    first_inner_ = (window_.inner_is_m ? tile.m : tile.n) * window_.tile_inner + window_.inner;
    first_outer_ = (window_.inner_is_m ? tile.n : tile.m) * window_.tile_outer + window_.outer;
    batch_ = tile.batch;
  }

  OutputWindow window_;
  Walk tiles_;
  int first_inner_ = 0, first_outer_ = 0, batch_ = 0;
  int done_inner_ = 0, done_outer_ = 0;
};

struct StagingBuffers {
  Ring ring;
  int count;              // of buffers
  std::uint32_t address;  // of buffer 0
  std::uint32_t pitch;    // from buffer to buffer
  std::uint32_t bytes;    // of one box of the output maps

  BWGEMM_DEVICE std::uint32_t buffer(const Cursor& at) const { return address + at.stage * pitch; }
};

// Run by one thread. `number`: among those of the CTA. Buffers are handed over in turn, whatever
// the epilogue uses them for. Of maps of two dimensions there is no batch.
template <int map_rank = 3, bool may_overlap = false>
class OutputRole {
  template <class Walk>
  using Boxes = OutputBoxes<Walk, may_overlap>;

 public:
  BWGEMM_DEVICE OutputRole(const MappedParams& params, const StagingBuffers& staging,
                           const OutputWindow& window, bool reads_c, int number = 0)
      : staging_(staging),
        window_(window),
        reads_c_(reads_c),
        trace_(params, TraceRole::output, number, true) {
    if (reads_c_) return;
    for (int i = 0; i < staging_.count; ++i) offer_empty();
  }

  // Stores all boxes of these tiles.
  template <class Walk>
  BWGEMM_DEVICE void store(const MappedParams& params, const Walk& tiles) {
    Boxes<Walk> box(params, window_, tiles);
    if (reads_c_) {
      store_over_c(params, tiles, box);
      return;
    }
    for (; box.valid(); box.advance(params)) {
      store_box(params, box);
      ++owed_;
      if (staging_.count == 1)
        return_buffers<0>();
      else
        return_buffers<1>();  // a store overlaps the one before it
    }
  }

  // What the epilogue has written, in place of a box, to the word at `address` (of buffer 0; one
  // for each buffer).
  BWGEMM_DEVICE std::uint32_t read_message(std::uint32_t address) {
    if (reads_c_) offer_empty();
    trace_(TraceEvent::wait_box);
    staging_.ring.empty(storing_).wait(storing_.phase);  // the message before its read
    const std::uint32_t message = ptx::ld_shared(address + 4 * storing_.stage);
    storing_.advance(staging_.count);
    if (!reads_c_) {
      ++owed_;
      return_buffers<0>();
    }
    return message;
  }

  // Shared memory must outlive the reads of the stores.
  BWGEMM_DEVICE void finish() const { ptx::cp_async_bulk_wait_group_read<0>(); }

 private:
  // C takes a while to arrive, so buffers are offered as soon as their stores have left them.
  template <class Walk>
  BWGEMM_DEVICE void store_over_c(const MappedParams& params, const Walk& tiles, Boxes<Walk>& box) {
    Boxes<Walk> offered(params, window_, tiles);
    auto offer = [&] {
      if (!offered.valid()) return;
      offer_c(params, offered);
      offered.advance(params);
    };
    for (int i = 0; i < staging_.count; ++i) offer();
    for (; box.valid(); box.advance(params)) {
      store_box(params, box);
      ptx::cp_async_bulk_wait_group_read<0>();
      offer();
    }
  }

  template <class Walk>
  BWGEMM_DEVICE void store_box(const MappedParams& params, const Boxes<Walk>& box) {
    trace_(TraceEvent::wait_box);
    staging_.ring.empty(storing_).wait(storing_.phase);  // written by the epilogue, this round
    trace_(TraceEvent::store);
    if constexpr (may_overlap)
      if (box.is_last_along_n()) ptx::cp_async_bulk_wait_group<0>();  // the box that it overlaps
    const std::uint64_t policy = ptx::l2_policy(params.d_streams_by);
    if constexpr (map_rank == 3)
      ptx::cp_async_bulk_tensor_3d_store(params.d_map, box.inner(), box.outer(), box.batch(),
                                         staging_.buffer(storing_), policy);
    else
      ptx::cp_async_bulk_tensor_2d_store(params.d_map, box.inner(), box.outer(),
                                         staging_.buffer(storing_), policy);
    ptx::cp_async_bulk_commit_group();
    storing_.advance(staging_.count);
  }

  // Offers the buffers again that all but the last `pending` stores have left.
  template <int pending>
  BWGEMM_DEVICE void return_buffers() {
    ptx::cp_async_bulk_wait_group_read<pending>();
    for (; owed_ > pending; --owed_) offer_empty();
  }

  BWGEMM_DEVICE void offer_empty() {
    ptx::mbarrier_arrive(staging_.ring.full(offering_).address);
    offering_.advance(staging_.count);
  }
  template <class Walk>
  BWGEMM_DEVICE void offer_c(const MappedParams& params, const Boxes<Walk>& box) {
    const std::uint32_t ready = staging_.ring.full(offering_).address;
    ptx::mbarrier_arrive_expect_tx(ready, staging_.bytes);
    if constexpr (map_rank == 3)
      ptx::cp_async_bulk_tensor_3d(staging_.buffer(offering_), params.c_map, box.inner(),
                                   box.outer(), box.batch(), ready);
    else
      ptx::cp_async_bulk_tensor_2d(staging_.buffer(offering_), params.c_map, box.inner(),
                                   box.outer(), ready);
    offering_.advance(staging_.count);
  }

  StagingBuffers staging_;
  OutputWindow window_;
  bool reads_c_;
  Cursor offering_, storing_;
  int owed_ = 0;  // buffers handed over and not yet offered again, without C
  Trace trace_;
};

}  // namespace bwgemm
