// SPDX-License-Identifier: Apache-2.0
// Cost: the predicted time of a kernel on a problem, in microseconds. A small model whose every
// constant is one line of a table per architecture; whether the kernel can serve at all is judged
// by rejects.h.
//
//   time    = launch + max(compute, memory) + overlap_loss * min(compute, memory)
//   memory  = bytes of A, B, D (and C), each moved once, at the rate of device memory
//   compute = waves * (k blocks * block + fill) + epilogues that nothing hides; the last wave may
//             be smaller, and has more power for each SM
//   block   = max(time of the tensor cores, bytes of the operands / delivery to an SM or the chip,
//             active SMs * energy of products and deliveries / power)
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

// 1, and some more for which tiles * splits do not exceed the device, no slice is empty or very
// short, and the partial sums fit `workspace_bytes`. With `forced` > 0 the number nearest to it.
Splits splits_to_try(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                     std::size_t workspace_bytes, int forced);

}  // namespace bwgemm
