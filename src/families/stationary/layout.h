// SPDX-License-Identifier: Apache-2.0
// What a config of Family::stationary may be, its threads, and where B lies in shared memory.
#pragma once

#include "core/kernel_config.h"

namespace bwgemm::stationary {

inline constexpr int warps = 4;
inline constexpr int threads = 32 * warps;
inline constexpr int warp_rows = 16;    // of a tile: one mma.sync
inline constexpr int step_depth = 32;   // of k: a unit of each of the four lanes that share a row
inline constexpr int slab_depth = 256;  // of k: what is in shared memory of B
inline constexpr int unit_elements = 8, unit_bytes = 16;

// Whether one slab is all of B. Nothing but rows of A changes then from unit to unit.
constexpr bool holds_all_of_b(const KernelConfig& config) {
  return config.load == Load::units;
}

// Steps of k of a warp's rows whose loads are in flight.
constexpr int steps_ahead(const KernelConfig& config) {
  return config.load == Load::units ? 2 : 4;
}

// Where an element of B lies in shared memory, column by column. Neighbouring columns lie in
// different halves of the banks, because 8 lanes read units of two at once. Pairs of columns are a
// unit further apart, so that few stores of one k to many columns meet in a bank.
constexpr int place_of(int column, int k) {
  constexpr int column_bytes = 2 * slab_depth + 64;
  return column * column_bytes + column / 2 * unit_bytes + 2 * k;
}

constexpr const char* invalid_because(const KernelConfig& config) {
  const Tile& tile = config.tile;
  if (tile.m != warps * warp_rows || (tile.n != 32 && tile.n != 64) || tile.k != step_depth)
    return "tile must be 64x32x32 or 64x64x32";
  if (config.ctas_per_sm < 1 || config.ctas_per_sm > 6)
    return "1 to 6 CTAs per multiprocessor, as registers and shared memory allow";
  if (config.load != Load::threads && config.load != Load::units)
    return "ordinary loads take A as it lies, or in units";
  if (config.a != Major::k || config.b != Major::any) return "A must run along k, B may either way";
  if (config.cluster.size() != 1) return "cluster must be 1x1";
  return nullptr;
}

}  // namespace bwgemm::stationary
