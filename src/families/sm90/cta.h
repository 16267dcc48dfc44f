// SPDX-License-Identifier: Apache-2.0
// Cta: one CTA of the Hopper kernel: its shared memory as rings and addresses, its place in
// the cluster and the part of the cluster's tile that the CTA computes. Every role reads the Cta,
// none changes it.
#pragma once

#include "device/epilogue.h"
#include "device/output.h"
#include "device/ptx/sync.h"
#include "device/ring.h"
#include "device/walk.h"
#include "families/sm90/parts.h"

namespace bwgemm::sm90 {

// The walk of every role.
using Tiles = Walk<Stride, BandMap>;

inline constexpr int warps_per_warpgroup = 4;

// Where there is no C the compiler knows beta to be zero.
template <KernelConfig config>
BWGEMM_DEVICE float beta_of(const KernelParams& params) {
  return parts_of(config).takes_matrices ? load_scalar(params.beta) : 0;
}
template <KernelConfig config>
BWGEMM_DEVICE Scaling scaling_of(const KernelParams& params) {
  return load_scaling(params, beta_of<config>(params));
}

// Sums of one consumer thread: row blocks of 64 by the columns of the tile.
template <KernelConfig config>
using Accumulators = float[warpgroups_of(config).rows / 64][config.tile.n / 2];

template <KernelConfig config>
BWGEMM_DEVICE void clear(Accumulators<config>& accumulators) {
#pragma unroll
  for (auto& row_block : accumulators)
#pragma unroll
    for (float& value : row_block) value = 0;
}

template <KernelConfig config>
struct Cta {
  static constexpr Layout offsets = layout(config);
  static constexpr StagedBoxes boxes = staged_boxes(config);
  static constexpr int cluster_size = config.cluster.size();
  // CTAs that one CTA's slots are filled by, and that its loads go to: those in its row of the
  // cluster, which share A, and in its column, which share B.
  static constexpr int sharers = config.cluster.m + config.cluster.n - 1;
  // One lane of every warp, of every such CTA, that multiplies the slot.
  static constexpr int empty_arrivals =
      (config.ping_pong ? 1 : warpgroups_of(config).consumers) * warps_per_warpgroup * sharers;

  std::uint32_t shared;  // 1024-aligned start of dynamic shared memory
  std::uint32_t rank;    // among CTAs that share operands

  BWGEMM_DEVICE int cluster_m() const { return rank % config.cluster.m; }
  BWGEMM_DEVICE int cluster_n() const { return rank / config.cluster.m; }
  BWGEMM_DEVICE int row(const TileIndex& tile) const {
    return (tile.m * config.cluster.m + cluster_m()) * config.tile.m;
  }
  BWGEMM_DEVICE int column(const TileIndex& tile) const {
    return (tile.n * config.cluster.n + cluster_n()) * config.tile.n;
  }

  // Whether the walk stands at a split of k. Ping-pong kernels have none: all their tiles must take
  // equally many slots.
  BWGEMM_DEVICE static bool is_split(const KernelParams& params, const Tiles& tiles) {
    return !config.ping_pong && tiles.is_split(params);
  }
  // What a consumer warpgroup works on: tiles, and its first row of each.
  BWGEMM_DEVICE Tiles tiles(const KernelParams& params, int warpgroup) const {
    const Tiles all = all_tiles(params);
    return config.ping_pong ? all.every_second(warpgroup) : all;
  }
  BWGEMM_DEVICE Tiles all_tiles(const KernelParams& params) const {
    Tiles all(params, *this);
    if (has_cluster_of_splits(params)) all.go_to_split(ptx::clusterid_x(), ptx::cluster_ctarank());
    return all;
  }
  // Whether this launch's clusters are the splits of a tile.
  BWGEMM_DEVICE static bool has_cluster_of_splits(const KernelParams& params) {
    return parts_of(config).can_reduce_in_cluster() && params.reduces_in_cluster;
  }
  // Whether this launch's consumers leave D to the output role.
  BWGEMM_DEVICE static bool has_output_role(const KernelParams& params) {
    return !parts_of(config).can_store_in_consumers() || params.stores == Stores::by_map ||
           params.stores == Stores::by_lines;
  }
  BWGEMM_DEVICE static constexpr int first_row(int warpgroup) {
    return config.ping_pong ? 0 : warpgroup * warpgroups_of(config).rows;
  }

  BWGEMM_DEVICE std::uint32_t a(std::uint32_t stage) const {
    return shared + stage * offsets.stage_bytes;
  }
  BWGEMM_DEVICE std::uint32_t b(std::uint32_t stage) const { return a(stage) + offsets.a_bytes; }
  BWGEMM_DEVICE Ring operands() const { return {shared + offsets.full, shared + offsets.empty}; }

  // The staging buffers of one consumer warpgroup.
  BWGEMM_DEVICE StagingBuffers staging(int warpgroup) const {
    constexpr int count = offsets.staging_depth;
    const std::uint32_t barriers = 8 * count * warpgroup;
    return {
        {shared + offsets.staging_ready + barriers, shared + offsets.staging_written + barriers},
        count,
        shared + offsets.staging + warpgroup * count * offsets.staging_bytes,
        static_cast<std::uint32_t>(offsets.staging_bytes),
        static_cast<std::uint32_t>(offsets.staging_bytes)};
  }
  // All barriers of all staging buffers.
  static constexpr int all_staging_buffers =
      warpgroups_of(config).consumers * offsets.staging_depth;
  BWGEMM_DEVICE Ring all_staging() const {
    return {shared + offsets.staging_ready, shared + offsets.staging_written};
  }
  // Where a warpgroup tells its output role that it has the sums of a tile: a word for each buffer.
  BWGEMM_DEVICE std::uint32_t has_sums(int warpgroup) const {
    return shared + offsets.staging_messages + 4 * warpgroup * offsets.staging_depth;
  }

  // A warpgroup's biases (tile_biases.h).
  BWGEMM_DEVICE std::uint32_t biases(int warpgroup) const {
    return shared + offsets.biases + warpgroup * offsets.bias_bytes;
  }

  // With a gate two columns of the tile, or two rows where A and B are swapped, are one of D.
  BWGEMM_DEVICE OutputWindow window(int warpgroup, Dtype d_type, bool has_gate) const {
    const int per_line = has_gate ? 2 : 1;
    const int rows = cluster_m() * config.tile.m + first_row(warpgroup);
    const int columns = cluster_n() * config.tile.n;
    const int box_inner = boxes.line_bytes / size_bytes(d_type);
    constexpr int tile_m = config.cluster.m * config.tile.m;
    constexpr int tile_n = config.cluster.n * config.tile.n;
    constexpr bool swaps = config.swaps_ab;
    return {.inner_is_m = swaps,
            .tile_inner = (swaps ? tile_m : tile_n) / per_line,
            .tile_outer = swaps ? tile_n : tile_m,
            .inner = (swaps ? rows : columns) / per_line,
            .outer = swaps ? columns : rows,
            .inner_extent = (swaps ? warpgroups_of(config).rows : config.tile.n) / per_line,
            .outer_extent = swaps ? config.tile.n : warpgroups_of(config).rows,
            .box_inner = swaps && has_gate ? gated_box_rows : box_inner,
            .box_outer = boxes.lines};
  }
};

}  // namespace bwgemm::sm90
