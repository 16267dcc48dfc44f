// SPDX-License-Identifier: Apache-2.0
#include "gpu/row_measures.h"

#include <algorithm>

#include "families/facts.h"
#include "gpu/row_problems.h"
#include "rules/family.h"

namespace bwgemm::test {

Measures measures(const KernelConfig& row, std::int64_t runtime_n) {
  const int tile_n = row.tile.n != 0 ? row.tile.n : static_cast<int>(runtime_n);
  const KernelShape shape = kernel_shape(row, tile_n, inputs(row.mma).front());
  const std::int64_t k = row.tile.k;
  const bool stages_a = row.family == Family::dot && !dot::is_of_vectors(row);
  const std::int64_t staged = stages_a ? dot::activation_positions(row, row.tile.m)
                                       : k * (shape.stages > 0 ? shape.stages : 4);
  return {row.tile.m,
          tile_n,
          k,
          std::max(shape.cluster_tile_m, row.tile.m),
          std::max(shape.cluster_tile_n, tile_n),
          staged};
}

std::int64_t widest(const KernelConfig& row) {
  return row.tile.n != 0 ? row.tile.n : sm100::cta_tiles(row).most_columns;
}

std::vector<std::int64_t> runtime_tiles(const KernelConfig& row) {
  if (row.tile.n != 0) return {row.tile.n};
  return row.swaps_ab ? std::vector<std::int64_t>{16, 48} : std::vector<std::int64_t>{32, 64};
}

int forced_tile(const KernelConfig& row, std::int64_t tile_n, Major b) {
  const int wanted = static_cast<int>(tile_n);
  if (row.tile.n != 0) return 0;
  return sm100::tile_n_invalid_because(row, wanted, b) == nullptr ? wanted : 0;
}

double width_over_height(const KernelConfig& row) {
  const Measures of = measures(row, widest(row));
  return static_cast<double>(of.cluster_n) / static_cast<double>(of.cluster_m);
}

int most_clusters(const KernelConfig& row) {
  const DeviceFacts& facts = row.arch == Arch::sm90 ? nominal_h200 : nominal_b200;
  return static_cast<int>(resident_clusters(facts, row));
}

int wave_of_two_rows(const KernelConfig& row, std::int64_t tile_n) {
  const Measures of = measures(row, tile_n);
  return static_cast<int>(of.cluster_m * 9 / 4 / of.cluster_n);
}

}  // namespace bwgemm::test
