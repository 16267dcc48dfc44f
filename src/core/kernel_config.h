// SPDX-License-Identifier: Apache-2.0
// KernelConfig: everything that distinguishes one compiled kernel from another. A variant of
// families/variants.h is one of these; the kernel's name, shared-memory layout, threads and
// tensor-map boxes are computed from it and stand nowhere else.
#pragma once

#include <cstdint>

#include "core/element.h"

namespace bwgemm {

enum class Arch : std::uint8_t { sm90, sm100 };

// The kernel source that a variant instantiates.
enum class Family : std::uint8_t {
  cooperative,  // sm90: TMA ring, one to three consumer warpgroups share one output tile
  pair,         // sm100: TMA ring, two CTAs share one tcgen05 tile
  single,       // sm100: the same with one CTA
  direct,       // both: ordinary loads of any alignment, mma.sync, optional split along k
  dot,          // both: the same for at most tile.m rows (or columns) of D; B streams past L1
  warp,         // both: the same loads and mma.sync, a tile for each warp, no shared memory
  stationary,   // both: a slab of B stays in shared memory, and rows of A stream by it
};

// Which index of an operand is contiguous in memory; any: chosen at launch.
enum class Major : std::uint8_t { k, mn, any };

// How A and B reach the kernel.
enum class Load : std::uint8_t {
  tma,          // A and B lie as tensor maps demand
  tma_shifted,  // sm90: lines may start at any element; threads shift what TMA loaded in units
  loose_a,      // sm90: rows of A may start at any element; consumers copy and shift them
  threads,      // ordinary loads take operands as they lie
  units,        // ordinary loads of 16 bytes, and A lies in such units
};

// How D leaves the kernel.
enum class Store : std::uint8_t {
  tma,       // by TMA; on sm90 line by line where TMA cannot and C is not read
             // (families/sm90/functions.h)
  elements,  // by ordinary stores: D may start and step at any element
};

struct Tile {
  int m, n, k;  // n == 0: chosen at launch
  bool operator==(const Tile&) const = default;
};

struct Cluster {
  int m, n;  // CTAs along m and n
  bool operator==(const Cluster&) const = default;
  constexpr int size() const { return m * n; }
};

// Who gives a cluster its tiles.
enum class Schedule : std::uint8_t {
  persistent,  // a fixed stride over all tiles; the only one that occupies no more SMs than told
  launch_control,  // a cluster of its own for each tile; running ones take over those not begun
  one_tile,        // a cluster of its own for each tile
};

// Techniques of the sm100 families, each with its alternative. Rows that differ from the default
// exist to show and to compare them.
struct Sm100Choices {
  int swizzle_bytes = 128;  // of operand rows in shared memory: 128, 64, 32, or 0 for none
  int map_rank = 3;         // dimensions of tensor maps; 2: no batches
  Schedule schedule = Schedule::persistent;
  int accumulators = 2;  // tiles in tensor memory: 2 overlap an epilogue with the next main loop
  bool prefetches_maps = true;
  bool operator==(const Sm100Choices&) const = default;
};

struct KernelConfig {
  Arch arch;
  Family family;
  MmaKind mma;
  Major a, b;
  Tile tile;        // output tile of one CTA, or of the CTA pair for Family::pair
  Cluster cluster;  // a pair lies along m
  int stages;       // depth of the operand ring; 0: as many as fit, computed at launch
  Load load = Load::tma;
  Store store = Store::tma;
  bool swaps_ab = false;  // the problem's m is the kernel's n, so that a problem of few rows fills
                          // a tile; D is then in column order
  int ctas_per_sm = 1;
  Sm100Choices choices = {};
  bool ping_pong = false;  // sm90: each consumer warpgroup has tiles of its own, so that one
                           // multiplies while the other stores
  bool operator==(const KernelConfig&) const = default;
};

// The sm100 families: alike but for the CTAs that multiply together.
constexpr bool uses_tensor_memory(const KernelConfig& config) {
  return config.family == Family::pair || config.family == Family::single;
}

// The families without tensor maps: ordinary loads take operands as they lie.
constexpr bool is_unmapped(const KernelConfig& config) {
  return config.family == Family::direct || config.family == Family::dot ||
         config.family == Family::warp || config.family == Family::stationary;
}

// Whether the kernel moves lines of operands that TMA cannot place. Its parameters are then
// ResidueParams (device/residues.h).
constexpr bool has_residues(const KernelConfig& config) {
  return config.load == Load::tma_shifted;
}

// Whether consumers copy rows of A, which may start at any element.
constexpr bool has_loose_rows(const KernelConfig& config) {
  return config.load == Load::loose_a;
}

// Whether rows of D are rows of the tile and leave by TMA.
constexpr bool stores_rows_by_tma(const KernelConfig& config) {
  return config.store == Store::tma && !config.swaps_ab;
}

}  // namespace bwgemm
