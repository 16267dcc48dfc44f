// SPDX-License-Identifier: Apache-2.0
// The consumer role of the Hopper kernel: a warpgroup that multiplies 64 or 128 rows of a tile into
// registers by wgmma, adds up the splits of k (split.h, cluster_reduction.h) and runs the epilogue
// (exit.h).
#pragma once

#include <type_traits>

#include "device/computed_here.h"
#include "device/ptx/wgmma_mma.h"
#include "device/trace.h"
#include "families/sm90/cta.h"
#include "families/sm90/split.h"

namespace bwgemm::sm90 {

// Parts that only some kernels have: their images include them.
template <KernelConfig config>
class ClusterReduction;  // Parts::can_reduce_in_cluster(): cluster_reduction.h
template <KernelConfig config>
class PingPong;  // config.ping_pong: ping_pong.h
template <KernelConfig config>
class LooseReader;  // has_loose_rows(): loose_rows.h

inline constexpr int instruction_m = 64;

// Where wgmma finds an operand, a swizzled tile as device/layout.h describes it. The stride steps
// to the next 8 rows: of m or n (K-major), of k (MN-major). The leading offset steps to the next 64
// of m or n where they are contiguous; K-major rows hold all of a block's k. `chunk`: chunk_of()
// the operand; a narrow one is alone, and the leading offset means nothing.
constexpr std::uint64_t operand_descriptor(std::uint32_t address, Major major, int chunk = 64) {
  const int row_bytes = major == Major::k ? swizzle_row_bytes : chunk * 2;
  constexpr int atom_rows = 8;  // the swizzle repeats after so many
  return ptx::MatrixDescriptor{
      .start_address = address,
      .leading_byte_offset = major == Major::k ? 0u : chunk_bytes,
      .stride_byte_offset = static_cast<std::uint32_t>(atom_rows * row_bytes),
      .swizzle_bytes = row_bytes}
      .encoded();
}

// Added to an encoded descriptor to move its start.
constexpr std::uint64_t descriptor_step(int bytes) {
  return static_cast<std::uint64_t>(bytes >> 4);
}

// From one wgmma's rows of A to the next: rows, or a chunk.
inline constexpr int row_block_bytes = instruction_m * swizzle_row_bytes;

// From one instruction's k to the next: within the rows, or whole rows further.
constexpr int k_step_bytes(MmaKind kind, Major major, int chunk = 64) {
  return major == Major::k ? instruction_k_bytes : instruction_k(kind) * chunk * 2;
}

// Multiplies one stage: the warpgroup's rows of A by tile.n columns of B, tile.k deep.
template <KernelConfig config, MmaTypes types>
BWGEMM_DEVICE void multiply_stage(Accumulators<config>& accumulators, std::uint64_t a,
                                  std::uint64_t b, bool accumulate) {
  constexpr int transpose_a = config.a == Major::mn, transpose_b = config.b == Major::mn;
#pragma unroll
  for (int step = 0; step < config.tile.k / instruction_k(config.mma); ++step) {
    const std::uint64_t b_step =
        b + descriptor_step(step *
                            k_step_bytes(config.mma, config.b, chunk_of(config.b, config.tile.n)));
#pragma unroll
    for (int row_block = 0; row_block < warpgroups_of(config).rows / instruction_m; ++row_block) {
      const std::uint64_t a_step = a + descriptor_step(step * k_step_bytes(config.mma, config.a) +
                                                       row_block * row_block_bytes);
      ptx::wgmma_mma_async<types, transpose_a, transpose_b>(accumulators[row_block], a_step, b_step,
                                                            accumulate || step > 0);
    }
  }
}

// Calls reader.multiply_blocks<types>() for the types of the launch. wgmma says its types, so there
// is a main loop for each pair of the kind's.
template <MmaKind kind, std::size_t pair = 0, class Reader, class... Rest>
BWGEMM_DEVICE void multiply_by_types(Reader& reader, const MmaTypes& types, Rest&... rest) {
  constexpr MmaTypes compiled = facts_of(kind).types[pair];
  if constexpr (pair + 1 < facts_of(kind).types.size())
    if (types != compiled) return multiply_by_types<kind, pair + 1>(reader, types, rest...);
  reader.template multiply_blocks<compiled>(rest...);
}

// Nothing tells the compiler that a wait completes the accumulators; an empty volatile statement
// that seems to change them keeps their uses behind it.
template <KernelConfig config>
BWGEMM_DEVICE void keep_behind_wait(Accumulators<config>& accumulators) {
#pragma unroll
  for (auto& row_block : accumulators)
#pragma unroll
    for (float& value : row_block) asm volatile("" : "+f"(value)::"memory");
}

// The consumers' side of the operand ring.
template <KernelConfig config>
class OperandReader {
 public:
  BWGEMM_DEVICE OperandReader(const KernelParams&, const Cta<config>& cta, int warpgroup,
                              int /*k_blocks*/)
      : ring_(cta.operands()),
        a_(computed_once(
            operand_descriptor(cta.a(0) + cta.first_row(warpgroup) * swizzle_row_bytes, config.a))),
        b_(computed_once(
            operand_descriptor(cta.b(0), config.b, chunk_of(config.b, config.tile.n)))),
        releases_(ptx::laneid() < cta.sharers),
        released_(cta.cluster_size == 1
                      ? ring_.empty_address
                      : ptx::mapa(ring_.empty_address, sharer(cta, ptx::laneid()))) {}

  // Leaves out the slots of a tile that another warpgroup multiplies.
  BWGEMM_DEVICE void pass(int k_blocks) {
    const std::uint32_t stage = at_.stage + k_blocks;
    at_.phase ^= stage / config.stages & 1;
    at_.stage = stage % config.stages;
  }

  // Leaves the product of `k_blocks` blocks in the accumulators and the ring without their slots.
  // Calls behind_last() when the products of the last block are under way.
  template <class BehindLast>
  BWGEMM_DEVICE void multiply_tile(const MmaTypes& types, Accumulators<config>& accumulators,
                                   int k_blocks, Trace& trace, const BehindLast& behind_last) {
    multiply_by_types<config.mma>(*this, types, accumulators, k_blocks, trace, behind_last);
  }

  template <MmaTypes types, class BehindLast>
  BWGEMM_DEVICE void multiply_blocks(Accumulators<config>& accumulators, int k_blocks, Trace& trace,
                                     const BehindLast& behind_last) {
    std::uint32_t previous = 0;
    for (int block = 0; block < k_blocks; ++block) {
      trace(TraceEvent::wait_full, block);
      ring_.wait_full(at_);  // the slot's TMA writes before the reads of wgmma
      trace(TraceEvent::multiply, block);
      ptx::wgmma_fence();  // the epilogue's reads of the accumulators before wgmma writes them
      const std::uint64_t step = at_.stage * descriptor_step(Cta<config>::offsets.stage_bytes);
      multiply_stage<config, types>(accumulators, a_ + step, b_ + step, block > 0);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();  // the previous block's reads of its slot before its release
      if (block > 0) release(previous);
      previous = at_.stage;
      at_.advance(config.stages);
    }
    behind_last();
    ptx::wgmma_wait_group<0>();  // the last block's reads, and all accumulators before their use
    keep_behind_wait<config>(accumulators);
    if (k_blocks > 0) release(previous);
  }

 private:
  // Ranks of the CTAs in this CTA's column of the cluster, then of the others in its row.
  BWGEMM_DEVICE static std::uint32_t sharer(const Cta<config>& cta, int index) {
    if (index < config.cluster.m) return index + cta.cluster_n() * config.cluster.m;
    const int other = index - config.cluster.m;
    const int column = other + (other >= cta.cluster_n() ? 1 : 0);
    return cta.cluster_m() + column % config.cluster.n * config.cluster.m;
  }

  // One lane per CTA that the slot was filled by, in every warp: each warp answers for its own wait
  // only. What is handed over are finished reads of wgmma, not ordinary memory: a release at
  // cluster scope would put a GPU-wide fence before every arrival, which took a quarter of the
  // speed (bench/log/2026-11-21.md).
  BWGEMM_DEVICE void release(std::uint32_t stage) const {
    if (!releases_) return;
    if constexpr (Cta<config>::cluster_size == 1)
      ptx::mbarrier_arrive(released_ + 8 * stage);
    else
      ptx::mbarrier_arrive_relaxed_cluster(released_ + 8 * stage);
  }

  Ring ring_;
  std::uint64_t a_, b_;     // descriptors of stage 0
  bool releases_;           // this lane arrives
  std::uint32_t released_;  // at this address for stage 0, possibly in another CTA
  Cursor at_;
};

// Who takes operands out of the ring for a consumer.
template <KernelConfig config>
using ReaderOf =
    std::conditional_t<has_loose_rows(config), LooseReader<config>, OperandReader<config>>;

// AnyTurn: consumers multiply as soon as operands are there. The members are those of PingPong, and
// do nothing.
template <KernelConfig config>
struct AnyTurn {
  BWGEMM_DEVICE AnyTurn(int, int, ReaderOf<config>&) {}
  BWGEMM_DEVICE void wait() const {}
  BWGEMM_DEVICE void hand_over(bool) const {}
  BWGEMM_DEVICE void pass(ReaderOf<config>&) const {}
};
template <KernelConfig config>
using Turns = std::conditional_t<config.ping_pong, PingPong<config>, AnyTurn<config>>;

// Adds up the splits of a tile that are the CTAs of a cluster. Other kernels never ask.
template <KernelConfig config>
BWGEMM_DEVICE bool sum_in_cluster(const KernelParams& params, const Cta<config>& cta, int warpgroup,
                                  std::uint32_t split, Accumulators<config>& sums) {
  if constexpr (parts_of(config).can_reduce_in_cluster())
    return ClusterReduction<config>(params, cta, warpgroup).sum(split, sums);
  else
    return false;
}

// `Exit`: how the sums of a tile leave the warpgroup. Told of each tile four times.
template <class Exit, KernelConfig config>
BWGEMM_DEVICE void run_consumer(const typename Exit::Params& params, const Cta<config>& cta,
                                int warpgroup, const Scaling& scaling, int k_blocks) {
  // Written by the first wgmma of each split of k, or cleared where it has no blocks.
  Accumulators<config> accumulators = {};
  Trace trace(params, TraceRole::consumer, warpgroup, threadIdx.x % 128 == 0);
  ReaderOf<config> operands(params, cta, warpgroup, k_blocks);
  const WorkspaceReduction<config> partials(params, cta.rank, warpgroup);
  Exit exit(params, cta, warpgroup, scaling);
  Turns<config> turns(warpgroup, k_blocks, operands);
  for (Tiles tiles = cta.tiles(params, warpgroup); tiles.valid(); tiles.advance()) {
    trace(TraceEvent::tile, tiles.number(params));
    const bool is_split = cta.is_split(params, tiles);
    const KSplit split = k_split<config.tile.k>(params, tiles, is_split, k_blocks);
    auto prepared = exit.prepare(tiles);
    // A ping-pong consumer loads vectors when its own products are under way: before, the other
    // warpgroup waits for them.
    if constexpr (!config.ping_pong) exit.load_vectors(tiles, prepared);
    if (split.blocks() == 0) clear<config>(accumulators);
    if constexpr (config.ping_pong) trace(TraceEvent::wait_turn);
    turns.wait();
    operands.multiply_tile(params.input_types, accumulators, split.blocks(), trace, [&] {
      turns.hand_over(tiles.has_tile_between());
      if constexpr (config.ping_pong) exit.load_vectors(tiles, prepared);
      exit.store_biases(prepared);
    });
    turns.pass(operands);
    trace(TraceEvent::epilogue);
    const bool has_sums = !is_split || (cta.has_cluster_of_splits(params)
                                            ? sum_in_cluster(params, cta, warpgroup,
                                                             tiles.split(params), accumulators)
                                            : partials.sum(params, tiles, accumulators));
    exit.leave(accumulators, tiles, prepared, is_split, has_sums);
  }
}

}  // namespace bwgemm::sm90
