// SPDX-License-Identifier: Apache-2.0
// The producer role of the Hopper kernel: one thread keeps the operand ring full, with
// Load::loose_a with B alone. In a cluster each CTA loads its part of the operand that CTAs share
// and multicasts it to all of them.
//
// The producer does not load what lies outside an operand: TMA takes longer for a row of zeros than
// for a row from L2 (bench/log/2026-11-22.md). That part of the slot keeps its old contents, which
// reach only rows and columns of the tile outside D. A part that CTAs of a cluster share is never
// skipped. Otherwise a CTA that did not wait for all its sharers could be a round ahead of one of
// them, and that CTA's empty barrier would count the release in the wrong round.
#pragma once

#include "device/computed_here.h"
#include "device/ptx/cp_async_bulk.h"
#include "device/ptx/sync.h"
#include "device/trace.h"
#include "families/sm90/cta.h"
#include "families/sm90/operand_tile.h"

namespace bwgemm::sm90 {

// What this CTA has to do for an operand.
struct OperandPart {
  int first;           // of m or n in the tile
  int first_k;         // of k in the block
  std::uint16_t mask;  // CTAs that receive it
  int rows;            // of the tile that is being loaded; where none is inside, of zeros
};

template <OperandTile tile>
BWGEMM_DEVICE void load_operand(const TensorMap& map, const OperandPart& part,
                                std::uint32_t destination, int mn, int k, int batch,
                                std::uint32_t barrier) {
#pragma unroll
  for (int done = 0; done < tile.part(); done += tile.box()) {
    // This test takes a third of the main loop's time if made for every load. Lone CTAs begin
    // inside.
    if ((done > 0 || tile.may_be_empty) && done >= part.rows) break;
    const int offset = part.first + done;
    const int inner = tile.major == Major::k ? k : mn + offset;
    const int outer = tile.major == Major::k ? mn + offset : k + part.first_k;
    const std::uint32_t to = destination + offset * swizzle_row_bytes +
                             (tile.load.cuts_k ? part.first_k * tile.load.mn * 2 : 0);
    if constexpr (tile.sharers == 1)
      ptx::cp_async_bulk_tensor_3d(to, map, inner, outer, batch, barrier);
    else
      ptx::cp_async_bulk_tensor_3d_multicast(to, map, inner, outer, batch, barrier, part.mask);
  }
}

// The same of an operand that a gate reorders. Parts::gates: gated_loads.h, which their images
// include.
template <OperandTile tile>
BWGEMM_DEVICE void load_gated(const TensorMap& map, const OperandPart& part,
                              std::uint32_t destination, int mn, int k, int batch,
                              std::uint32_t barrier);

// The loads of an operand: its maps, this CTA's part, and what of the tile is inside. With
// `can_gate` the one along D's contiguous dimension, whose boxes a gate leaves whole.
template <OperandTile tile, bool can_gate>
class OperandLoads {
 public:
  BWGEMM_DEVICE OperandLoads(const MappedParams& params, const TensorMap& whole,
                             const TensorMap& rest, std::int64_t extent, OperandPart part)
      : whole_(whole),
        rest_(rest),
        extent_(static_cast<int>(extent)),
        part_(part),
        is_gated_(can_gate && params.fused.has(operation::gate)),
        rows_of_zeros_(tile.rows_of_zeros(static_cast<int>(extent))) {}

  BWGEMM_DEVICE void begin_tile(int mn, int batch) {
    mn_ = computed_here(mn);
    batch_ = computed_here(batch);
    const int inside = tile.inside(mn + part_.first, extent_, tile.part());
    part_.rows = is_gated_ ? tile.part() : inside > 0 ? inside : rows_of_zeros_;
    const bool has_rest =
        tile.major == Major::k && left_of(extent_, mn + part_.first) < tile.part();
    map_ = computed_here(has_rest && !is_gated_ ? &rest_ : &whole_);
  }
  // What arrives for each block of k, from all sharers.
  BWGEMM_DEVICE std::uint32_t bytes() const {
    const int inside = tile.inside(mn_, extent_, tile.rows);
    const int parts = (inside + tile.part() - 1) / tile.part();
    const int loaders = tile.load.cuts_k ? 1 : tile.sharers;  // that load different rows
    const int rows = is_gated_ ? tile.rows : inside + (loaders - parts) * rows_of_zeros_;
    return rows * swizzle_row_bytes;
  }
  BWGEMM_DEVICE bool is_gated() const { return can_gate && is_gated_; }
  // `gated`: whether one of the launch's operands is.
  template <bool gated>
  BWGEMM_DEVICE void load(std::uint32_t destination, int k, std::uint32_t barrier) const {
    if constexpr (can_gate && gated)
      load_gated<tile>(*map_, part_, destination, mn_, k, batch_, barrier);
    else
      load_operand<tile>(*map_, part_, destination, mn_, k, batch_, barrier);
  }

 private:
  const TensorMap &whole_, &rest_;
  int extent_;  // TMA families: 32 bits hold it, and coordinates inside it
  OperandPart part_;
  bool is_gated_;
  int rows_of_zeros_;
  const TensorMap* map_ = nullptr;
  int mn_ = 0, batch_ = 0;
};

// Maps that the launch does not use may be anything.
template <KernelConfig config>
BWGEMM_DEVICE void prefetch_maps(const MappedParams& params) {
  if (params.k_blocks > 0) {
    if (!has_loose_rows(config)) ptx::prefetch_tensormap(params.a_map);
    ptx::prefetch_tensormap(params.b_map);
  }
  ptx::prefetch_tensormap(params.d_map);
  if (params.k_blocks == 0) return;
  // Those that loads of the last rows need.
  if (config.a == Major::k && !has_loose_rows(config) &&
      static_cast<std::uint32_t>(params.m) % a_tile<config>.part() != 0)
    ptx::prefetch_tensormap(params.a_rest_map);
  if (config.b == Major::k && static_cast<std::uint32_t>(params.n) % b_tile<config>.part() != 0)
    ptx::prefetch_tensormap(params.b_rest_map);
}

// The producer's place in the ring, by addresses: an index would have to be multiplied before each
// load.
template <KernelConfig config>
class Slots {
 public:
  BWGEMM_DEVICE explicit Slots(const Cta<config>& cta)
      : slot_(cta.a(0)), full_(cta.operands().full_address) {}

  BWGEMM_DEVICE std::uint32_t a() const { return slot_; }
  BWGEMM_DEVICE std::uint32_t b() const { return slot_ + offsets.a_bytes; }
  BWGEMM_DEVICE std::uint32_t full() const { return full_; }
  BWGEMM_DEVICE void wait_empty() const {
    const Ring slot{full_, full_ + (offsets.empty - offsets.full)};
    slot.wait_empty({0, at_.phase});
  }
  BWGEMM_DEVICE void advance() {
    at_.advance(config.stages);
    slot_ += offsets.stage_bytes;
    full_ += barrier_bytes;
    if (at_.stage != 0) return;
    slot_ -= config.stages * offsets.stage_bytes;
    full_ -= config.stages * barrier_bytes;
  }

 private:
  static constexpr Layout offsets = Cta<config>::offsets;
  static constexpr int barrier_bytes = 8;

  std::uint32_t slot_, full_;
  Cursor at_;
};

// Run by the whole warp, of which one lane issues: what all lanes compute alike stays in uniform
// registers, where loads need it. `await_start` is called when what the first loads need is
// computed: behind it grids before this one have ended, and there is a ring.
template <KernelConfig config, class AwaitStart>
BWGEMM_DEVICE void run_producer(const MappedParams& params, const Cta<config>& cta,
                                AwaitStart await_start) {
  constexpr OperandTile a_tile = sm90::a_tile<config>, b_tile = sm90::b_tile<config>;
  OperandLoads<a_tile, parts_of(config).gates == Gates::rows> a(
      params, params.a_map, params.a_rest_map, params.m,
      {a_tile.load.cuts_k ? 0 : cta.cluster_n() * a_tile.part(),
       a_tile.load.cuts_k ? cta.cluster_n() * a_tile.load.k : 0,
       static_cast<std::uint16_t>(a_tile.sharer_mask() << cta.cluster_m()), 0});
  OperandLoads<b_tile, parts_of(config).gates == Gates::columns> b(
      params, params.b_map, params.b_rest_map, params.n,
      {b_tile.load.cuts_k ? 0 : cta.cluster_m() * b_tile.part(),
       b_tile.load.cuts_k ? cta.cluster_m() * b_tile.load.k : 0,
       static_cast<std::uint16_t>(b_tile.sharer_mask() << cta.cluster_n() * config.cluster.m), 0});
  Slots<config> slots(cta);
  Tiles tiles = cta.all_tiles(params);
  // A grid before this one may write an alpha in device memory.
  if (params.alpha.device != nullptr) ptx::griddepcontrol_wait();
  const int k_blocks = k_blocks_to_run(params, load_scalar(params.alpha));
  KSplit split{};
  std::uint32_t bytes = 0;
  const auto begin_tile = [&] {
    const TileIndex tile = tiles.at(params);
    if constexpr (!has_loose_rows(config))
      a.begin_tile(cta.row(tile), tile.batch * params.a_batch_step);
    b.begin_tile(cta.column(tile), tile.batch * params.b_batch_step);
    bytes = computed_here(has_loose_rows(config) ? b.bytes() : a.bytes() + b.bytes());
    split = k_split<config.tile.k>(params, tiles, cta.is_split(params, tiles), k_blocks);
  };
  if (tiles.valid()) begin_tile();
  await_start();
  Trace trace(params, TraceRole::producer, 0, ptx::laneid() == 0);
  // Small tiles are computed as fast as their loads are issued, and a branch takes as long as a
  // load: whether there is a gate is asked once a tile. A wait for a slot takes as long, and the
  // first round of them needs none.
  std::uint32_t fresh_slots = config.stages;
  const auto load_blocks = [&]<bool gated>() {
    const auto load_block = [&](int block) {
      trace(TraceEvent::issue, block);
      if (ptx::elect_sync()) {
        ptx::mbarrier_arrive_expect_tx(slots.full(), bytes);
        if constexpr (!has_loose_rows(config))
          a.template load<gated>(slots.a(), block * config.tile.k, slots.full());
        b.template load<gated>(slots.b(), block * config.tile.k, slots.full());
      }
      __syncwarp();  // the elected lane back with its warp
      slots.advance();
    };
    int block = split.first;
#pragma unroll 1
    for (; block < split.end && fresh_slots > 0; ++block, --fresh_slots) load_block(block);
    for (; block < split.end; ++block) {
      // The consumers' reads of the slot's last contents, in every CTA that this CTA's loads and
      // its own expectation concern, before the loads overwrite them.
      trace(TraceEvent::wait_empty, block);
      slots.wait_empty();
      load_block(block);
    }
  };
  while (tiles.valid()) {
    trace(TraceEvent::tile, tiles.number(params));
    if (a.is_gated() || b.is_gated())
      load_blocks.template operator()<true>();
    else
      load_blocks.template operator()<false>();
    tiles.advance();
    if (tiles.valid()) begin_tile();
  }
  trace(TraceEvent::finish);
  if (params.next_start == NextStart::when_loaded) ptx::griddepcontrol_launch_dependents();
  const bool follows_consumers = params.next_start == NextStart::when_multiplied;
  // In a cluster this CTA stays until its sharers' last arrivals on its barriers.
  if (Cta<config>::cluster_size > 1 || follows_consumers)
    for (int stage = 0; stage < config.stages; ++stage) {
      slots.wait_empty();
      slots.advance();
    }
  if (follows_consumers) ptx::griddepcontrol_launch_dependents();
}

}  // namespace bwgemm::sm90
