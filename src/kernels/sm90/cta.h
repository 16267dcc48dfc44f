// SPDX-License-Identifier: Apache-2.0
// Cta: one CTA of the cooperative kernel: its shared memory as rings and addresses, its place in
// the cluster and the part of the cluster's tile that it computes. Every role reads it, none
// changes it.
#pragma once

#include "kernels/layout.h"
#include "kernels/output.h"
#include "kernels/ring.h"

namespace bwgemm::sm90 {

inline constexpr int warps_per_warpgroup = 4;

template <KernelConfig config>
struct Cta {
  static constexpr Layout offsets = layout(config);
  static constexpr int cluster_size = config.cluster.size();
  // One lane of every consumer warp of every CTA that the slot's data may have gone to.
  static constexpr int empty_arrivals = consumer_warpgroups * warps_per_warpgroup * cluster_size;

  std::uint32_t shared;  // 1024-aligned start of dynamic shared memory
  std::uint32_t rank;    // in the cluster

  BWGEMM_DEVICE int cluster_m() const { return config.cluster.m == 2 ? rank : 0; }
  BWGEMM_DEVICE int cluster_n() const { return config.cluster.n == 2 ? rank : 0; }
  BWGEMM_DEVICE int row(const TileIndex& tile) const {
    return (tile.m * config.cluster.m + cluster_m()) * config.tile.m;
  }
  BWGEMM_DEVICE int column(const TileIndex& tile) const {
    return (tile.n * config.cluster.n + cluster_n()) * config.tile.n;
  }

  BWGEMM_DEVICE std::uint32_t a(std::uint32_t stage) const {
    return shared + stage * offsets.stage_bytes;
  }
  BWGEMM_DEVICE std::uint32_t b(std::uint32_t stage) const { return a(stage) + offsets.a_bytes; }
  BWGEMM_DEVICE Ring operands() const { return {shared + offsets.full, shared + offsets.empty}; }

  // The staging buffers of one consumer warpgroup.
  BWGEMM_DEVICE StagingBuffers staging(int warpgroup) const {
    const std::uint32_t barriers = 8 * staging_buffers * warpgroup;
    return {
        {shared + offsets.staging_ready + barriers, shared + offsets.staging_written + barriers},
        shared + offsets.staging + warpgroup * staging_buffers * offsets.staging_bytes,
        static_cast<std::uint32_t>(offsets.staging_bytes)};
  }
  BWGEMM_DEVICE OutputWindow window(int warpgroup, Dtype d_type) const {
    return {.cluster_tile_m = config.cluster.m * config.tile.m,
            .cluster_tile_n = config.cluster.n * config.tile.n,
            .row = cluster_m() * config.tile.m + warpgroup * staging_rows,
            .column = cluster_n() * config.tile.n,
            .columns = config.tile.n,
            .slice_columns = staging_columns(config.tile.n, size_bytes(d_type))};
  }
};

}  // namespace bwgemm::sm90
