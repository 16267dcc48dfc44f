// SPDX-License-Identifier: Apache-2.0
// Cta: one CTA: its shared memory as rings and addresses, its place in the cluster and the part of
// the cluster's tile that the CTA holds. Every role reads the Cta, none changes it. Equal offsets
// hold equal things in all CTAs of a cluster.
//
// A group is the CTAs that multiply together: a pair (cta_group 2), or one CTA. Groups of a cluster
// lie along m and share columns of B.
#pragma once

#include "device/output.h"
#include "device/params.h"
#include "device/ring.h"
#include "families/sm100/layout.h"

namespace bwgemm::sm100 {

inline constexpr int warp_threads = 32;
inline constexpr int epilogue_warps = cta_rows / warp_threads;

// What passes from one CTA to another is moved by TMA and tcgen05, and ordered by the bytes that
// barriers count, by commits and by the fences of tcgen05. So arrivals at the peer are relaxed and
// waits have CTA scope: cluster scope would order ordinary memory too, by a fence of the whole GPU
// per arrival (bench/log/2026-11-21.md).
template <KernelConfig config>
struct Cta {
  static constexpr int cluster_size = config.cluster.size();
  static constexpr int group_size = groups_of(config).ctas;
  static constexpr int group_count = groups_of(config).count;
  static constexpr int rows = cta_tiles(config).row_blocks * cta_rows;
  static constexpr std::uint16_t all_ctas = (1 << cluster_size) - 1;

  std::uint32_t shared;  // 1024-aligned start of dynamic shared memory
  std::uint32_t rank;    // in the cluster
  int tile_n;            // columns of the tile
  int d_tile_n;          // columns of D that it makes: with a gate half of them
  int b_to_y;            // where a gate's x and y are stacked: columns of B between them; else 0
  int stages;
  Layout offsets;

  BWGEMM_DEVICE Cta(const KernelParams& params, std::uint32_t shared_address,
                    std::uint32_t rank_in_cluster)
      : shared(shared_address),
        rank(rank_in_cluster),
        tile_n(params.tile_n),
        d_tile_n(tile_n),
        b_to_y(0),
        stages(params.stages),
        offsets(layout(config, tile_n, params.b_major, stages)) {
    if (!can_gate(config) || !params.fused.has(operation::gate)) return;
    d_tile_n /= 2;
    if (params.fused.columns.step == 1) b_to_y = params.fused.columns.half;
  }

  BWGEMM_DEVICE bool has_gate() const { return can_gate(config) && d_tile_n != tile_n; }
  // The first half of the tile is x, the second is y; else they are neighbours.
  BWGEMM_DEVICE bool is_stacked() const { return can_gate(config) && b_to_y != 0; }

  // The CTA that multiplies for its group is the group's first.
  BWGEMM_DEVICE std::uint32_t rank_in_group() const { return rank % group_size; }
  BWGEMM_DEVICE std::uint32_t leader() const { return rank - rank_in_group(); }
  BWGEMM_DEVICE std::uint32_t group() const { return rank / group_size; }
  BWGEMM_DEVICE std::uint16_t group_ctas_mask() const {
    return static_cast<std::uint16_t>(((1 << group_size) - 1) << leader());
  }

  // Each CTA holds its own rows of A and its share of the group's columns of B, and receives its
  // rows of all columns of the product.
  BWGEMM_DEVICE int row(const TileIndex& tile) const {
    return (tile.m * cluster_size + static_cast<int>(rank)) * rows;
  }
  BWGEMM_DEVICE int b_columns() const { return tile_n / group_size; }
  // The part of b_columns() that this CTA loads. The CTAs of the other groups load the rest.
  BWGEMM_DEVICE int loaded_b_columns() const { return b_columns() / group_count; }
  BWGEMM_DEVICE int first_loaded_b_column() const {
    return static_cast<int>(group()) * loaded_b_columns();
  }
  // The first CTA of a pair holds x of stacked halves, the second y. One CTA alone loads x, then y.
  BWGEMM_DEVICE int b_column(const TileIndex& tile) const {
    const int to_peer = is_stacked() ? b_to_y : b_columns();
    return tile.n * (is_stacked() ? d_tile_n : tile_n) +
           static_cast<int>(rank_in_group()) * to_peer + first_loaded_b_column();
  }
  BWGEMM_DEVICE int b_loads() const { return group_size == 1 && is_stacked() ? 2 : 1; }

  BWGEMM_DEVICE std::uint32_t a(std::uint32_t stage) const {
    return shared + stage * offsets.stage_bytes;
  }
  BWGEMM_DEVICE std::uint32_t b(std::uint32_t stage) const { return a(stage) + offsets.a_bytes; }

  BWGEMM_DEVICE Ring operands() const { return {shared + offsets.full, shared + offsets.empty}; }
  BWGEMM_DEVICE Ring accumulator_ring() const {
    return {shared + offsets.accumulator_full, shared + offsets.accumulator_empty};
  }
  // The empty barrier of one block of rows of an accumulator, at the leader.
  BWGEMM_DEVICE static std::uint32_t rows_empty(std::uint32_t empties, const Cursor& at,
                                                int row_block) {
    return empties + 8 * (at.stage * cta_tiles(config).row_blocks + row_block);
  }
  BWGEMM_DEVICE Barrier tensor_memory_read() const { return {shared + offsets.tensor_memory_read}; }
  BWGEMM_DEVICE std::uint32_t tensor_memory_slot() const { return shared + offsets.tensor_memory; }
  // Where the epilogue tells the output role that it has the sums of a tile: a word per buffer.
  BWGEMM_DEVICE std::uint32_t has_sums() const { return shared + offsets.staging_messages; }

  BWGEMM_DEVICE StagingBuffers staging(Dtype d_type) const {
    const int line_bytes = config.swaps_ab
                               ? swizzle_row_bytes
                               : staging_columns(d_tile_n, size_bytes(d_type)) * size_bytes(d_type);
    return {{shared + offsets.staging_ready, shared + offsets.staging_written},
            staging_buffers,
            shared + offsets.staging,
            static_cast<std::uint32_t>(offsets.staging_bytes),
            static_cast<std::uint32_t>(staging_lines(config, tile_n) * line_bytes)};
  }
  BWGEMM_DEVICE OutputWindow window(Dtype d_type) const {
    const int first_row = static_cast<int>(rank) * rows;
    constexpr bool swaps = config.swaps_ab;
    return {.inner_is_m = swaps,
            .tile_inner = swaps ? cluster_size * rows : d_tile_n,
            .tile_outer = swaps ? tile_n : cluster_size * rows,
            .inner = swaps ? first_row : 0,
            .outer = swaps ? 0 : first_row,
            .inner_extent = swaps ? rows : boxed_columns(d_tile_n),
            .outer_extent = swaps ? tile_n : rows,
            .box_inner = swaps ? swizzle_row_bytes / size_bytes(d_type)
                               : staging_columns(d_tile_n, size_bytes(d_type)),
            .box_outer = staging_lines(config, tile_n)};
  }
};

}  // namespace bwgemm::sm100
