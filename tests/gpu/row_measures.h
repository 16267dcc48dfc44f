// SPDX-License-Identifier: Apache-2.0
// The sizes of a row of the kernel table that its problems are made from.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernel_config.h"

namespace bwgemm::test {

inline constexpr int unit = 8;  // elements that always fill 16 bytes

// A row's own measures, of the problem as the kernel sees it.
struct Measures {
  std::int64_t m, n, k;  // tile of one CTA
  std::int64_t cluster_m, cluster_n;
  std::int64_t ring;  // k of all stages, or of what is staged at a time
};
Measures measures(const KernelConfig& row, std::int64_t runtime_n);

// The widest tile, for a row that leaves that to the launch.
std::int64_t widest(const KernelConfig& row);

// Columns of a cluster's tile over its rows.
double width_over_height(const KernelConfig& row);

// How many clusters of the row's kernel are at work at one time, on a card of its architecture.
int most_clusters(const KernelConfig& row);

// The number of clusters for which select() makes bands two rows high.
int wave_of_two_rows(const KernelConfig& row, std::int64_t tile_n);

// Tiles whose output is in half and in whole rows of a staging buffer; or one step of columns and
// several. Of a row that leaves nothing to the launch: its own.
std::vector<std::int64_t> runtime_tiles(const KernelConfig& row);

// The tile that the launch is to choose, if it is legal for the direction of B; else 0.
int forced_tile(const KernelConfig& row, std::int64_t tile_n, Major b);

}  // namespace bwgemm::test
