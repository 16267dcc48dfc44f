// SPDX-License-Identifier: Apache-2.0
// The producer role of Load::tma_shifted, where operands may start anywhere: a warpgroup. One lane
// of each warp keeps TMA loads under way. Then the whole warpgroup moves the lines of a block that
// has landed to their places, and hands the block to the consumers. Where nothing is to be moved,
// TMA hands blocks over itself.
//
// Pipelines   TMA   -> mover     landed arrives            (none: it hands on what it has)
//   a slot                       1 lane of 4 warps + bytes
//             mover -> consumer  full arrives              empty arrives
//                                1 lane of 4 warps         1 lane of each consumer warp -> TMA
#pragma once

#include "device/ptx/sync.h"
#include "device/trace.h"
#include "families/sm90/blocks.h"
#include "families/sm90/shifted/residue_tile.h"

namespace bwgemm::sm90 {

// K-major lines follow an MN-major operand that is loaded class by class in its order of k.
template <KernelConfig config>
BWGEMM_DEVICE bool interleaves_a(const ResidueParams& params) {
  return config.a == Major::k && config.b == Major::mn && params.residues_b.by_class;
}
template <KernelConfig config>
BWGEMM_DEVICE bool interleaves_b(const ResidueParams& params) {
  return config.b == Major::k && config.a == Major::mn && params.residues_a.by_class;
}

template <KernelConfig config>
BWGEMM_DEVICE bool moves_a(const ResidueParams& params) {
  return params.residues_a.shifted || interleaves_a<config>(params);
}
template <KernelConfig config>
BWGEMM_DEVICE bool moves_b(const ResidueParams& params) {
  return params.residues_b.shifted || interleaves_b<config>(params);
}
template <KernelConfig config>
BWGEMM_DEVICE bool moves_any(const ResidueParams& params) {
  return moves_a<config>(params) || moves_b<config>(params);
}

// TMA has filled a slot, which is full only after its lines are moved.
template <KernelConfig config>
BWGEMM_DEVICE Barrier landed(const Cta<config>& cta, std::uint32_t stage) {
  return {cta.shared + cta.offsets.landed + 8 * stage};
}

BWGEMM_DEVICE void prefetch_residue_maps(const ResidueParams& params) {
  const int lane = ptx::laneid();
  if (params.k_blocks == 0 || lane >= 2 * residue_classes) return;
  const ResidueOperand& operand = lane < residue_classes ? params.residues_a : params.residues_b;
  const int j = lane % residue_classes;
  if (j == 0 || operand.by_class) ptx::prefetch_tensormap(operand.maps[j]);
}

// One warp's part of the loads of one block after the other.
template <KernelConfig config>
class ResidueLoads {
 public:
  BWGEMM_DEVICE ResidueLoads(const ResidueParams& params, const Cta<config>& cta, int k_blocks,
                             const Ring& ring, int warp)
      : blocks_(params, cta, k_blocks), ring_(ring), warp_(warp) {
    locate(params);
  }

  BWGEMM_DEVICE bool valid() const { return blocks_.valid(); }

  // `only_loads`: nothing is to be moved, so the role stands where its loads do.
  BWGEMM_DEVICE void issue(const ResidueParams& params, const Cta<config>& cta, Trace& trace,
                           bool only_loads = false) {
    if (only_loads && blocks_.starts_split()) trace(TraceEvent::tile, blocks_.tile(params));
    trace(TraceEvent::wait_empty, blocks_.block());
    // The consumers' reads of the slot's last contents before the loads overwrite them. The moves
    // in the slot came before those reads.
    ring_.wait_empty(at_);
    trace(TraceEvent::issue, blocks_.block());
    if (ptx::elect_sync()) {
      const std::uint32_t arrived = ring_.full(at_).address;
      ptx::mbarrier_arrive_expect_tx(arrived, ABoxes::bytes_of(params.residues_a, warp_) +
                                                  BBoxes::bytes_of(params.residues_b, warp_));
      ABoxes::load(params.residues_a, warp_, cta.a(at_.stage), a_line_, blocks_.block(),
                   blocks_.batch() * params.a_batch_step, arrived);
      BBoxes::load(params.residues_b, warp_, cta.b(at_.stage), b_line_, blocks_.block(),
                   blocks_.batch() * params.b_batch_step, arrived);
    }
    __syncwarp();
    blocks_.advance(params, cta);
    if (blocks_.starts_split()) locate(params);
    at_.advance(config.stages);
  }

 private:
  // Where lines of the operands begin, with those of the batches before.
  BWGEMM_DEVICE void locate(const ResidueParams& params) {
    a_line_ = blocks_.row() + blocks_.batch() * params.residues_a.batch_lines;
    b_line_ = blocks_.column() + blocks_.batch() * params.residues_b.batch_lines;
  }

  using ABoxes = ResidueBoxes<config.a, config.tile.m>;
  using BBoxes = ResidueBoxes<config.b, config.tile.n>;

  Blocks<config> blocks_;
  Ring ring_;
  int warp_;
  int a_line_ = 0, b_line_ = 0;
  Cursor at_;
};

// Every thread of the warpgroup: its lines of each block, in the order of the loads.
template <KernelConfig config>
class ResidueMoves {
 public:
  BWGEMM_DEVICE ResidueMoves(const ResidueParams& params, const Cta<config>& cta, int k_blocks)
      : blocks_(params, cta, k_blocks),
        a_(params.residues_a, params.a, params.m, params.k),
        b_(params.residues_b, params.b, params.n, params.k) {
    fetch();
  }

  BWGEMM_DEVICE bool valid() const { return blocks_.valid(); }

  BWGEMM_DEVICE void move(const ResidueParams& params, const Cta<config>& cta, Trace& trace) {
    if (blocks_.starts_split()) trace(TraceEvent::tile, blocks_.tile(params));
    trace(TraceEvent::wait_landed, blocks_.block());
    // TMA's writes of the slot before the reads and writes of this thread.
    landed(cta, at_.stage).wait(at_.phase);
    trace(TraceEvent::move, blocks_.block());
    if (moves_a<config>(params)) a_.shift(cta.a(at_.stage), interleaves_a<config>(params));
    if (moves_b<config>(params)) b_.shift(cta.b(at_.stage), interleaves_b<config>(params));
    ptx::fence_proxy_async_shared();  // this thread's writes before the reads of wgmma
    __syncwarp();                     // all lanes' writes and fences before the arrival of one
    if (ptx::laneid() == 0) ptx::mbarrier_arrive(cta.operands().full(at_).address);
    blocks_.advance(params, cta);
    at_.advance(config.stages);
    fetch();
  }

 private:
  // Loads what the next block's lines need from global memory, while TMA loads that block.
  BWGEMM_DEVICE void fetch() {
    if (!blocks_.valid()) return;
    a_.fetch(blocks_.row(), blocks_.block(), blocks_.batch(), blocks_.starts_split());
    b_.fetch(blocks_.column(), blocks_.block(), blocks_.batch(), blocks_.starts_split());
  }

  Blocks<config> blocks_;
  ResidueTile<config.a, config.tile.m> a_;
  ResidueTile<config.b, config.tile.n> b_;
  Cursor at_;
};

template <KernelConfig config>
BWGEMM_DEVICE void run_residue_producer(const ResidueParams& params, const Cta<config>& cta,
                                        int warp, int k_blocks) {
  Trace trace(params, TraceRole::producer, 0, warp == 0 && ptx::laneid() == 0);
  const bool moves = moves_any<config>(params);

  const Ring ring = cta.operands();
  const std::uint32_t arrived = moves ? landed(cta, 0).address : ring.full_address;
  ResidueLoads<config> loading(params, cta, k_blocks, {arrived, ring.empty_address}, warp);
  if (!moves) {
    while (loading.valid()) loading.issue(params, cta, trace, true);
  } else {
    // So far ahead that the slot to be loaded was read while the one before the next was moved.
    constexpr int ahead = config.stages - 2;
    for (int i = 0; i < ahead; ++i)
      if (loading.valid()) loading.issue(params, cta, trace);
    ResidueMoves<config> moving(params, cta, k_blocks);
    while (moving.valid()) {
      if (loading.valid()) loading.issue(params, cta, trace);
      moving.move(params, cta, trace);
    }
  }
  if (params.next_start != NextStart::when_gone) ptx::griddepcontrol_launch_dependents();
}

}  // namespace bwgemm::sm90
