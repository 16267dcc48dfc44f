// SPDX-License-Identifier: Apache-2.0
// Split-K: each split's CTA leaves its partial tile in global memory; the last to arrive adds
// all of them in the order of the splits, so that the sum does not depend on who was last. Nobody
// waits for anybody.
#pragma once

#include "families/direct/output_tile.h"

namespace bwgemm::direct {

// A thread's accumulators lie in units of four, neighbouring threads next to each other.
BWGEMM_DEVICE float* partial(const KernelParams& params, std::int64_t tiles, std::int64_t tile,
                             int split) {
  return params.partials + (split * tiles + tile) * (tile_rows * tile_columns) + ptx::tid_x() * 4;
}

BWGEMM_DEVICE void write_partial(float* to, const Accumulators& accumulators) {
#pragma unroll
  for (int i = 0; i < Accumulators::rows; ++i)
#pragma unroll
    for (int j = 0; j < Accumulators::columns; ++j) {
      const float(&block)[4] = accumulators.block[i][j];
      ptx::st_global_v4(to + (i * Accumulators::columns + j) * threads * 4,
                        __float_as_uint(block[0]), __float_as_uint(block[1]),
                        __float_as_uint(block[2]), __float_as_uint(block[3]));
    }
}

BWGEMM_DEVICE void add_partial(const float* from, Accumulators& accumulators) {
#pragma unroll
  for (int i = 0; i < Accumulators::rows; ++i)
#pragma unroll
    for (int j = 0; j < Accumulators::columns; ++j) {
      std::uint32_t value[4];
      ptx::ld_global_v4(from + (i * Accumulators::columns + j) * threads * 4, value[0], value[1],
                        value[2], value[3]);
#pragma unroll
      for (int e = 0; e < 4; ++e) accumulators.block[i][j][e] += __uint_as_float(value[e]);
    }
}

// Hands in the split's sums. True in every thread of the last CTA to do so for this tile, which
// then has the sums of all splits; the tile's counter is zero again.
BWGEMM_DEVICE bool sum_splits(const KernelParams& params, std::int64_t tiles, std::int64_t tile,
                              int split, Accumulators& accumulators) {
  write_partial(partial(params, tiles, tile, split), accumulators);
  __syncthreads();  // orders the partial of every thread before the arrival of thread 0
  bool last = false;
  if (threadIdx.x == 0) {
    // Releases this CTA's partial to, and acquires the others' for, the CTA that is last.
    const std::uint32_t arrived = ptx::atom_add_acq_rel_gpu(params.arrivals + tile, 1);
    last = arrived == static_cast<std::uint32_t>(params.splits) - 1;
    if (last) ptx::st_global(params.arrivals + tile, 0);  // nobody else arrives in this launch
  }
  last = __syncthreads_or(last) != 0;  // orders the arrival before the reads of every thread
  if (!last) return false;
  accumulators = {};
#pragma unroll 1
  for (int split = 0; split < params.splits; ++split)
    add_partial(partial(params, tiles, tile, split), accumulators);
  return true;
}

}  // namespace bwgemm::direct
