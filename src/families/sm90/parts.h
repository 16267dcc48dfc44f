// SPDX-License-Identifier: Apache-2.0
// Parts: what a Hopper kernel has beside the main loop and the epilogue of a plain product.
#pragma once

#include "families/sm90/layout.h"

namespace bwgemm::sm90 {

// A gate makes one column of D of a column of x and one of y, which alternate in groups of 8: boxes
// are whole 128-byte lines. Where A and B are swapped, rows alternate so, and each box has half the
// rows of a wgmma, in any type.
enum class Gates { none, rows, columns };
inline constexpr int gated_box_rows = staging_rows / 2;

struct Parts {
  // The epilogue can read C, and read or write aux. Where boxes overlap, the second would find what
  // the first has stored.
  bool takes_matrices = true;
  // The epilogue loads the biases of its tile: consumers have no registers that could hold them
  // beside the sums of a main loop (tile_biases.h).
  bool loads_biases_late = false;
  Gates gates = Gates::none;
  // Consumers can store D from their registers: they hold so few values that the way through
  // staging buffers would take longer.
  bool stores_from_registers = false;
  // The output role can store D line by line, where TMA cannot. The role's warp needs registers, of
  // which places in a cluster take some.
  bool stores_lines = false;
  // Consumers can store D line by line themselves.
  bool stores_from_staging = false;
  // Shared memory in which a warp of a consumer can lay out rows of D, to store them as one piece
  // of memory: its part of the staging buffers. 0: consumers cannot store so.
  int piece_image_bytes = 0;
  // The most splits of k of a tile that can be the CTAs of a cluster; 1: none can.
  int cluster_splits = 1;

  constexpr bool can_store_in_consumers() const {
    return stores_from_registers || stores_from_staging || stores_pieces();
  }
  constexpr bool stores_pieces() const { return piece_image_bytes > 0; }
  constexpr bool can_reduce_in_cluster() const { return cluster_splits > 1; }
};

constexpr Gates gates_of(const KernelConfig& config, const StagedBoxes& boxes) {
  // Rows of a gate go part by part (fused_boxes.h). Boxes that overlap do not.
  if (config.swaps_ab) return config.a == Major::k && !boxes.overlap ? Gates::rows : Gates::none;
  const bool has_whole_boxes = config.tile.n % 128 == 0 && boxes.patch_columns == 32;
  return stores_rows_by_tma(config) && config.b == Major::k && has_whole_boxes ? Gates::columns
                                                                               : Gates::none;
}

// How many of the boxes that make up a line of the tile a consumer's staging buffers hold at once,
// an equal part of them.
constexpr int boxes_together(const KernelConfig& config, int boxes) {
  return largest_divisor(boxes, layout(config).staging_depth);
}

// The rows of D that a warp stores as one piece of memory. A tile has all of their columns, and the
// warp's part of the staging buffers room for nearly as many. Wider tiles would need more code than
// they gain.
inline constexpr int piece_rows = 16;
constexpr int piece_image_bytes_of(const KernelConfig& config) {
  constexpr int most_columns = 128, warps_of_consumer = 4, element_bytes = 2;
  if (config.store == Store::elements || config.swaps_ab || config.cluster.n > 1 ||
      config.tile.n > most_columns)
    return 0;
  const Layout at = layout(config);
  const int bytes = at.staging_depth * at.staging_bytes / warps_of_consumer;
  return bytes >= piece_rows * element_bytes * config.tile.n ? bytes : 0;
}

// The config must have no other use for a cluster, and each CTA an SM of its own, as fewer CTAs
// than SMs do otherwise. Wider tiles gain nothing by such clusters, and the code costs a tenth of a
// microsecond. The first split's ring must have room for the partial sums of the others, and TMA
// alone fill it.
constexpr int cluster_splits_of(const KernelConfig& config) {
  constexpr int most_columns = 32, largest_cluster = 16;
  if (config.cluster.size() != 1 || config.ctas_per_sm != 1 || config.ping_pong ||
      config.store == Store::elements || has_loose_rows(config) || config.tile.n > most_columns)
    return 1;
  const int partial_bytes = config.tile.m * config.tile.n * 4;
  const int room = config.stages * (a_bytes(config) + b_bytes(config)) / partial_bytes;
  return room < largest_cluster ? 1 + room : largest_cluster;
}

// Kernels of other families have none of them, but take matrices.
constexpr Parts parts_of(const KernelConfig& config) {
  Parts parts;
  if (config.family != Family::cooperative) return parts;
  const StagedBoxes boxes = staged_boxes(config);
  parts.takes_matrices = !boxes.overlap;
  parts.loads_biases_late =
      layout(config).bias_bytes > 0 && warpgroups_of(config).accumulators >= 192;
  parts.gates = gates_of(config, boxes);
  const bool is_alone = config.cluster.size() == 1;
  parts.stores_from_registers = config.swaps_ab && is_alone && config.tile.n <= 32;
  parts.stores_lines = config.store != Store::elements && is_alone && !boxes.overlap &&
                       warpgroups_of(config).registers.producer >= 32 &&
                       !parts.stores_from_registers;
  // The output role is faster for narrower tiles, and where a consumer's buffers hold less of a
  // line than a warp stores at once (bench/log/2026-11-29.md).
  constexpr int wide = 96, bytes_of_warp = 128;
  parts.stores_from_staging =
      parts.stores_lines && !config.swaps_ab && config.tile.n >= wide &&
      boxes_together(config, config.tile.n * 2 / boxes.line_bytes) * boxes.line_bytes >=
          bytes_of_warp;
  parts.piece_image_bytes = piece_image_bytes_of(config);
  parts.cluster_splits = cluster_splits_of(config);
  return parts;
}

}  // namespace bwgemm::sm90
