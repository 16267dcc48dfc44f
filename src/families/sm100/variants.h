// SPDX-License-Identifier: Apache-2.0
// The Blackwell kernels: one a line, each with every type, major, tile.n and depth of the ring.
#pragma once

#include <array>
#include <cstddef>

#include "core/paths.h"
#include "families/sm100/layout.h"

namespace bwgemm {

// What a variant of sm100 fixes; types, majors, tile.n and stages are chosen at launch. The first
// is what the techniques are compared with.
struct Sm100Shape {
  Family family;
  Paths paths;
  int tile_m;
  Cluster cluster;
  Sm100Choices choices = {};
};

// clang-format off
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
  return {Arch::sm100,      shape.family,          MmaKind::b16,         Major::any,
          Major::any,       {shape.tile_m, 0, 64}, shape.cluster,        0,
          shape.paths.load, shape.paths.store,     shape.paths.swaps_ab, 1,
          shape.choices};
}

constexpr auto make_sm100_variants() {
  std::array<KernelConfig, sm100_shapes.size()> variants{};
  for (std::size_t i = 0; i < variants.size(); ++i) variants[i] = sm100_variant(sm100_shapes[i]);
  return variants;
}

inline constexpr auto sm100_variants = make_sm100_variants();

}  // namespace bwgemm
