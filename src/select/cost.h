// SPDX-License-Identifier: Apache-2.0
// Cost: the predicted time of a kernel on a problem, in microseconds. A small model whose
// constants are a table per architecture, or stand where the measured curve they describe is;
// whether the kernel can serve at all is judged by rejects.h.
//
//   time    = launch + cluster + the longer of compute and memory + what it does not hide of the
//             shorter + merge
//   cluster = a price of kernels whose clusters have more than one CTA
//   memory  = bytes of A, B, D (and C), each moved once, at the rate of device memory
//   compute = waves * (k blocks of a slice * block + fill) + epilogues that nothing hides; waves of
//             tiles * slices, the last of which may be smaller and has more power for each SM. Of
//             tiles in turn a wave takes at least a fixed share of products and epilogue together
//   merge   = where k is split: handing over, all partial sums through L2, and those of a tile,
//             slice by slice, which the last CTA reads back, after all operands have arrived
//   block   = pace of the tile's shape (kernels/rows.h) * max(time of the tensor cores, delivery,
//             active SMs * energy of products and deliveries / power, a floor); CTAs that share an
//             SM take turns
//   delivery = max(one SM: bytes of the operands; the chip: bytes leaving L2, shared ones of a
//             cluster once), where bytes of rows that straddle two lines of L2 count more than
//             once, in whole sectors less so; kernels that move lines of operands take a measured
//             time instead
//
// Direct kernels take a step of k at a time, at a rate that depends on alignment alone; dot kernels
// stream their operands at the rate of the memory or of the loads that their CTAs have in flight.
// Both have launch, waves, epilogue or output, and merge of their own kind, as a part of compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"

namespace bwgemm {

// Numbers of slices of k worth predicting for; without any k is not split.
struct Splits {
  static constexpr int capacity = 7;
  int number[capacity + 1] = {1};
  int count = 1;
  void add(int splits) { number[count++] = splits; }
};

// All take the problem as the kernel sees it (core/tiling.h). facts.sm_count is what the call may
// occupy. tile_n: of the config, or the run-time value.
double predicted_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                    int tile_n, int splits);

// Clusters that compute at the same time.
std::int64_t resident_clusters(const DeviceFacts& facts, const KernelConfig& config);

// Tile rows that are walked together, see kernels/raster.h.
int raster_group(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                 int tile_n);

// How many of the tiles are cut into slices where k is split: all if the device has room for them,
// else those of the last wave, which would leave it partly idle. 0: the kernel cannot.
std::int64_t sliced_tiles(const Problem& problem, const DeviceFacts& facts,
                          const KernelConfig& config, int tile_n, int splits);

// 1, and some more for which sliced tiles * splits do not exceed the device, no slice is empty or
// very short, and the partial sums fit `workspace_bytes`. With `forced` > 0 the number nearest to
// it. tile_n: the run-time value, where the config leaves it to the launch.
Splits splits_to_try(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                     std::size_t workspace_bytes, int forced, int tile_n = 0);

}  // namespace bwgemm
