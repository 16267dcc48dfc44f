// SPDX-License-Identifier: Apache-2.0
// KernelConfig: everything that distinguishes one compiled kernel from another. A variant of
// families/variants.h is one of these; the kernel's name, shared-memory layout, threads and
// tensor-map boxes are computed from it and stand nowhere else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

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
};

// Which index of an operand is contiguous in memory; any: chosen at launch.
enum class Major : std::uint8_t { k, mn, any };

// How A and B reach the kernel.
enum class Load : std::uint8_t {
  tma,          // A and B lie as tensor maps demand
  tma_shifted,  // sm90: lines may start at any element; threads shift what TMA loaded in units
  threads,      // ordinary loads take operands as they lie
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
         config.family == Family::warp;
}

// Whether the kernel moves lines of operands that TMA cannot place. Its parameters are then
// ResidueParams (device/residues.h).
constexpr bool has_residues(const KernelConfig& config) {
  return config.load == Load::tma_shifted;
}

// Whether rows of D are rows of the tile and leave by TMA.
constexpr bool stores_rows_by_tma(const KernelConfig& config) {
  return config.store == Store::tma && !config.swaps_ab;
}

// Text of fixed capacity that can be built in constant expressions.
class KernelName {
 public:
  constexpr std::string_view view() const { return {text_.data(), size_}; }
  constexpr const char* c_str() const { return text_.data(); }

  constexpr KernelName& add(std::string_view text) {
    for (const char c : text) text_[size_++] = c;
    text_[size_] = '\0';
    return *this;
  }
  constexpr KernelName& add(int number) {
    if (number >= 10) add(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    return add(std::string_view(&digit, 1));
  }

 private:
  std::array<char, 96> text_{};
  std::size_t size_ = 0;
};

constexpr std::string_view name(Arch arch) {
  return arch == Arch::sm90 ? "sm90" : "sm100";
}

constexpr std::string_view name(Family family) {
  switch (family) {
    case Family::cooperative: return "coop";
    case Family::pair: return "pair";
    case Family::single: return "single";
    case Family::direct: return "direct";
    case Family::dot: return "dot";
    case Family::warp: return "warp";
  }
  return "?";
}

// What differs from the default: swz<bytes>, 2d, clc (launch control), once (one tile), acc1, nopf.
constexpr void add_choices(KernelName& text, const Sm100Choices& choices) {
  constexpr Sm100Choices usual{};
  if (choices.swizzle_bytes != usual.swizzle_bytes) text.add("_swz").add(choices.swizzle_bytes);
  if (choices.map_rank != usual.map_rank) text.add("_").add(choices.map_rank).add("d");
  if (choices.schedule == Schedule::launch_control) text.add("_clc");
  if (choices.schedule == Schedule::one_tile) text.add("_once");
  if (choices.accumulators != usual.accumulators) text.add("_acc").add(choices.accumulators);
  if (choices.prefetches_maps != usual.prefetches_maps) text.add("_nopf");
}

// bwgemm_<arch>_<mma>[_<majors>]_<m>x<n>x<k>[_<cluster>][_s<stages>][_<output>][_o<ctas>]
// [_pp][_<choices>]_<family>; what is chosen at launch is left out, a run-time n is written N.
// Majors: k k, k n, m k, m n. Outputs: t (swap-AB), u (stored by elements). o: CTAs per
// multiprocessor. pp: ping-pong.
constexpr KernelName kernel_name(const KernelConfig& config) {
  KernelName text;
  text.add("bwgemm_").add(name(config.arch)).add("_").add(facts_of(config.mma).name);
  if (config.a != Major::any)
    text.add("_").add(config.a == Major::k ? "k" : "m").add(config.b == Major::k ? "k" : "n");
  text.add("_").add(config.tile.m).add("x");
  if (config.tile.n == 0)
    text.add("N");
  else
    text.add(config.tile.n);
  text.add("x").add(config.tile.k);
  if (config.cluster.size() > 1) text.add("_").add(config.cluster.m).add("x").add(config.cluster.n);
  if (config.stages > 0) text.add("_s").add(config.stages);
  if (!is_unmapped(config)) {  // which have but one
    if (config.swaps_ab) text.add("_t");
    if (config.store == Store::elements) text.add("_u");
    if (config.ctas_per_sm > 1) text.add("_o").add(config.ctas_per_sm);
    if (config.ping_pong) text.add("_pp");
  }
  add_choices(text, config.choices);
  return text.add("_").add(name(config.family));
}

}  // namespace bwgemm
