// SPDX-License-Identifier: Apache-2.0
// The Hopper kernels: a shape a line, a kernel for each of its pairs of majors. To add a kernel,
// add a line, or a pair to a line.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/paths.h"
#include "families/sm90/valid.h"

namespace bwgemm {

// What variants of sm90 have in common besides the majors that the instruction fixes. Their rings
// are as deep as best_stages() says.
struct Sm90Shape {
  Paths paths;
  Tile tile;
  Cluster cluster;
  std::string_view pairs;  // of majors, of A and B, as kernel_name() writes them: a kernel each
  int ctas_per_sm;
  bool ping_pong = false;
};

// clang-format off
inline constexpr std::array sm90_shapes = {
    //        paths           tile m,n,k      cluster pairs of majors, CTAs per SM, ping-pong
    Sm90Shape{paths::tma,     {128, 256, 64}, {2, 1}, "kk kn mk mn", 1},
    Sm90Shape{paths::tma,     {128, 256, 64}, {1, 1}, "kn mk",       1},
    Sm90Shape{paths::tma,     {128, 224, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::tma,     {128, 192, 64}, {2, 1}, "kk mk",       1},
    Sm90Shape{paths::tma,     {128, 192, 64}, {1, 2}, "mn",          1},
    Sm90Shape{paths::tma,     {128, 160, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::tma,     {128, 128, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::tma,     {128, 128, 64}, {1, 1}, "kk kn mk mn", 1, true},
    Sm90Shape{paths::tma,     {128, 128, 64}, {2, 1}, "kk kn",       1, true},
    Sm90Shape{paths::tma,     {128, 128, 64}, {1, 4}, "kk",          1, true},
    Sm90Shape{paths::tma,     {128, 144, 64}, {1, 1}, "kk",          1, true},
    Sm90Shape{paths::tma,     {128, 160, 64}, {1, 1}, "kk",          1, true},
    Sm90Shape{paths::tma,     {128, 176, 64}, {1, 1}, "kk",          1, true},
    Sm90Shape{paths::tma,     {128, 192, 64}, {1, 1}, "kk kn mk mn", 1, true},
    Sm90Shape{paths::tma,     {128, 128, 64}, {2, 2}, "kk kn mk mn", 1},
    Sm90Shape{paths::tma,     {128, 112, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::tma,     {128,  96, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::tma,     {128,  96, 64}, {2, 2}, "kk mn",       1},
    Sm90Shape{paths::tma,     {128,  80, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::tma,     {128,  64, 64}, {1, 1}, "kk kn mk mn", 1},
    Sm90Shape{paths::tma,     {128,  64, 64}, {1, 2}, "kk kn mk mn", 1},
    Sm90Shape{paths::tma,     {128,  64, 64}, {1, 4}, "kn",          1},
    Sm90Shape{paths::tma,     {128,  64, 64}, {4, 1}, "kk mn",       1},
    Sm90Shape{paths::tma,     {128,  64, 64}, {2, 2}, "kn mn",       1},
    Sm90Shape{paths::tma,     {192, 192, 64}, {1, 1}, "kk mn",       1},
    Sm90Shape{paths::tma,     {192, 192, 64}, {1, 2}, "kk kn",       1},
    Sm90Shape{paths::tma,     {192, 128, 64}, {1, 1}, "kk kn",       1},
    Sm90Shape{paths::tma,     {192,  96, 64}, {1, 1}, "kk mn",       1},
    Sm90Shape{paths::tma,     {192,  96, 64}, {2, 1}, "kn",          1},
    Sm90Shape{paths::tma,     {192,  64, 64}, {1, 1}, "kn mn",       1},
    Sm90Shape{paths::tma,     {256,  64, 64}, {2, 1}, "kk",          1},
    Sm90Shape{paths::tma,     {256,  64, 64}, {4, 1}, "kn mn",       1},
    Sm90Shape{paths::tma,     { 64, 256, 64}, {1, 4}, "kk kn mn",    1, true},
    Sm90Shape{paths::tma,     { 64, 128, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::tma,     { 64,  96, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::tma,     { 64,  96, 64}, {4, 1}, "kk",          1},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {2, 2}, "kk",          1},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {1, 4}, "kk kn",       1},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {4, 1}, "kk kn",       1},
    Sm90Shape{paths::tma,     { 64, 128, 64}, {1, 1}, "kk",          2},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {1, 1}, "kk",          2},
    Sm90Shape{paths::tma,     { 64,  64, 64}, {1, 1}, "kk kn mk mn", 3},
    Sm90Shape{paths::tma,     { 64,  32, 64}, {1, 1}, "kk kn mk mn", 1},
    Sm90Shape{paths::tma,     { 64,  32, 64}, {1, 2}, "mn",          1},
    Sm90Shape{paths::tma,     { 64,  32, 64}, {4, 1}, "kn",          1},
    Sm90Shape{paths::tma,     {128,  32, 64}, {4, 1}, "kn",          1},
    Sm90Shape{paths::swap_ab, { 64,  16, 64}, {1, 1}, "kk kn mk mn", 1},
    Sm90Shape{paths::swap_ab, { 64,  16, 64}, {4, 1}, "kn",          1},
    Sm90Shape{paths::swap_ab, { 64,  16, 64}, {1, 1}, "mk",          4},
    Sm90Shape{paths::swap_ab, { 64,  32, 64}, {1, 1}, "kk kn mk mn", 1},
    Sm90Shape{paths::swap_ab, { 64,  32, 64}, {1, 2}, "mk",          1},
    Sm90Shape{paths::swap_ab, { 64,  64, 64}, {1, 1}, "kn mk mn",    1},
    Sm90Shape{paths::swap_ab, { 64,  64, 64}, {4, 1}, "kn mn",       1},
    Sm90Shape{paths::swap_ab, { 64,  64, 64}, {2, 2}, "mn",          1},
    Sm90Shape{paths::swap_ab, { 64,  72, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::swap_ab, { 64,  88, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, { 64,  96, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::swap_ab, { 64,  96, 64}, {4, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, { 64, 104, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {128,  16, 64}, {1, 1}, "kk mk mn",    1},
    Sm90Shape{paths::swap_ab, {128,  16, 64}, {2, 1}, "mk",          1},
    Sm90Shape{paths::swap_ab, {128,  16, 64}, {2, 1}, "kk",          2},
    Sm90Shape{paths::swap_ab, {128,  16, 64}, {4, 1}, "mn",          1},
    Sm90Shape{paths::swap_ab, {128,  32, 64}, {1, 1}, "kk kn",       1},
    Sm90Shape{paths::swap_ab, {128,  32, 64}, {4, 1}, "kk mn",       1},
    Sm90Shape{paths::swap_ab, {128,  72, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {128,  80, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::swap_ab, {128,  64, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {128,  88, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {128,  88, 64}, {1, 2}, "kk",          1},
    Sm90Shape{paths::swap_ab, {128,  96, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {128,  96, 64}, {2, 1}, "mn",          1},
    Sm90Shape{paths::swap_ab, {128, 104, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {128, 120, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {128, 128, 64}, {1, 1}, "kk kn mk mn", 1},
    Sm90Shape{paths::swap_ab, {128, 136, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::swap_ab, {128, 160, 64}, {1, 1}, "kk mk mn",    1},
    Sm90Shape{paths::swap_ab, {128, 160, 64}, {4, 2}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {192,  80, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {192, 112, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {192, 144, 64}, {1, 1}, "kk",          1},
    Sm90Shape{paths::swap_ab, {192, 160, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::swap_ab, {192, 176, 64}, {1, 1}, "kk mk",       1},
    Sm90Shape{paths::loose_a, { 64,  32, 64}, {1, 1}, "kn",          4},
    Sm90Shape{paths::loose_a, { 64,  64, 64}, {1, 1}, "kn",          3},
    Sm90Shape{paths::loose_a, { 64,  80, 64}, {1, 1}, "kn",          2},
    Sm90Shape{paths::loose_a, { 64, 128, 64}, {1, 1}, "kn",          2},
    Sm90Shape{paths::shifted, {128, 256, 64}, {1, 1}, "kk kn mk mn", 1},
    Sm90Shape{paths::shifted, {128, 128, 64}, {1, 1}, "kk kn mk mn", 1},
};
// clang-format on

inline constexpr std::array<std::string_view, 4> pairs_of_majors = {"kk", "kn", "mk", "mn"};

constexpr KernelConfig sm90_variant(const Sm90Shape& shape, std::string_view pair) {
  KernelConfig variant{Arch::sm90,
                       Family::cooperative,
                       MmaKind::b16,
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

constexpr auto make_sm90_variants() {
  std::array<KernelConfig, count_sm90_variants()> variants{};
  std::size_t count = 0;
  for (const Sm90Shape& shape : sm90_shapes)
    for (const std::string_view pair : pairs_of_majors)
      if (has_majors(shape, pair)) variants[count++] = sm90_variant(shape, pair);
  return variants;
}

inline constexpr auto sm90_variants = make_sm90_variants();

// Words of pairs_of_majors, one space between them.
constexpr bool all_pairs_known() {
  for (const Sm90Shape& shape : sm90_shapes)
    if (shape.pairs.size() + 1 != 3 * count_majors(shape)) return false;
  return true;
}

static_assert(all_pairs_known(), "a shape of sm90_shapes names a pair of majors that there is not");

}  // namespace bwgemm
