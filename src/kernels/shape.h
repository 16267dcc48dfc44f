// SPDX-License-Identifier: Apache-2.0
// KernelShape: what the host must know of a kernel to launch it, for every family: derived from the
// config, the run-time tile_n and the output type. The numbers come from kernels/layout.h.
#pragma once

#include "core/dtype.h"
#include "core/kernel_config.h"
#include "core/tiling.h"
#include "kernels/dot/tiles.h"
#include "kernels/layout.h"
#include "kernels/sm100/layout.h"

namespace bwgemm {

struct KernelShape {
  int threads;
  int smem_bytes;
  int tile_n;  // the config's, or the one chosen at launch
  int stages;
  int cluster_tile_m, cluster_tile_n;  // output covered by one cluster: the unit of the raster
  // TMA families: dimensions of the maps; contiguous elements of one bulk load of an operand; its
  // rows where they are those of a K-major operand.
  int map_rank;
  int operand_box_columns;
  int a_box_rows, b_box_rows;
  // Box of one output store: contiguous elements of D, and lines of them.
  int d_box_rows, d_box_columns;
};

// sm100: the box of stores by TMA.
constexpr void set_output_box(const KernelConfig& config, Dtype d_type, KernelShape& shape) {
  if (config.store == Store::elements) return;
  shape.d_box_rows = sm100::staging_lines(config, shape.tile_n);
  shape.d_box_columns = config.swaps_ab ? swizzle_row_bytes / size_bytes(d_type)
                                        : sm100::staging_columns(shape.tile_n, size_bytes(d_type));
}

// The part of D that a whole cluster computes.
struct ClusterTile {
  int m = 0, n = 0;
};

constexpr ClusterTile cluster_tile(const KernelConfig& config, int tile_n) {
  const int groups = uses_tensor_memory(config) ? sm100::groups(config) : config.cluster.m;
  return {config.tile.m * groups, (config.tile.n != 0 ? config.tile.n : tile_n) * config.cluster.n};
}

// Whether the kernel moves lines of operands that TMA cannot place. Its parameters are then
// ResidueParams (kernels/residues.h).
constexpr bool has_residues(const KernelConfig& config) {
  return config.load == Load::tma_shifted;
}

// `b`: the major of B, where the config leaves that to the launch.
constexpr KernelShape kernel_shape(const KernelConfig& config, int tile_n, Dtype d_type,
                                   Major b = Major::k) {
  KernelShape shape{};
  shape.tile_n = config.tile.n != 0 ? config.tile.n : tile_n;
  const ClusterTile tile = cluster_tile(config, tile_n);
  shape.cluster_tile_m = tile.m;
  shape.cluster_tile_n = tile.n;
  shape.stages = config.stages;
  switch (config.family) {
    case Family::cooperative:  // CTAs of a cluster in m share B, each loads its part; in n they
                               // share A
      shape.threads = sm90::threads(config);
      shape.smem_bytes = sm90::layout(config).bytes;
      shape.map_rank = 3;
      shape.operand_box_columns = swizzle_row_bytes / 2;
      shape.a_box_rows = config.tile.m / config.cluster.n;
      shape.b_box_rows = config.tile.n / config.cluster.m;
      shape.d_box_columns = sm90::staging_line_bytes(config) / size_bytes(d_type);
      shape.d_box_rows = sm90::staging_lines(config);
      break;
    case Family::pair:
    case Family::single:
      shape.threads = sm100::threads(config);
      shape.stages = sm100::stages_that_fit(config, shape.tile_n, b);
      shape.smem_bytes = sm100::layout(config, shape.tile_n, b, shape.stages).bytes;
      shape.map_rank = config.choices.map_rank;
      shape.operand_box_columns = sm100::block_elements(config);
      shape.a_box_rows = sm100::row_blocks(config) * sm100::cta_rows;
      shape.b_box_rows = shape.tile_n / config.cluster.size();
      set_output_box(config, d_type, shape);
      break;
    case Family::direct: shape.threads = direct::threads; break;
    case Family::warp: shape.threads = warp::threads; break;
    case Family::dot:
      shape.threads = dot::threads;
      shape.smem_bytes = dot::layout(config).bytes;
      break;
  }
  return shape;
}

// Output tiles of whole clusters. `problem` is as the kernel sees it.
inline TileCounts cluster_tiles(const Problem& problem, const KernelConfig& config, int tile_n) {
  const ClusterTile tile = cluster_tile(config, tile_n);
  TileCounts tiles = tile_counts(problem, tile.m, tile.n);
  // Tiles of a direct kernel are D's; those of the others are the product's.
  if (config.family == Family::direct) tiles.n = ceil_div(d_columns(problem), config.tile.n);
  if (config.family == Family::dot)
    tiles.n =
        dot::tiles_along_n(config, problem.n, reinterpret_cast<std::uintptr_t>(problem.b.data),
                           problem.b.ld, problem.batch > 1 ? problem.b.batch_stride : 0);
  return tiles;
}

// Whether lines of the operand all start at 16-byte units.
inline bool starts_at_units(const Matrix& matrix) {
  constexpr int unit_bytes = 16;
  return reinterpret_cast<std::uintptr_t>(matrix.data) % unit_bytes == 0 &&
         matrix.ld % (unit_bytes / size_bytes(matrix.type)) == 0;
}

// Lines from one batch of an operand to the next, where tensor maps see all batches as one tall
// matrix: their distance is whole lines, but no whole 16-byte units. 0: batches are a dimension of
// the maps. Lines along m or n only: behind a batch's last line of k zeros are expected.
inline std::int64_t lines_between_batches(const Matrix& matrix, Major major, std::int64_t batch) {
  constexpr std::int64_t unit_elements = 8;
  const bool is_apart = batch > 1 && matrix.batch_stride % unit_elements != 0;
  if (!is_apart || major != Major::k || matrix.batch_stride % matrix.ld != 0) return 0;
  return matrix.batch_stride / matrix.ld;
}

// Whether threads load the operand, because TMA cannot address it (sm100/operands.h is the device's
// view).
inline bool is_loaded_by_threads(const KernelConfig& config, const Matrix& matrix,
                                 std::int64_t batch) {
  constexpr std::int64_t unit_elements = 8;
  if (!uses_tensor_memory(config) || !sm100::has_loaders(config)) return false;
  return !starts_at_units(matrix) || (batch > 1 && matrix.batch_stride % unit_elements != 0);
}

// Whether the kernel takes the k of a block by residue classes (kernels/residues.h) instead of one
// after the other: where lines of one k do not start where TMA can place them. `problem` is as the
// kernel sees it.
inline bool takes_k_by_class(const Problem& problem, const KernelConfig& config) {
  return has_residues(config) && ((config.a == Major::mn && !starts_at_units(problem.a)) ||
                                  (config.b == Major::mn && !starts_at_units(problem.b)));
}

// The most splits of k of a tile that can be the CTAs of one cluster; 1: none can.
constexpr int most_cluster_splits(const KernelConfig& config) {
  constexpr int largest_cluster = 16;
  if (config.family == Family::dot)
    return dot::is_of_vectors(config) ? dot::most_cluster_splits : 1;
  if (config.family != Family::cooperative || !sm90::can_reduce_in_cluster(config)) return 1;
  int splits = largest_cluster;
  while (!sm90::partials_fit(config, splits)) --splits;
  return splits;
}

// Counters with which the CTAs of one split tile find out who is the last.
constexpr int arrivals_per_tile(const KernelConfig& config) {
  return config.family == Family::cooperative ? sm90::consumer_warpgroups(config) : 1;
}

}  // namespace bwgemm
