// SPDX-License-Identifier: Apache-2.0
// Tiles: the persistent walk of one cluster over the output. Every role of a kernel walks the same
// sequence, so none needs to be told what the others work on.
#pragma once

#include "kernels/params.h"
#include "kernels/ptx/attributes.h"
#include "kernels/raster.h"

namespace bwgemm {

class Tiles {
 public:
  BWGEMM_DEVICE Tiles(const KernelParams& params, int cluster_size)
      : index_(blockIdx.x / cluster_size),
        step_(gridDim.x / cluster_size),
        count_(params.tiles_m * params.tiles_n * params.batch) {}

  BWGEMM_DEVICE bool valid() const { return index_ < count_; }
  BWGEMM_DEVICE void advance() { index_ += step_; }
  BWGEMM_DEVICE TileIndex at(const KernelParams& params) const {
    return tile_at(index_, params.tiles_m, params.tiles_n, params.raster_group);
  }

 private:
  std::uint32_t index_, step_, count_;
};

// The part of a cluster's tile that one output stack (a set of staging buffers) covers.
struct OutputWindow {
  int cluster_tile_m, cluster_tile_n;
  int row, column;    // of the window inside the cluster's tile
  int columns;        // width of the window
  int slice_columns;  // width of one staging buffer, divides `columns`
};

// The slices of an output stack in the order in which they pass through its staging buffers: left
// to right through each tile, tile after tile.
class OutputSlices {
 public:
  BWGEMM_DEVICE OutputSlices(const KernelParams& params, const OutputWindow& window,
                             int cluster_size)
      : window_(window), tiles_(params, cluster_size) {
    locate(params);
  }

  BWGEMM_DEVICE bool valid() const { return tiles_.valid(); }
  BWGEMM_DEVICE int row() const { return row_; }
  BWGEMM_DEVICE int column() const { return tile_column_ + offset_; }
  BWGEMM_DEVICE int batch() const { return batch_; }

  BWGEMM_DEVICE void advance(const KernelParams& params) {
    offset_ += window_.slice_columns;
    if (offset_ == window_.columns) {
      offset_ = 0;
      tiles_.advance();
      locate(params);
    }
  }

 private:
  BWGEMM_DEVICE void locate(const KernelParams& params) {
    if (!tiles_.valid()) return;
    const TileIndex tile = tiles_.at(params);
    row_ = tile.m * window_.cluster_tile_m + window_.row;
    tile_column_ = tile.n * window_.cluster_tile_n + window_.column;
    batch_ = tile.batch;
  }

  OutputWindow window_;
  Tiles tiles_;
  int row_ = 0, tile_column_ = 0, batch_ = 0;
  int offset_ = 0;
};

}  // namespace bwgemm
