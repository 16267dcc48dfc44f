// SPDX-License-Identifier: Apache-2.0
// The table of kernels. One variant is one compiled kernel, one candidate of selection, one
// parameter of the tests and of the benchmark, and one name. To add kernels, add a variant or a
// shape: nothing else lists kernels.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/kernel_config.h"
#include "kernels/layout.h"
#include "kernels/sm100/layout.h"

namespace bwgemm {

constexpr const char* invalid_because(const KernelConfig& config) {
  if (!uses_tensor_memory(config) && config.choices != Sm100Choices{})
    return "choices are those of the sm100 families";
  switch (config.family) {
    case Family::cooperative: return sm90::invalid_because(config);
    case Family::pair:
    case Family::single: return sm100::invalid_because(config);
    case Family::direct: return direct::invalid_because(config);
    case Family::dot: return dot::invalid_because(config);
    case Family::warp: return warp::invalid_because(config);
  }
  return "unknown family";
}

// How A and B come in, and D goes out.
struct Paths {
  Load load;
  Store store;
  bool swaps_ab;
  bool operator==(const Paths&) const = default;
};

constexpr Paths paths_of(const KernelConfig& config) {
  return {config.load, config.store, config.swaps_ab};
}

namespace paths {
inline constexpr Paths tma{Load::tma, Store::tma, false};
inline constexpr Paths swap_ab{Load::tma, Store::tma, true};
inline constexpr Paths shifted{Load::tma_shifted, Store::elements, false};
inline constexpr Paths elements{Load::tma, Store::elements, false};
inline constexpr Paths threads{Load::threads, Store::elements, false};
}  // namespace paths

// What variants of sm90 have in common besides the majors that the instruction fixes. Their rings
// are as deep as best_stages() says.
struct Sm90Shape {
  Paths paths;
  Tile tile;
  Cluster cluster;
  std::string_view pairs;  // of majors, of A and B, as kernel_name() writes them: a kernel each
  int ctas_per_sm;
  double slowdown;  // see slowdown_of()
  bool ping_pong = false;
};

// A variant without tensor maps.
constexpr KernelConfig unmapped(Arch arch, Family family, Major b, Tile tile, int ctas_per_sm) {
  KernelConfig variant{arch, family, Input::any16, Major::any, b, tile, {1, 1}, 0};
  variant.load = Load::threads;
  variant.store = Store::elements;
  variant.ctas_per_sm = ctas_per_sm;
  return variant;
}

// clang-format off
inline constexpr std::array sm90_shapes = {
    //        paths           tile m,n,k      cluster pairs of majors, CTAs per SM, slowdown, ping-pong
    Sm90Shape{paths::tma,     {128, 256, 64}, {2, 1}, "kk kn mk mn", 1, 1.023},
    Sm90Shape{paths::tma,     {128, 256, 64}, {1, 1}, "kn mk",       1, 1.037},
    Sm90Shape{paths::tma,     {128, 224, 64}, {1, 1}, "kk",          1, 1},
    Sm90Shape{paths::tma,     {128, 192, 64}, {2, 1}, "kk mk",       1, 1.006},
    Sm90Shape{paths::tma,     {128, 160, 64}, {1, 1}, "kk mk",       1, 0.942},
    Sm90Shape{paths::tma,     {128, 128, 64}, {1, 1}, "kk",          1, 0.910},
    Sm90Shape{paths::tma,     {128, 128, 64}, {1, 1}, "kk kn mk mn", 1, 0.827, true},
    Sm90Shape{paths::tma,     {128, 144, 64}, {1, 1}, "kk",          1, 0.866, true},
    Sm90Shape{paths::tma,     {128, 160, 64}, {1, 1}, "kk",          1, 0.897, true},
    Sm90Shape{paths::tma,     {128, 176, 64}, {1, 1}, "kk",          1, 0.833, true},
    Sm90Shape{paths::tma,     {128, 192, 64}, {1, 1}, "kk kn mk mn", 1, 0.906, true},
    Sm90Shape{paths::tma,     {128, 128, 64}, {2, 2}, "kk kn mk mn", 1, 1},
    Sm90Shape{paths::tma,     {128,  96, 64}, {1, 1}, "kk",          1, 0.875},
    Sm90Shape{paths::tma,     {128,  64, 64}, {1, 1}, "kk kn mk mn", 1, 0.814},
    Sm90Shape{paths::tma,     {128,  64, 64}, {1, 2}, "kk kn mk mn", 1, 1},
    Sm90Shape{paths::tma,     {192, 192, 64}, {1, 1}, "kk mn",       1, 1.043},
    Sm90Shape{paths::tma,     {192, 192, 64}, {1, 2}, "kk kn",       1, 1.092},
    Sm90Shape{paths::tma,     {192, 128, 64}, {1, 1}, "kk kn mk mn", 1, 1.029},
    Sm90Shape{paths::tma,     { 64, 128, 64}, {1, 1}, "kk mk",       1, 0.843},
    Sm90Shape{paths::tma,     { 64,  96, 64}, {1, 1}, "kk",          1, 0.779},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {1, 1}, "kk",          1, 0.739},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {2, 2}, "kk",          1, 0.949},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {1, 4}, "kk kn",       1, 0.843},
    Sm90Shape{paths::tma,     { 64, 128, 64}, {1, 1}, "kk",          2, 1.134},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {1, 1}, "kk",          2, 1.130},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {1, 1}, "kk kn mk mn", 3, 1.275},
    Sm90Shape{paths::tma,     { 64,  32, 64}, {1, 1}, "kk kn mk mn", 1, 0.834},
    Sm90Shape{paths::swap_ab, { 64,  16, 64}, {1, 1}, "kk kn mk mn", 1, 0.804},
    Sm90Shape{paths::swap_ab, { 64,  32, 64}, {1, 1}, "kk kn mk mn", 1, 0.884},
    Sm90Shape{paths::swap_ab, { 64,  64, 64}, {1, 1}, "kn mk mn",    1, 0.754},
    Sm90Shape{paths::swap_ab, { 64,  96, 64}, {1, 1}, "kk mk",       1, 0.798},
    Sm90Shape{paths::swap_ab, {128,  16, 64}, {1, 1}, "kk mk mn",    1, 0.894},
    Sm90Shape{paths::swap_ab, {128,  32, 64}, {1, 1}, "kk kn mk",    1, 0.948},
    Sm90Shape{paths::swap_ab, {128,  96, 64}, {1, 1}, "kk mk",       1, 0.890},
    Sm90Shape{paths::swap_ab, {128, 128, 64}, {1, 1}, "kk kn mk mn", 1, 0.932},
    Sm90Shape{paths::swap_ab, {128, 160, 64}, {1, 1}, "kk mk mn",    1, 1},
    Sm90Shape{paths::swap_ab, {128, 160, 64}, {4, 2}, "kk mk",       1, 1.038},
    Sm90Shape{paths::shifted, {128, 256, 64}, {1, 1}, "kk kn mk mn", 1, 1},
    Sm90Shape{paths::shifted, {128, 128, 64}, {1, 1}, "kk kn mk mn", 1, 1},
};

inline constexpr std::array unmapped_variants = {
    //       arch         family          major of B  tile m,n,k     CTAs per SM
    unmapped(Arch::sm90,  Family::direct, Major::any, {64, 64, 32},  2),
    unmapped(Arch::sm90,  Family::warp,   Major::any, {16, 16, 16},  3),
    unmapped(Arch::sm90,  Family::warp,   Major::any, {32, 32, 16},  2),
    unmapped(Arch::sm90,  Family::dot,    Major::k,   {8, 16, 1024}, 2),
    unmapped(Arch::sm90,  Family::dot,    Major::mn,  {8, 64, 256},  2),
    unmapped(Arch::sm90,  Family::dot,    Major::k,   {8, 16, 128},  2),
    unmapped(Arch::sm90,  Family::dot,    Major::mn,  {8, 64, 32},   2),
    unmapped(Arch::sm90,  Family::dot,    Major::k,   {1, 1, 2048},  2),
    unmapped(Arch::sm90,  Family::dot,    Major::k,   {1, 4, 2048},  2),
    unmapped(Arch::sm90,  Family::dot,    Major::k,   {1, 8, 2048},  2),
    unmapped(Arch::sm100, Family::direct, Major::any, {64, 64, 32},  2),
    unmapped(Arch::sm100, Family::warp,   Major::any, {16, 16, 16},  4),
    unmapped(Arch::sm100, Family::dot,    Major::k,   {8, 16, 1024}, 2),
    unmapped(Arch::sm100, Family::dot,    Major::mn,  {8, 64, 256},  2),
    unmapped(Arch::sm100, Family::dot,    Major::k,   {8, 16, 128},  2),
    unmapped(Arch::sm100, Family::dot,    Major::mn,  {8, 64, 32},   2),
};

// What a variant of sm100 fixes; types, majors, tile.n and stages are chosen at launch. The first is
// what the techniques are compared with.
struct Sm100Shape {
  Family family;
  Paths paths;
  int tile_m;
  Cluster cluster;
  Sm100Choices choices = {};
};

inline constexpr std::array sm100_shapes = {
    //         family          paths            tile.m cluster
    Sm100Shape{Family::pair,   paths::tma,      256,   {2, 1}},
    Sm100Shape{Family::pair,   paths::tma,      512,   {2, 1}, {.accumulators = 1}},
    Sm100Shape{Family::pair,   paths::tma,      256,   {4, 1}},
    Sm100Shape{Family::pair,   paths::elements, 256,   {2, 1}},
    Sm100Shape{Family::single, paths::tma,      128,   {1, 1}},
    Sm100Shape{Family::single, paths::threads,  128,   {1, 1}},
    Sm100Shape{Family::single, paths::swap_ab,  128,   {1, 1}},
    Sm100Shape{Family::pair,   paths::tma,      256,   {2, 1}, {.swizzle_bytes = 64}},
    Sm100Shape{Family::pair,   paths::tma,      256,   {2, 1}, {.swizzle_bytes = 32}},
    Sm100Shape{Family::pair,   paths::tma,      256,   {2, 1}, {.swizzle_bytes = 0}},
    Sm100Shape{Family::pair,   paths::tma,      256,   {2, 1}, {.map_rank = 2}},
    Sm100Shape{Family::pair,   paths::tma,      256,   {2, 1}, {.schedule = Schedule::launch_control}},
    Sm100Shape{Family::pair,   paths::tma,      256,   {2, 1}, {.schedule = Schedule::one_tile}},
    Sm100Shape{Family::pair,   paths::tma,      256,   {2, 1}, {.accumulators = 1}},
    Sm100Shape{Family::pair,   paths::tma,      256,   {2, 1}, {.prefetches_maps = false}},
};
// clang-format on

constexpr KernelConfig sm100_variant(const Sm100Shape& shape) {
  return {Arch::sm100,          shape.family,
          Input::any16,         Major::any,
          Major::any,           {shape.tile_m, 0, k_block},
          shape.cluster,        0,
          shape.paths.load,     shape.paths.store,
          shape.paths.swaps_ab, 1,
          shape.choices};
}

inline constexpr std::array<std::string_view, 4> pairs_of_majors = {"kk", "kn", "mk", "mn"};

constexpr KernelConfig sm90_variant(const Sm90Shape& shape, std::string_view pair) {
  KernelConfig variant{Arch::sm90,
                       Family::cooperative,
                       Input::any16,
                       pair[0] == 'm' ? Major::mn : Major::k,
                       pair[1] == 'n' ? Major::mn : Major::k,
                       shape.tile,
                       shape.cluster,
                       0,
                       shape.paths.load,
                       shape.paths.store,
                       shape.paths.swaps_ab,
                       shape.ctas_per_sm,
                       {},
                       shape.ping_pong};
  variant.stages = sm90::best_stages(variant);
  return variant;
}

// Measured time of a shape's k block over what the cost model's limits say, fitted together with
// them (select/arch_costs.h). Narrow tiles of neighbouring SMs share lines, which then leave L2
// once; CTAs that share an SM are in each other's way. Kernels that are no shape have 1.
constexpr double slowdown_of(const KernelConfig& config) {
  for (const Sm90Shape& shape : sm90_shapes)
    if (shape.tile == config.tile && shape.paths == paths_of(config) &&
        shape.cluster == config.cluster && shape.ctas_per_sm == config.ctas_per_sm &&
        shape.ping_pong == config.ping_pong)
      return shape.slowdown;
  return 1;
}

constexpr bool has_majors(const Sm90Shape& shape, std::string_view pair) {
  return shape.pairs.find(pair) != std::string_view::npos;
}

constexpr std::size_t count_majors(const Sm90Shape& shape) {
  std::size_t count = 0;
  for (const std::string_view pair : pairs_of_majors) count += has_majors(shape, pair) ? 1 : 0;
  return count;
}

constexpr std::size_t count_sm90_variants() {
  std::size_t variants = 0;
  for (const Sm90Shape& shape : sm90_shapes) variants += count_majors(shape);
  return variants;
}

constexpr auto make_variants() {
  std::array<KernelConfig, count_sm90_variants() + sm100_shapes.size() + unmapped_variants.size()>
      variants{};
  std::size_t count = 0;
  for (const Sm90Shape& shape : sm90_shapes)
    for (const std::string_view pair : pairs_of_majors)
      if (has_majors(shape, pair)) variants[count++] = sm90_variant(shape, pair);
  for (const Sm100Shape& shape : sm100_shapes) variants[count++] = sm100_variant(shape);
  for (const KernelConfig& variant : unmapped_variants) variants[count++] = variant;
  return variants;
}

inline constexpr auto kernel_variants = make_variants();

// Words of pairs_of_majors, one space between them.
constexpr bool all_pairs_known() {
  for (const Sm90Shape& shape : sm90_shapes)
    if (shape.pairs.size() + 1 != 3 * count_majors(shape)) return false;
  return true;
}

constexpr bool all_valid() {
  for (const KernelConfig& variant : kernel_variants)
    if (invalid_because(variant) != nullptr) return false;
  return true;
}

constexpr bool all_distinct() {
  for (std::size_t i = 0; i < kernel_variants.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (kernel_variants[i] == kernel_variants[j]) return false;
  return true;
}

static_assert(all_pairs_known(), "a shape of sm90_shapes names a pair of majors that there is not");
static_assert(all_valid(), "a variant breaks a rule of its family's invalid_because()");
static_assert(kernel_variants.size() <= 320, "more variants need their gain in bench/log");
static_assert(all_distinct(), "two variants are the same kernel");

}  // namespace bwgemm
