// SPDX-License-Identifier: Apache-2.0
// What a config of Family::warp may be, its threads, and the loads that its warps have in flight.
#pragma once

#include "core/kernel_config.h"

namespace bwgemm::warp {

inline constexpr int warps = 4;
inline constexpr int threads = 32 * warps;

// Steps of 16 of k whose loads are in flight, as the registers of a thread allow.
constexpr int steps_ahead(const KernelConfig& config) {
  return config.tile.m == 16 && config.ctas_per_sm < 4 ? 4 : 2;
}

constexpr const char* invalid_because(const KernelConfig& config) {
  const bool is_square = config.tile.m == config.tile.n && config.tile.k == 16;
  if (!is_square || (config.tile.m != 16 && config.tile.m != 32))
    return "tile must be 16x16x16 or 32x32x16";
  const bool is_small = config.tile.m == 16;
  if (is_small && (config.ctas_per_sm < 3 || config.ctas_per_sm > 4))
    return "3 or 4 CTAs per multiprocessor: 168 or 128 registers";
  if (!is_small && config.ctas_per_sm != 2) return "2 CTAs per multiprocessor: 255 registers";
  if (config.cluster.size() != 1) return "cluster must be 1x1";
  return nullptr;
}

}  // namespace bwgemm::warp
