// SPDX-License-Identifier: Apache-2.0
// The producer role: one thread in each CTA that keeps its CTA's part of the operand ring full. The
// full barriers of a group's leader count the arrivals and bytes of all its CTAs.
#pragma once

#include "device/ptx/cp_async_bulk.h"
#include "device/ptx/cp_async_bulk_pair.h"
#include "device/ptx/sync.h"
#include "device/trace.h"
#include "families/sm100/operands.h"
#include "families/sm100/walk.h"

namespace bwgemm::sm100 {

// Where one box goes.
struct BoxTarget {
  std::uint32_t destination, barrier;
  std::uint16_t ctas;  // that it goes to
};

template <KernelConfig config, bool multicasts>
BWGEMM_DEVICE void load_box(const TensorMap& map, int inner, int outer, int batch,
                            const BoxTarget& to) {
  constexpr bool pair = groups_of(config).ctas == 2;
  constexpr bool has_batch = config.choices.map_rank == 3;
  static_assert(has_batch || (pair && !multicasts), "forms that no row has are not written");
  if constexpr (multicasts)
    ptx::cp_async_bulk_tensor_3d_cta_group_2_multicast(to.destination, map, inner, outer, batch,
                                                       to.barrier, to.ctas);
  else if constexpr (pair && has_batch)
    ptx::cp_async_bulk_tensor_3d_cta_group_2(to.destination, map, inner, outer, batch, to.barrier);
  else if constexpr (pair)
    ptx::cp_async_bulk_tensor_2d_cta_group_2(to.destination, map, inner, outer, to.barrier);
  else
    ptx::cp_async_bulk_tensor_3d(to.destination, map, inner, outer, batch, to.barrier);
}

// What one CTA loads of an operand in one stage: `extent` of m or n from `first` on, of the
// `held` that lie in its shared memory, by 64 of k.
struct OperandPart {
  Major major;
  int held, first, extent;
};

template <KernelConfig config, bool multicasts>
BWGEMM_DEVICE void load_operand(const TensorMap& map, const OperandPart& part, BoxTarget to, int mn,
                                int k, int batch) {
  constexpr int width = operand_block(config).bytes, elements = operand_block(config).elements;
  const std::uint32_t operand = to.destination;
  if (part.major == Major::k) {
#pragma unroll
    for (int block = 0; block < config.tile.k / elements; ++block) {
      to.destination = operand + (block * part.held + part.first) * width;
      load_box<config, multicasts>(map, k + block * elements, mn, batch, to);
    }
    return;
  }
#pragma unroll 1  // few boxes: four at a time, as the compiler would, never come
  for (int done = 0; done < part.extent; done += elements) {
    to.destination = operand + (part.first + done) * swizzle_row_bytes;
    load_box<config, multicasts>(map, mn + done, k, batch, to);
  }
}

template <KernelConfig config>
BWGEMM_DEVICE void want_next_tile(const Cta<config>& cta);  // launch control: scheduler.h

template <KernelConfig config>
BWGEMM_DEVICE void run_producer(const MappedParams& params, const Cta<config>& cta, int k_blocks) {
  constexpr bool shares_b = groups_of(config).count > 1;
  const Ring ring = cta.operands();
  const std::uint32_t leaders_full =
      groups_of(config).ctas == 2 ? ptx::mapa(ring.full_address, cta.leader()) : ring.full_address;
  const bool loads_a = has_map<config>(params.a, params.a_major),
             loads_b = has_map<config>(params.b, params.b_major);
  const std::uint32_t bytes =
      (loads_a ? cta.offsets.a_bytes : 0) + (loads_b ? cta.offsets.b_bytes : 0);
  const OperandPart a{params.a_major, cta.rows, 0, cta.rows};
  const int b_extent = cta.loaded_b_columns() / cta.b_loads();
  // The CTAs of all groups that hold the same columns.
  const auto sharers = static_cast<std::uint16_t>((cta.all_ctas / 3) << cta.rank_in_group());
  Cursor at;
  Trace trace(params, TraceRole::producer, 0, true);
  for (Walk<config> walk(params, cta); walk.valid(); walk.advance()) {
    if constexpr (config.choices.schedule == Schedule::launch_control) want_next_tile(cta);
    trace(TraceEvent::tile, walk.number(params));
    const TileIndex tile = walk.at(params);
    const int row = cta.row(tile), column = cta.b_column(tile);
    const int a_batch = tile.batch * params.a_batch_step;
    const int b_batch = tile.batch * params.b_batch_step;
    const KSplit split = k_split<config.tile.k>(params, walk, walk.is_split(params), k_blocks);
    for (int block = split.first; block < split.end; ++block) {
      // The multiplications' reads of the slot's last contents before the loads overwrite them, in
      // every CTA that the loads go to.
      trace(TraceEvent::wait_empty, block);
      ring.wait_empty(at);
      trace(TraceEvent::issue, block);
      const std::uint32_t full = leaders_full + 8 * at.stage;
      if constexpr (groups_of(config).ctas == 2)
        ptx::mbarrier_arrive_expect_tx_relaxed_cluster(full, bytes);
      else
        ptx::mbarrier_arrive_expect_tx(full, bytes);
      const int k = block * config.tile.k;
      if (loads_a)
        load_operand<config, false>(params.a_map, a, {cta.a(at.stage), full, 0}, row, k, a_batch);
#pragma unroll 1
      for (int part = 0; loads_b && part < cta.b_loads(); ++part) {
        const OperandPart b{params.b_major, cta.b_columns(),
                            cta.first_loaded_b_column() + part * b_extent, b_extent};
        load_operand<config, shares_b>(params.b_map, b, {cta.b(at.stage), full, sharers},
                                       column + part * cta.b_to_y, k, b_batch);
      }
      at.advance(cta.stages);
    }
  }
  trace(TraceEvent::finish);
  if (params.next_start != NextStart::when_gone) ptx::griddepcontrol_launch_dependents();
  // The last arrivals of commits on this CTA's barriers before its exit.
  for (int stage = 0; stage < cta.stages; ++stage) {
    ring.wait_empty(at);
    at.advance(cta.stages);
  }
}

}  // namespace bwgemm::sm100
