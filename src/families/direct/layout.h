// SPDX-License-Identifier: Apache-2.0
// What a config of Family::direct may be, and its threads.
#pragma once

#include "core/kernel_config.h"

namespace bwgemm::direct {

inline constexpr int threads = 256;

constexpr const char* invalid_because(const KernelConfig& config) {
  if (config.tile != Tile{64, 64, 32}) return "tile must be 64x64x32";
  if (config.ctas_per_sm != 2) return "2 CTAs per multiprocessor: 128 registers, 48 KiB each";
  if (config.cluster.size() != 1) return "cluster must be 1x1";
  return nullptr;
}

}  // namespace bwgemm::direct
