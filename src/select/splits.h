// SPDX-License-Identifier: Apache-2.0
// Splits: into how many splits a kernel's k can be cut (split-K), for a problem and a device. All
// take the problem as the kernel sees it (core/tiling.h). facts.sm_count is what the call may
// occupy. tile_n: of the config, or the run-time value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "rules/splits.h"

namespace bwgemm {

// Numbers of splits of k worth predicting for; without any k is not split.
struct Splits {
  static constexpr int capacity = 8;
  int number[capacity] = {1};
  int count = 1;
  void add(int splits) {
    if (std::find(number, number + count, splits) == number + count) number[count++] = splits;
  }
};

// How many of the tiles are cut into so many splits: see rules/splits.h.
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
