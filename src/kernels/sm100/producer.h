// SPDX-License-Identifier: Apache-2.0
// The producer role of the pair kernel: one thread in each CTA that keeps its CTA's half of the
// operand ring full. The leader's full barriers count the arrivals and bytes of both.
#pragma once

#include "kernels/ptx/cp_async_bulk.h"
#include "kernels/sm100/cta.h"

namespace bwgemm::sm100 {

// One operand of one stage: `extent` of m or n by 64 of k. K-major tiles are one box, MN-major
// tiles one box per 64 of m or n.
BWGEMM_DEVICE void load_operand(const TensorMap& map, Major major, int extent,
                                std::uint32_t destination, int mn, int k, int batch,
                                std::uint32_t barrier) {
  if (major == Major::k) {
    ptx::cp_async_bulk_tensor_3d_cta_group_2(destination, map, k, mn, batch, barrier);
    return;
  }
#pragma unroll 1  // one or two boxes: four at a time, as the compiler would, never come
  for (int done = 0; done < extent; done += 64)
    ptx::cp_async_bulk_tensor_3d_cta_group_2(destination + done * swizzle_row_bytes, map, mn + done,
                                             k, batch, barrier);
}

BWGEMM_DEVICE void run_producer(const KernelParams& params, const Cta& cta, int k_blocks) {
  const Ring ring = cta.operands();
  const std::uint32_t leaders_full = ptx::mapa(ring.full_address, leader);
  Cursor at;
  for (Tiles tiles(params, pair_size, 1); tiles.valid(); tiles.advance()) {
    const TileIndex tile = tiles.at(params);
    const int row = cta.row(tile), column = cta.b_column(tile);
    const int a_batch = tile.batch * params.a_batch_step;
    const int b_batch = tile.batch * params.b_batch_step;
    for (int block = 0; block < k_blocks; ++block) {
      // The multiplications' reads of the slot's last contents before the loads overwrite them.
      ring.wait_empty(at);
      const std::uint32_t full = leaders_full + 8 * at.stage;
      ptx::mbarrier_arrive_expect_tx_relaxed_cluster(full, cta.offsets.stage_bytes);
      const int k = block * k_block;
      load_operand(params.a_map, params.a_major, cta_rows, cta.a(at.stage), row, k, a_batch, full);
      load_operand(params.b_map, params.b_major, cta.b_columns(), cta.b(at.stage), column, k,
                   b_batch, full);
      at.advance(cta.stages);
    }
  }
  ptx::griddepcontrol_launch_dependents();
  // The last arrivals of commits on this CTA's barriers before its exit.
  for (int stage = 0; stage < cta.stages; ++stage) {
    ring.wait_empty(at);
    at.advance(cta.stages);
  }
}

}  // namespace bwgemm::sm100
