// SPDX-License-Identifier: Apache-2.0
// Unit: what a team computes at a time: a tile of columns of D over one split of k. A team is the
// CTA, or each of its warps.
#pragma once

#include "device/epilogue.h"
#include "device/ptx/mma.h"
#include "families/dot/layout.h"

namespace bwgemm::dot {

struct Unit {
  std::uint32_t tile, batch;
  int split;
};

BWGEMM_DEVICE std::uint32_t tiles_of_all_batches(const KernelParams& params) {
  return static_cast<std::uint32_t>(params.tiles_n) * static_cast<std::uint32_t>(params.batch);
}

// Tiles of one split follow each other, so that a CTA rarely meets new activations.
BWGEMM_DEVICE Unit unit_at(const KernelParams& params, std::uint32_t index, int splits) {
  const auto tiles = static_cast<std::uint32_t>(params.tiles_n);
  if (index < tiles) return {index, 0, 0};  // saves the divisions before the first load
  const std::uint32_t split = index / tiles;
  const std::uint32_t batch = split / static_cast<std::uint32_t>(splits);
  return {index - split * tiles, batch,
          static_cast<int>(split - batch * static_cast<std::uint32_t>(splits))};
}

template <KernelConfig config>
struct Team {
  static constexpr int warps = teams_of(config).warps, threads = 32 * warps;
  static constexpr bool is_cta = warps == dot::warps;

  static BWGEMM_DEVICE int number() { return is_cta ? 0 : threadIdx.x / threads; }  // in its CTA
  static BWGEMM_DEVICE int thread() { return is_cta ? threadIdx.x : threadIdx.x % threads; }
  // Orders accesses of shared memory before it, by all threads, and those behind it.
  static BWGEMM_DEVICE void synchronize() {
    if constexpr (is_cta)
      __syncthreads();
    else
      __syncwarp();
  }
  // The same; true in all threads if `condition` is in one.
  static BWGEMM_DEVICE bool any(bool condition) {
    if constexpr (is_cta) return __syncthreads_or(condition) != 0;
    const bool is_any = __any_sync(~0u, condition) != 0;
    __syncwarp();  // a vote orders no memory
    return is_any;
  }
};

struct Lane {
  // In its team; the mma row (or column) g = lane / 4 and the k position t = lane % 4.
  int warp, group, quad;

  BWGEMM_DEVICE explicit Lane(int thread)
      : warp(thread / 32), group(thread % 32 / 4), quad(thread % 4) {}
};

// The part of two packed elements, the first being number `element`, that lies in [first, end).
BWGEMM_DEVICE std::uint32_t inside(int element, int first, int end) {
  const std::uint32_t low = element >= first && element < end ? 0xffffu : 0;
  const std::uint32_t high = element + 1 >= first && element + 1 < end ? 0xffff0000u : 0;
  return low | high;
}

// Four units of a product: 16 weights rows times 8 activation rows, 16 of k.
BWGEMM_DEVICE void multiply(Dtype type, float (&partials)[4], const std::uint32_t (&weights)[4],
                            std::uint32_t activations0, std::uint32_t activations1) {
  const bool is_bf16 = type == Dtype::bf16;
  ptx::mma_m16n8k16_bf16_if(is_bf16, partials, weights, activations0, activations1);
  ptx::mma_m16n8k16_f16_if(!is_bf16, partials, weights, activations0, activations1);
}

}  // namespace bwgemm::dot
