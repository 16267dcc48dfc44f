// SPDX-License-Identifier: Apache-2.0
// Steps: the ladder's table, a row a kernel, and what follows from a row: shared memory, tensor
// maps, the grid. The kernels, bench/ladder.cpp and the tests read it. README.md says what each
// step is about.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "device/params.h"

namespace bwgemm::ladder {

enum class Grid : std::uint8_t {
  tiles,     // a cluster for every tile
  resident,  // as many clusters as the GPU holds; each walks over its share of the tiles
  canceled,  // a cluster for every tile, but running ones take over those that have not begun
};

// What a kernel is compiled for. Tiles are those of a whole cluster.
struct Shape {
  int map_dims;   // of the operands' tensor maps
  int row_bytes;  // of one row of a box: 128 with the 128-byte swizzle, 16 without any
  int ctas;       // of a cluster; two multiply together
  int tile_m, tile_n, tile_k;
  int stages, accumulators, threads;
  Grid grid;
};

struct Step {
  const char* name;       // of the kernel: ladder_<name>
  const char* technique;  // that it adds to the step before
  Shape shape;
};

// clang-format off
inline constexpr std::array steps = {
    //                                                       dims row cta  tile m, n, k  stages acc threads
    Step{"v1a", "tcgen05.mma, 2-D TMA of 16-byte columns",     {2, 16,  1, 128, 256, 256, 1, 1, 128, Grid::tiles}},
    Step{"v1b", "one 3-D TMA an operand",                      {3, 16,  1, 128, 256, 256, 1, 1, 128, Grid::tiles}},
    Step{"v2a", "128-byte swizzle, 2-D TMA",                   {2, 128, 1, 128, 256, 256, 1, 1, 128, Grid::tiles}},
    Step{"v2b", "128-byte swizzle, one 3-D TMA an operand",    {3, 128, 1, 128, 256, 256, 1, 1, 128, Grid::tiles}},
    Step{"v3",  "loads ahead in a ring of stages",             {3, 128, 1, 128, 256, 128, 2, 1, 128, Grid::tiles}},
    Step{"v4",  "a warp that loads, a warp that multiplies",   {3, 128, 1, 128, 128, 64,  7, 1, 128, Grid::tiles}},
    Step{"v5",  "two CTAs multiply together",                  {3, 128, 2, 256, 256, 64,  7, 1, 128, Grid::tiles}},
    Step{"v6",  "persistent, two accumulators",                {3, 128, 2, 256, 256, 64,  7, 2, 192, Grid::resident}},
    Step{"v7",  "persistent by cluster launch control",        {3, 128, 2, 256, 256, 64,  7, 2, 224, Grid::canceled}},
};
// clang-format on

constexpr Shape shape_of(std::string_view name) {
  for (const Step& step : steps)
    if (step.name == name) return step.shape;
  throw "no step has this name";  // at compile time
}

inline constexpr int k_unit = 64;  // k is a multiple of it

// Null, or why the steps do not take these sizes: they know no edges.
constexpr const char* invalid_because(const Shape& shape, std::int64_t m, std::int64_t n,
                                      std::int64_t k) {
  if (m < 1 || m % shape.tile_m != 0) return "m must be a multiple of the tile's";
  if (n < 1 || n % shape.tile_n != 0) return "n must be a multiple of the tile's";
  if (k < 1 || k % k_unit != 0) return "k must be a multiple of 64";
  if (m > 1 << 20 || n > 1 << 20 || k > 1 << 20) return "sizes must not exceed 2^20";
  return nullptr;
}

inline constexpr int cta_m = 128;  // rows of the tile, and of A, in each CTA
constexpr int cta_b_rows(const Shape& shape) {
  return shape.tile_n / shape.ctas;
}

// Offsets in bytes from the 1024-aligned start of dynamic shared memory, in every CTA the same.
struct Layout {
  int a_bytes, b_bytes, stage_bytes;        // stage s: A at s * stage_bytes, B behind it
  int responses;                            // 16 bytes each, Grid::canceled only
  int full, empty;                          // mbarriers [stages]
  int accumulator_full, accumulator_empty;  // mbarriers [accumulators]
  int response_full, response_empty;        // mbarriers [response_slots]
  int tensor_memory;                        // 4 bytes: address of the allocation
  int bytes;
};

inline constexpr int response_slots = 3;

constexpr Layout layout(const Shape& shape) {
  Layout at{};
  at.a_bytes = cta_m * shape.tile_k * 2;
  at.b_bytes = cta_b_rows(shape) * shape.tile_k * 2;
  at.stage_bytes = at.a_bytes + at.b_bytes;
  at.responses = shape.stages * at.stage_bytes;
  at.full = at.responses + 16 * response_slots;
  at.empty = at.full + 8 * shape.stages;
  at.accumulator_full = at.empty + 8 * shape.stages;
  at.accumulator_empty = at.accumulator_full + 8 * shape.accumulators;
  at.response_full = at.accumulator_empty + 8 * shape.accumulators;
  at.response_empty = at.response_full + 8 * response_slots;
  at.tensor_memory = at.response_empty + 8 * response_slots;
  at.bytes = at.tensor_memory + 8;
  return at;
}

// The one argument of every kernel. D is dense and row-major; A and B are dense and K-major.
struct Params {
  TensorMap a_map, b_map;
  void* d;  // bf16
  std::int32_t tiles_m, tiles_n;
  std::int32_t k_blocks;  // of tile_k, the last one filled up with zeros by TMA
};

// A tensor map of an operand with `rows` rows of k, of which a CTA loads `box_rows`. Three
// dimensions cut k into rows of a box: {in the row, rows of the operand, which row of k}.
struct MapShape {
  std::uint32_t dims;
  std::array<std::uint64_t, 3> extent;
  std::array<std::uint64_t, 2> stride;  // bytes, of the second dimension on
  std::array<std::uint32_t, 3> box;
  bool swizzled;
};

constexpr MapShape map_shape(const Shape& shape, std::int64_t rows, int box_rows, std::int64_t k) {
  const auto row = static_cast<std::uint32_t>(shape.row_bytes / 2);
  const auto box_m = static_cast<std::uint32_t>(box_rows);
  const auto all_k = static_cast<std::uint64_t>(k), all_rows = static_cast<std::uint64_t>(rows);
  MapShape map{};
  map.dims = static_cast<std::uint32_t>(shape.map_dims);
  map.swizzled = shape.row_bytes == 128;
  map.stride = {2 * all_k, static_cast<std::uint64_t>(shape.row_bytes)};
  if (shape.map_dims == 2) {
    map.extent = {all_k, all_rows, 1};
    map.box = {row, box_m, 1};
  } else {
    map.extent = {row, all_rows, all_k / row};
    map.box = {row, box_m, static_cast<std::uint32_t>(shape.tile_k) / row};
  }
  return map;
}

// CTAs to launch.
constexpr std::uint32_t grid_ctas(const Shape& shape, std::int64_t m, std::int64_t n,
                                  int sm_count) {
  const std::int64_t tiles = m / shape.tile_m * (n / shape.tile_n);
  const std::int64_t resident = sm_count / shape.ctas;
  const bool fewer = shape.grid == Grid::resident && resident < tiles;
  return static_cast<std::uint32_t>((fewer ? resident : tiles) * shape.ctas);
}

}  // namespace bwgemm::ladder
