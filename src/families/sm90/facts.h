// SPDX-License-Identifier: Apache-2.0
// Facts of the Hopper kernels for the host: see rules/shape.h.
#pragma once

#include "core/problem.h"
#include "families/sm90/valid.h"
#include "rules/shape.h"

namespace bwgemm::sm90 {

// CTAs of a cluster in m share B, each loads its part; in n they share A.
constexpr void fill_shape(const KernelConfig& config, Dtype d_type, Major, KernelShape& shape) {
  shape.threads = warpgroups_of(config).threads;
  shape.smem_bytes = layout(config).bytes;
  shape.map_rank = 3;
  shape.operand_box_columns = row_elements(config.mma);
  shape.a_box_rows = config.tile.m / config.cluster.n;
  shape.b_box_rows = config.tile.n / config.cluster.m;
  shape.d_box_columns = staged_boxes(config).line_bytes / size_bytes(d_type);
  shape.d_box_rows = staged_boxes(config).lines;
}

constexpr ImageHeaders image_headers(const KernelConfig& config) {
  if (has_residues(config)) return {"shifted/gemm.cuh"};
  const Parts parts = parts_of(config);
  return {"gemm.cuh",
          config.ping_pong         ? "ping_pong.h"
          : has_loose_rows(config) ? "loose_rows.h"
                                   : "",
          parts.gates != Gates::none ? "gated_loads.h" : "",
          parts.stores_lines ? "line_stores.h" : "",
          parts.stores_from_registers ? "register_stores.h"
          : parts.stores_from_staging ? "staging_stores.h"
                                      : "",
          parts.stores_pieces() ? "piece_stores.h" : "",
          parts.can_reduce_in_cluster() ? "cluster_reduction.h" : ""};
}

inline constexpr FamilyFacts facts{
    .folder = "sm90",
    .invalid_because = invalid_because,
    .fill_shape = fill_shape,
    .image_headers = image_headers,
    .most_cluster_splits = [](const KernelConfig& config) { return cluster_splits_of(config); },
    .arrivals_per_tile =
        [](const KernelConfig& config) { return warpgroups_of(config).consumers; }};

// Tiles of ping-pong kernels take equally many slots of the ring.
inline SplitLimits split_limits(const Problem&, const KernelConfig& config) {
  return {.can_split = !config.ping_pong, .has_tails = true};
}

extern const FamilyFunctions functions;

}  // namespace bwgemm::sm90
