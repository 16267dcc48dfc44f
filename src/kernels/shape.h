// SPDX-License-Identifier: Apache-2.0
// KernelShape: what the host must know of a kernel to launch it, for every family: derived from the
// config, the run-time tile_n and the output type. The numbers come from kernels/layout.h.
#pragma once

#include "core/dtype.h"
#include "core/kernel_config.h"
#include "kernels/layout.h"

namespace bwgemm {

struct KernelShape {
  int threads;
  int smem_bytes;
  int tile_n;  // the config's, or the one chosen at launch
  int stages;
  int cluster_tile_m, cluster_tile_n;  // output covered by one cluster: the unit of the raster
  // TMA families: rows of one bulk load of a K-major operand, and the box of one output store.
  int a_box_rows, b_box_rows;
  int d_box_rows, d_box_columns;
};

constexpr KernelShape kernel_shape(const KernelConfig& config, int tile_n, Dtype d_type) {
  KernelShape shape{};
  shape.tile_n = config.tile.n != 0 ? config.tile.n : tile_n;
  shape.cluster_tile_m = config.tile.m * config.cluster.m;
  shape.cluster_tile_n = shape.tile_n * config.cluster.n;
  shape.stages = config.stages;
  shape.d_box_columns = staging_columns(shape.tile_n, size_bytes(d_type));
  switch (config.family) {
    case Family::cooperative:  // CTAs of a cluster in m share B, each loads its part; in n they
                               // share A
      shape.threads = sm90::threads;
      shape.smem_bytes = sm90::layout(config).bytes;
      shape.a_box_rows = config.tile.m / config.cluster.n;
      shape.b_box_rows = config.tile.n / config.cluster.m;
      shape.d_box_rows = sm90::staging_rows;
      break;
    case Family::pair:
      shape.threads = sm100::threads;
      shape.stages = sm100::stages_that_fit(shape.tile_n);
      shape.smem_bytes = sm100::layout(shape.tile_n, shape.stages).bytes;
      shape.cluster_tile_m = config.tile.m;
      shape.a_box_rows = sm100::cta_rows;
      shape.b_box_rows = shape.tile_n / 2;
      shape.d_box_rows = sm100::staging_rows;
      break;
    case Family::direct: shape.threads = direct::threads; break;
  }
  return shape;
}

}  // namespace bwgemm
