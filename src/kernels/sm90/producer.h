// SPDX-License-Identifier: Apache-2.0
// The producer role of the cooperative kernel: one thread that keeps the operand ring full. In a
// cluster each CTA loads its part of the operand that CTAs share and multicasts it to all of them.
#pragma once

#include "kernels/ptx/cp_async_bulk.h"
#include "kernels/sm90/cta.h"
#include "kernels/sm90/descriptors.h"
#include "kernels/sm90/split.h"
#include "kernels/tiles.h"
#include "kernels/trace.h"

namespace bwgemm::sm90 {

// One operand's tile as bulk loads: `rows` of m or n by 64 of k, loaded in equal parts by `sharers`
// CTAs that all receive all of it.
struct OperandTile {
  Major major;
  int rows;
  int sharers;
  int sharer_step;  // from rank to rank

  constexpr int part() const { return rows / sharers; }  // of m or n, loaded by one CTA
  constexpr int box() const { return major == Major::k ? part() : 64; }
  constexpr std::uint32_t sharer_mask() const {  // of the first set of sharers
    return sharers == 1 ? 1 : 1 | 1 << sharer_step;
  }
};

// What this CTA has to do for an operand.
struct OperandPart {
  int first;           // of m or n in the tile
  std::uint16_t mask;  // CTAs that receive it
};

template <OperandTile tile>
BWGEMM_DEVICE void load_operand(const TensorMap& map, const OperandPart& part,
                                std::uint32_t destination, int mn, int k, int batch,
                                std::uint32_t barrier) {
#pragma unroll
  for (int done = 0; done < tile.part(); done += tile.box()) {
    const int offset = part.first + done;
    const int inner = tile.major == Major::k ? k : mn + offset;
    const int outer = tile.major == Major::k ? mn + offset : k;
    const std::uint32_t to = destination + offset * swizzle_row_bytes;
    if constexpr (tile.sharers == 1)
      ptx::cp_async_bulk_tensor_3d(to, map, inner, outer, batch, barrier);
    else
      ptx::cp_async_bulk_tensor_3d_multicast(to, map, inner, outer, batch, barrier, part.mask);
  }
}

// The same part of a K-major operand whose columns, or rows, a gate reorders: see
// FusedParams::columns.
template <OperandTile tile>
BWGEMM_DEVICE void load_gated(const TensorMap& map, const OperandPart& part,
                              std::uint32_t destination, int mn, int k, int batch,
                              std::uint32_t barrier) {
  constexpr int group = 16;  // x and y
  static_assert(tile.part() % group == 0 && tile.box() == tile.part());
  const std::uint32_t to = destination + part.first * swizzle_row_bytes;
  const int first = (mn + part.first) / group;
  if constexpr (tile.sharers == 1)
    ptx::cp_async_bulk_tensor_5d(to, map, k, 0, 0, first, batch, barrier);
  else
    ptx::cp_async_bulk_tensor_5d_multicast(to, map, k, 0, 0, first, batch, barrier, part.mask);
}

// `can_gate`: the operand along D's contiguous dimension, where the kernel has gates.
template <OperandTile tile, bool can_gate>
BWGEMM_DEVICE void load(const KernelParams& params, const TensorMap& map, const OperandPart& part,
                        std::uint32_t destination, int mn, int k, int batch,
                        std::uint32_t barrier) {
  if constexpr (can_gate) {
    if (params.fused.has(operation::gate))
      load_gated<tile>(map, part, destination, mn, k, batch, barrier);
    else
      load_operand<tile>(map, part, destination, mn, k, batch, barrier);
  } else {
    load_operand<tile>(map, part, destination, mn, k, batch, barrier);
  }
}

template <KernelConfig config>
BWGEMM_DEVICE void run_producer(const KernelParams& params, const Cta<config>& cta, int k_blocks) {
  constexpr OperandTile a{config.a, operand_rows(config.a, config.tile.m), config.cluster.n,
                          config.cluster.m};
  constexpr OperandTile b{config.b, operand_rows(config.b, config.tile.n), config.cluster.m, 1};
  const OperandPart a_part{cta.cluster_n() * a.part(),
                           static_cast<std::uint16_t>(a.sharer_mask() << cta.cluster_m())};
  const OperandPart b_part{
      cta.cluster_m() * b.part(),
      static_cast<std::uint16_t>(b.sharer_mask() << cta.cluster_n() * config.cluster.m)};
  const Ring ring = cta.operands();
  Trace trace(params, trace_producer, true);
  Cursor at;
  for (Tiles tiles(params, cta.cluster_size); tiles.valid(); tiles.advance()) {
    const TileIndex tile = tiles.at(params);
    const int row = cta.row(tile), column = cta.column(tile);
    const int a_batch = tile.batch * params.a_batch_step;
    const int b_batch = tile.batch * params.b_batch_step;
    const KSlice slice = k_slice(params, tiles, cta.is_sliced(params, tiles), k_blocks);
    for (int block = slice.first; block < slice.end; ++block) {
      // The consumers' reads of the slot's last contents, in every CTA that this CTA's loads and
      // its own expectation concern, before the loads overwrite them.
      trace(TraceEvent::wait_empty, block);
      ring.wait_empty(at);
      trace(TraceEvent::issue, block);
      const std::uint32_t full = ring.full(at).address;
      ptx::mbarrier_arrive_expect_tx(full, cta.offsets.stage_bytes);
      const int k = block * k_block;
      load<a, gates_rows(config)>(params, params.a_map, a_part, cta.a(at.stage), row, k, a_batch,
                                  full);
      load<b, gates_columns(config)>(params, params.b_map, b_part, cta.b(at.stage), column, k,
                                     b_batch, full);
      at.advance(config.stages);
    }
  }
  ptx::griddepcontrol_launch_dependents();
}

}  // namespace bwgemm::sm90
