// SPDX-License-Identifier: Apache-2.0
// Splits: how a kernel's k can be cut into splits (split-K), and where their sums can be added. All
// take the problem as the kernel sees it (core/tiling.h). facts.sm_count is what the call may
// occupy. tile_n: of the config, or the run-time value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"

namespace bwgemm {

// Where the sums of a tile's splits are added.
enum class SplitReduction : std::uint8_t {
  workspace,  // by the last to have left its own in global memory
  cluster,    // by the first CTA of the tile's cluster, to which the others send theirs
};

constexpr std::string_view name(SplitReduction reduction) {
  return reduction == SplitReduction::workspace ? "memory" : "cluster";
}

// Numbers of splits of k worth predicting for; without any k is not split.
struct Splits {
  static constexpr int capacity = 8;
  int number[capacity] = {1};
  int count = 1;
  void add(int splits) {
    if (std::find(number, number + count, splits) == number + count) number[count++] = splits;
  }
};

// Clusters that compute at the same time.
std::int64_t resident_clusters(const DeviceFacts& facts, const KernelConfig& config);

// How many of the tiles are cut into splits where k is split: all if the device has room for them,
// else those of the last wave, which would leave it partly idle. 0: the kernel cannot.
std::int64_t split_tiles(const Problem& problem, const DeviceFacts& facts,
                         const KernelConfig& config, int tile_n, int splits);

// 1, and some more for which split tiles * splits do not exceed the device, no split is empty or
// very short, and the partial sums fit `workspace_bytes`. With `forced` > 0 the number nearest to
// it. tile_n: the run-time value, where the config leaves it to the launch.
Splits splits_to_try(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                     std::size_t workspace_bytes, int forced, int tile_n = 0);

// Whether the splits of a tile can be the CTAs of a cluster, all of which run at the same time.
// They need no workspace; what splits_to_try() asks for is for a device on which they do not all
// fit.
bool can_reduce_in_cluster(const Problem& problem, const DeviceFacts& facts,
                           const KernelConfig& config, int tile_n, int splits);

}  // namespace bwgemm
