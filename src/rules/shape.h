// SPDX-License-Identifier: Apache-2.0
// KernelShape: what the host must know of a kernel to launch it, computed by its family from the
// config, the run-time tile_n and the types. FamilyFacts: what each family computes from a config
// alone.
#pragma once

#include <array>
#include <string_view>

#include "core/element.h"
#include "core/kernel_config.h"

namespace bwgemm {

struct KernelShape {
  int threads;
  int smem_bytes;
  int tile_n;  // the config's, or the one chosen at launch
  int stages;
  int cluster_tile_m, cluster_tile_n;  // output covered by one cluster: the unit of the raster
  // TMA families: dimensions of the maps; contiguous elements of one bulk load of a K-major
  // operand, and its rows. What sm90 loads of others says OperandBox (families/sm90/layout.h).
  int map_rank;
  int operand_box_columns;
  int a_box_rows, b_box_rows;
  // Box of one output store: contiguous elements of D, and lines of them.
  int d_box_rows, d_box_columns;
};

// How a family lets k be split.
struct SplitLimits {
  bool can_split = true;
  bool has_tails = false;  // the last tiles alone can be split
  int least_steps = 4;     // of tile.k, in each split
};

// Headers of a family's folder that the image of a kernel includes; those without a name are none.
using ImageHeaders = std::array<std::string_view, 7>;

struct FamilyFacts {
  std::string_view folder;  // of src/families, and the namespace
  // Null, or the rule that the config breaks.
  const char* (*invalid_because)(const KernelConfig&);
  // Fills what the family decides: threads, shared memory, boxes, and stages where they are chosen
  // at launch. `b`: the major of B, where the config leaves that to the launch.
  void (*fill_shape)(const KernelConfig&, Dtype d_type, Major b, KernelShape&);

  // What most families leave as it is.

  // The kernel, and parts that only some kernels have: what gemm.cuh declares and does not include.
  ImageHeaders (*image_headers)(const KernelConfig&) = [](const KernelConfig&) {
    return ImageHeaders{"gemm.cuh"};
  };

  // The most splits of k of a tile that can be the CTAs of one cluster; 1: none can.
  int (*most_cluster_splits)(const KernelConfig&) = [](const KernelConfig&) { return 1; };
  // Counters with which the CTAs of one split tile find out who is the last.
  int (*arrivals_per_tile)(const KernelConfig&) = [](const KernelConfig&) { return 1; };
  // Null, or why no tile is so wide, of kernels that leave the width of a tile to the launch.
  const char* (*tile_n_invalid_because)(const KernelConfig&, int tile_n, Major b) =
      [](const KernelConfig&, int, Major) -> const char* { return nullptr; };
  // Whether the config is there to show a technique, not to be chosen.
  bool (*shows_technique)(const KernelConfig&) = [](const KernelConfig&) { return false; };
  bool has_rasters = false;  // the launch chooses the order of tiles
};

// Widths of tile that a launch may choose from.
inline constexpr int tile_n_step = 16, widest_tile = 256;

// What each family answers at run time: rules/family.h.
struct FamilyFunctions;

}  // namespace bwgemm
