// SPDX-License-Identifier: Apache-2.0
// The producer role of the cooperative kernel: one thread that keeps the operand ring full. In a
// cluster each CTA loads its part of the operand that the CTAs share and multicasts it to both.
#pragma once

#include "kernels/ptx/cp_async_bulk.h"
#include "kernels/sm90/cta.h"
#include "kernels/sm90/descriptors.h"
#include "kernels/tiles.h"

namespace bwgemm::sm90 {

// One operand's tile as bulk loads: `extent` of m or n by 64 of k, loaded in equal parts by
// `sharers` CTAs that all receive all of it.
struct OperandTile {
  Major major;
  int extent;
  int sharers;

  constexpr int part() const { return extent / sharers; }  // of m or n, loaded by one CTA
  constexpr int box() const { return major == Major::k ? part() : 64; }
};

template <OperandTile tile>
BWGEMM_DEVICE void load_operand(const TensorMap& map, std::uint32_t destination, int mn, int k,
                                int batch, std::uint32_t rank, std::uint32_t barrier) {
  const int first = tile.sharers == 1 ? 0 : rank * tile.part();
#pragma unroll
  for (int done = 0; done < tile.part(); done += tile.box()) {
    const int offset = first + done;
    const int inner = tile.major == Major::k ? k : mn + offset;
    const int outer = tile.major == Major::k ? mn + offset : k;
    const std::uint32_t to = destination + offset * swizzle_row_bytes;
    if constexpr (tile.sharers == 1)
      ptx::cp_async_bulk_tensor_3d(to, map, inner, outer, batch, barrier);
    else
      ptx::cp_async_bulk_tensor_3d_multicast(to, map, inner, outer, batch, barrier,
                                             (1 << tile.sharers) - 1);
  }
}

template <KernelConfig config>
BWGEMM_DEVICE void run_producer(const KernelParams& params, const Cta<config>& cta, int k_blocks) {
  constexpr OperandTile a{config.a, config.tile.m, config.cluster.n};
  constexpr OperandTile b{config.b, config.tile.n, config.cluster.m};
  const Ring ring = cta.operands();
  Cursor at;
  for (Tiles tiles(params, cta.cluster_size); tiles.valid(); tiles.advance()) {
    const TileIndex tile = tiles.at(params);
    const int row = cta.row(tile), column = cta.column(tile);
    const int a_batch = tile.batch * params.a_batch_step;
    const int b_batch = tile.batch * params.b_batch_step;
    for (int block = 0; block < k_blocks; ++block) {
      // The consumers' reads of the slot's last contents, in every CTA that this CTA's loads and
      // its own expectation concern, before the loads overwrite them.
      ring.wait_empty(at);
      const std::uint32_t full = ring.full(at).address;
      ptx::mbarrier_arrive_expect_tx(full, cta.offsets.stage_bytes);
      const int k = block * k_block;
      load_operand<a>(params.a_map, cta.a(at.stage), row, k, a_batch, cta.rank, full);
      load_operand<b>(params.b_map, cta.b(at.stage), column, k, b_batch, cta.rank, full);
      at.advance(config.stages);
    }
  }
}

}  // namespace bwgemm::sm90
