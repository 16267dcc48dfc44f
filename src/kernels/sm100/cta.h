// SPDX-License-Identifier: Apache-2.0
// Cta: one CTA of the pair: its shared memory as rings and addresses, and the part of the pair's
// tile that it holds. Every role reads it, none changes it. Equal offsets hold equal things in both
// CTAs.
#pragma once

#include "kernels/layout.h"
#include "kernels/output.h"
#include "kernels/params.h"
#include "kernels/ring.h"
#include "kernels/tiles.h"

namespace bwgemm::sm100 {

inline constexpr int pair_size = 2;
inline constexpr std::uint32_t leader = 0;  // rank of the CTA that multiplies for both
inline constexpr std::uint16_t both_ctas = 0b11;

inline constexpr int warp_threads = 32;
inline constexpr int epilogue_warps = cta_rows / warp_threads;

// Tensor memory: each CTA's is 128 lanes, its rows of the tile, by 512 columns of f32, all of them
// taken because shared memory admits no second CTA.
inline constexpr int tensor_memory_columns = 512;
inline constexpr int accumulator_columns = tensor_memory_columns / accumulators;

// What passes from one CTA to the other is moved by TMA and tcgen05, and ordered by the bytes that
// barriers count, by commits and by the fences of tcgen05. So arrivals at the peer are relaxed and
// waits have CTA scope: cluster scope would order ordinary memory too, by a fence of the whole GPU
// per arrival (bench/NOTES.md, 2026-11-21).
struct Cta {
  std::uint32_t shared;  // 1024-aligned start of dynamic shared memory
  std::uint32_t rank;    // in the pair
  int tile_n;            // columns of the pair's tile
  int stages;
  Layout offsets;

  BWGEMM_DEVICE Cta(const KernelParams& params, std::uint32_t shared_address,
                    std::uint32_t rank_in_pair)
      : shared(shared_address),
        rank(rank_in_pair),
        tile_n(params.tile_n),
        stages(params.stages),
        offsets(layout(tile_n, stages)) {}

  // Each CTA loads its own rows of A and half of the columns of B, and receives its rows of all
  // columns of the product.
  BWGEMM_DEVICE int row(const TileIndex& tile) const { return (tile.m * 2 + rank) * cta_rows; }
  BWGEMM_DEVICE int b_columns() const { return tile_n / 2; }
  BWGEMM_DEVICE int b_column(const TileIndex& tile) const {
    return (tile.n * 2 + rank) * b_columns();
  }

  BWGEMM_DEVICE std::uint32_t a(std::uint32_t stage) const {
    return shared + stage * offsets.stage_bytes;
  }
  BWGEMM_DEVICE std::uint32_t b(std::uint32_t stage) const { return a(stage) + offsets.a_bytes; }

  BWGEMM_DEVICE Ring operands() const { return {shared + offsets.full, shared + offsets.empty}; }
  BWGEMM_DEVICE Ring accumulator_ring() const {
    return {shared + offsets.accumulator_full, shared + offsets.accumulator_empty};
  }
  BWGEMM_DEVICE std::uint32_t tensor_memory_slot() const { return shared + offsets.tensor_memory; }

  BWGEMM_DEVICE StagingBuffers staging(Dtype d_type) const {
    const int row_bytes = staging_columns(tile_n, size_bytes(d_type)) * size_bytes(d_type);
    return {{shared + offsets.staging_ready, shared + offsets.staging_written},
            staging_buffers,
            shared + offsets.staging,
            static_cast<std::uint32_t>(offsets.staging_bytes),
            static_cast<std::uint32_t>(staging_rows * row_bytes)};
  }
  BWGEMM_DEVICE OutputWindow window(Dtype d_type) const {
    return {.inner_is_m = false,
            .tile_inner = tile_n,
            .tile_outer = pair_size * cta_rows,
            .inner = 0,
            .outer = static_cast<int>(rank) * cta_rows,
            .inner_extent = tile_n,
            .outer_extent = cta_rows,
            .slice_inner = staging_columns(tile_n, size_bytes(d_type)),
            .slice_outer = staging_rows};
  }
};

}  // namespace bwgemm::sm100
