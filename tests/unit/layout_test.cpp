// SPDX-License-Identifier: Apache-2.0
// Shared memory of every row and every run-time tile: aligned for the swizzle, within the limit,
// and described to the host as the kernel lays it out.
#include "device/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/tiling.h"
#include "families/facts.h"
#include "families/sm90/operand_tile.h"
#include "families/variants.h"

namespace bwgemm {
namespace {

constexpr int swizzle_atom_bytes = 1024;

TEST(Layout, Sm90) {
  for (const KernelConfig& row : kernel_variants) {
    if (row.family != Family::cooperative) continue;
    SCOPED_TRACE(kernel_name(row).view());
    const sm90::Layout at = sm90::layout(row);
    EXPECT_EQ(at.a_bytes % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.stage_bytes % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.stage_bytes, at.a_bytes + at.b_bytes);
    EXPECT_EQ(at.staging % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.staging_bytes % swizzle_atom_bytes, 0);
    EXPECT_GE(at.staging, row.stages * at.stage_bytes);
    const int buffers = sm90::warpgroups_of(row).consumers * at.staging_depth;
    EXPECT_GE(at.full, at.staging + buffers * at.staging_bytes);
    EXPECT_EQ(at.full % 8, 0);
    EXPECT_GE(at.empty, at.full + 8 * row.stages);
    EXPECT_GE(at.staging_ready, at.empty + 8 * row.stages);
    EXPECT_GE(at.staging_written, at.staging_ready + 8 * buffers);
    EXPECT_GE(at.staging_messages, at.staging_written + 8 * buffers);
    EXPECT_EQ(at.staging_messages % 4, 0);
    EXPECT_GE(at.bytes, at.staging_messages + 4 * buffers);
    EXPECT_LE(at.bytes, max_smem_bytes);
    EXPECT_LE(row.ctas_per_sm * (at.bytes + reserved_smem_bytes), sm_smem_bytes);
    KernelConfig deeper = row;
    ++deeper.stages;
    const int most = !row.swaps_ab ? row.stages + 1 : row.tile.m == 64 ? 13 : 8;
    EXPECT_LE(row.stages, most) << "more is under way than the memory likes";
    if (row.stages < most) {
      EXPECT_NE(invalid_because(deeper), nullptr) << "the ring can be deeper";
    }
  }
}

// Up to the last index, which 32 bits hold.
TEST(Layout, Sm90OperandTilesAreCutUp) {
  constexpr int last = 0x7fffffff;
  constexpr sm90::OperandTile rows{Major::k, 64, 1, 1, false}, shared{Major::k, 160, 4, 1, false},
      chunk{Major::mn, 64, 1, 1, false}, chunks{Major::mn, 128, 2, 4, false},
      narrow{Major::mn, 32, 4, 1, false, {32, 16, true}};
  static_assert(chunk.inside(0, last, 64) == 64 && chunk.inside(last - 63, last, 64) == 64);
  static_assert(chunks.inside(192, 193, 128) == 64);
  static_assert(sm90::left_of(last, -last - 1) == -1);
  static_assert(rows.inside(64, 72, 64) == 8 && rows.inside(192, 72, 64) == 0);
  static_assert(shared.rows_of_zeros(85) == 5 && shared.rows_of_zeros(80) == 40);
  static_assert(shared.sharer_mask() == 0xf && chunks.sharer_mask() == 0x11);
  static_assert(narrow.part() == 32 && narrow.inside(32, 40, 32) == 32);
}

// No buffer that a tile has no box for, and none that the ring would leave room for is missing.
TEST(Layout, Sm90StagingBuffers) {
  int deep = 0;
  for (const KernelConfig& row : kernel_variants) {
    if (row.family != Family::cooperative || row.store == Store::elements) continue;
    SCOPED_TRACE(kernel_name(row).view());
    const int depth = sm90::layout(row).staging_depth;
    if (row.ctas_per_sm > 2) {
      EXPECT_EQ(depth, 1);
      continue;
    }
    EXPECT_GE(depth, staging_buffers);
    const int boxes = sm90::staged_boxes(row).count;
    if (depth > staging_buffers) {
      EXPECT_LE(depth, boxes);
      ++deep;
    }
    if (depth < boxes) {
      EXPECT_GT(sm90::layout(row, depth + 1).bytes, sm90::smem_room(row));
    }
    if (row.stages == sm90::most_stages(row)) continue;
    KernelConfig deeper = row;
    ++deeper.stages;
    EXPECT_GT(sm90::layout(deeper, staging_buffers).bytes, sm90::smem_room(row))
        << "a buffer took the room of a stage";
  }
  EXPECT_GT(deep, 0);
}

// The multiprocessor's 65536 registers hold all CTAs, and each CTA's hold all of its warpgroups.
TEST(Layout, Sm90Registers) {
  for (const KernelConfig& row : kernel_variants) {
    if (row.family != Family::cooperative) continue;
    SCOPED_TRACE(kernel_name(row).view());
    const sm90::Warpgroups all = sm90::warpgroups_of(row);
    const sm90::Registers after = all.registers;
    const int at_launch = after.at_launch, warpgroups = all.consumers;
    EXPECT_LE(row.ctas_per_sm * all.threads * at_launch, 65536);
    if (!after.are_moved()) continue;
    EXPECT_LE(after.producer + warpgroups * after.consumer, (1 + warpgroups) * at_launch);
    for (const int registers : {after.producer, after.consumer}) {
      EXPECT_EQ(registers % 8, 0);  // what setmaxnreg takes
      EXPECT_GE(registers, 24);
      EXPECT_LE(registers, 256);
    }
  }
}

TEST(Layout, Sm90StagingLinesDivideTheTile) {
  KernelConfig config = kernel_variants[0];
  config.swaps_ab = true;
  for (const int tile_m : {64, 128, 192}) {
    config.tile.m = tile_m;
    for (int tile_n = 16; tile_n <= 256; tile_n += 16) {
      SCOPED_TRACE(testing::Message() << tile_m << "x" << tile_n);
      config.tile.n = tile_n;
      const sm90::StagedBoxes boxes = sm90::staged_boxes(config);
      EXPECT_EQ(tile_n % boxes.lines, 0);
      EXPECT_FALSE(boxes.overlap);
      EXPECT_EQ(boxes.lines % boxes.patch_columns, 0);
      EXPECT_LE(boxes.lines, 64);
    }
  }
}

// Boxes reach all columns where these are no multiple of 16. The last box begins inside the one
// before.
TEST(Layout, Sm90StagingBoxesOfColumnsMayOverlap) {
  KernelConfig config = kernel_variants[0];
  config.swaps_ab = true;
  for (const int tile_m : {64, 128, 192}) {
    config.tile.m = tile_m;
    for (int tile_n = 40; tile_n <= 256; tile_n += 16) {
      SCOPED_TRACE(testing::Message() << tile_m << "x" << tile_n);
      config.tile.n = tile_n;
      const sm90::StagedBoxes boxes = sm90::staged_boxes(config);
      EXPECT_TRUE(boxes.overlap);
      EXPECT_EQ(boxes.lines, tile_m == 192 ? 16 : 32);
      EXPECT_GT(boxes.count * boxes.lines, tile_n);
      EXPECT_LT((boxes.count - 1) * boxes.lines, tile_n);
      EXPECT_FALSE(sm90::parts_of(config).takes_matrices);
      EXPECT_EQ(sm90::parts_of(config).gates, sm90::Gates::none);
    }
  }
}

// Of every row that multiplies in tensor memory, with every tile that it can have.
template <class Check>
void for_each_sm100_tile(const Check& check) {
  for (const KernelConfig& row : kernel_variants) {
    if (!uses_tensor_memory(row)) continue;
    SCOPED_TRACE(kernel_name(row).view());
    for (int tile_n = 8; tile_n <= 256; tile_n += 8) {
      if (sm100::tile_n_invalid_because(row, tile_n, Major::k) != nullptr) continue;
      SCOPED_TRACE(tile_n);
      for (const Major b : {Major::k, Major::mn})
        if (sm100::tile_n_invalid_because(row, tile_n, b) == nullptr) check(row, tile_n, b);
    }
  }
}

TEST(Layout, Sm100) {
  for_each_sm100_tile([](const KernelConfig& row, int tile_n, Major b) {
    const int stages = sm100::stages_that_fit(row, tile_n, b);
    const sm100::Layout at = sm100::layout(row, tile_n, b, stages);
    EXPECT_GE(stages, 4);
    EXPECT_LE(stages, sm100::max_stages);
    EXPECT_EQ(at.a_bytes % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.stage_bytes % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.stage_bytes, at.a_bytes + at.b_bytes);
    EXPECT_EQ(at.staging % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.staging_bytes % swizzle_atom_bytes, 0);
    EXPECT_GE(at.response, at.staging + sm100::staging_depth(row) * at.staging_bytes);
    EXPECT_EQ(at.response % 16, 0);
    EXPECT_GE(at.full, at.response + 16 * sm100::responses);
    EXPECT_EQ(at.full % 8, 0);
    EXPECT_EQ(at.response_empty % 8, 0);
    EXPECT_GE(at.bytes, at.tensor_memory + 4);
    EXPECT_LE(at.bytes, max_smem_bytes);
    EXPECT_LE(at.bytes - at.response, sm100::fixed_bytes);
  });
}

TEST(Layout, Sm100TensorMemory) {
  for_each_sm100_tile([](const KernelConfig& row, int tile_n, Major) {
    const int columns = sm100::cta_tiles(row).tensor_memory_columns;
    EXPECT_GE(columns, row.choices.accumulators * sm100::cta_tiles(row).row_blocks * tile_n);
    EXPECT_LE(columns, 512);
    EXPECT_GE(columns, 32);
    EXPECT_EQ(columns & (columns - 1), 0) << "allocations are powers of two";
  });
}

// An N-major B lies in whole boxes: the last one may have columns of the next CTA or tile.
TEST(Layout, Sm100WholeBoxesOfAnNMajorB) {
  const KernelConfig pair = sm100_variant(sm100_shapes[0]);
  for (const int tile_n : {32, 96, 128, 192, 224}) {
    EXPECT_EQ(sm100::tile_n_invalid_because(pair, tile_n, Major::mn), nullptr) << tile_n;
    const int boxes = ceil_div(tile_n / 2, 64);
    EXPECT_EQ(sm100::held_b_columns(pair, tile_n, Major::mn), 64 * boxes) << tile_n;
    EXPECT_EQ(sm100::held_b_columns(pair, tile_n, Major::k), tile_n / 2) << tile_n;
    EXPECT_EQ(sm100::layout(pair, tile_n, Major::mn, 1).b_bytes, boxes * 64 * 128) << tile_n;
  }
}

// Pairs that share an N-major B load whole boxes, which narrower swizzles make smaller.
TEST(Layout, Sm100NarrowSwizzlesAllowNarrowSharedTilesOfAnNMajorB) {
  const auto narrowest = [](int swizzle_bytes) {
    KernelConfig row = sm100_variant(sm100_shapes[0]);
    row.cluster = {4, 1};
    row.choices.swizzle_bytes = swizzle_bytes;
    int tile_n = 8;
    while (sm100::tile_n_invalid_because(row, tile_n, Major::mn) != nullptr) tile_n += 8;
    return tile_n;
  };
  EXPECT_EQ(narrowest(128), 256);
  EXPECT_EQ(narrowest(64), 128);
  EXPECT_EQ(narrowest(32), 64);
  EXPECT_EQ(narrowest(0), 32);
}

constexpr KernelConfig single_row() {
  KernelConfig row = sm100_variant(sm100_shapes[0]);
  row.family = Family::single;
  row.tile.m = sm100::cta_rows;
  row.cluster = {1, 1};
  return row;
}
constexpr KernelConfig four_ctas() {
  KernelConfig row = sm100_variant(sm100_shapes[0]);
  row.cluster = {4, 1};
  return row;
}
constexpr KernelConfig one_accumulator() {
  KernelConfig row = sm100_variant(sm100_shapes[0]);
  row.choices.accumulators = 1;
  return row;
}

std::vector<int> legal_tiles(const KernelConfig& row, Major b, bool has_gate = false) {
  std::vector<int> legal;
  for (int tile_n = 1; tile_n <= 512; ++tile_n)
    if (sm100::tile_n_invalid_because(row, tile_n, b, has_gate) == nullptr) legal.push_back(tile_n);
  return legal;
}
std::vector<int> steps(int first, int step) {
  std::vector<int> all;
  for (int tile_n = first; tile_n <= 256; tile_n += step) all.push_back(tile_n);
  return all;
}

// The instruction takes steps of 16. What needs steps of 32: the parts of a K-major B that pairs
// share, an N-major B in pairs, the only accumulator, and threads that store all of D.
TEST(Layout, Sm100TilesInStepsOf16) {
  const KernelConfig pair = sm100_variant(sm100_shapes[0]), single = single_row();
  KernelConfig by_elements = pair;
  by_elements.store = Store::elements;
  for (const KernelConfig& row : {pair, single})
    EXPECT_EQ(legal_tiles(row, Major::k), steps(32, 16));
  EXPECT_EQ(legal_tiles(by_elements, Major::k), steps(32, 32));
  EXPECT_EQ(legal_tiles(single, Major::mn), steps(32, 16));
  EXPECT_EQ(legal_tiles(pair, Major::mn), steps(32, 32));
  EXPECT_EQ(legal_tiles(four_ctas(), Major::k), steps(32, 32));
  EXPECT_EQ(legal_tiles(one_accumulator(), Major::k), steps(32, 32));
  KernelConfig columns = single;
  columns.swaps_ab = true;
  EXPECT_EQ(legal_tiles(columns, Major::k), (std::vector{16, 32, 48, 64}));
}

TEST(Layout, Sm100SaysWhyATileIsIllegal) {
  const KernelConfig pair = sm100_variant(sm100_shapes[0]);
  const auto why = [](const KernelConfig& row, int tile_n, Major b, bool has_gate = false) {
    const char* const reason = sm100::tile_n_invalid_because(row, tile_n, b, has_gate);
    return std::string(reason != nullptr ? reason : "legal");
  };
  EXPECT_THAT(why(pair, 16, Major::k), testing::HasSubstr("multiple of 16 in 32..256"));
  EXPECT_THAT(why(pair, 72, Major::k), testing::HasSubstr("multiple of 16 in 32..256"));
  EXPECT_THAT(why(pair, 272, Major::k), testing::HasSubstr("multiple of 16 in 32..256"));
  EXPECT_THAT(why(pair, 80, Major::k, true), testing::HasSubstr("multiple of 32 from 64"));
  EXPECT_THAT(why(pair, 32, Major::k, true), testing::HasSubstr("multiple of 32 from 64"));
  EXPECT_THAT(why(pair, 80, Major::mn), testing::HasSubstr("must be a multiple of 16"));
  EXPECT_THAT(why(four_ctas(), 80, Major::k), testing::HasSubstr("whole swizzle atoms"));
  EXPECT_THAT(why(four_ctas(), 128, Major::mn), testing::HasSubstr("whole boxes"));
  KernelConfig by_elements = pair;
  by_elements.store = Store::elements;
  EXPECT_THAT(why(by_elements, 80, Major::k),
              testing::HasSubstr("threads store as many at a time"));
  EXPECT_THAT(why(one_accumulator(), 80, Major::k),
              testing::HasSubstr("registers hold whole boxes"));
}

// Half of a gated tile is stored in boxes of 32 columns and a rest of 16; where one CTA loads x
// and y apart, each is whole boxes of an N-major B.
TEST(Layout, Sm100TilesOfGates) {
  const KernelConfig pair = sm100_variant(sm100_shapes[0]);
  for (const KernelConfig& row : {pair, single_row(), four_ctas()}) {
    EXPECT_EQ(legal_tiles(row, Major::k, true), steps(64, 32));
  }
  EXPECT_EQ(legal_tiles(pair, Major::mn, true), steps(64, 32));
  EXPECT_EQ(legal_tiles(single_row(), Major::mn, true), steps(128, 128));
  EXPECT_EQ(legal_tiles(one_accumulator(), Major::k, true), steps(64, 64));
}

TEST(Layout, ShapeAgrees) {
  for (const KernelConfig& row : kernel_variants)
    for (const Dtype d_type : {Dtype::bf16, Dtype::f32})
      for (int tile_n = 16; tile_n <= 256; tile_n += 16) {
        if (uses_tensor_memory(row) &&
            sm100::tile_n_invalid_because(row, tile_n, Major::k) != nullptr)
          continue;
        SCOPED_TRACE(kernel_name(row).view());
        SCOPED_TRACE(tile_n);
        const KernelShape shape = kernel_shape(row, tile_n, d_type);
        EXPECT_EQ(shape.tile_n, row.tile.n != 0 ? row.tile.n : tile_n);
        EXPECT_EQ(shape.threads % 128, 0);
        EXPECT_GT(shape.threads, 0);
        EXPECT_LE(row.ctas_per_sm * (shape.smem_bytes + reserved_smem_bytes), sm_smem_bytes);
        if (is_unmapped(row)) continue;
        EXPECT_LE(shape.smem_bytes, max_smem_bytes);
        EXPECT_GE(shape.stages, 2);
        // The boxes are whole 64- or 128-byte rows, divide what the tile stores by them, but where
        // boxes overlap, and fit a tensor map.
        const bool stores_by_map = row.store != Store::elements || !uses_tensor_memory(row);
        if (!stores_by_map) continue;
        const int d_row_bytes = shape.d_box_columns * size_bytes(d_type);
        EXPECT_TRUE(d_row_bytes == 128 || d_row_bytes == 64);
        const bool columns = row.swaps_ab;
        const int line = columns                   ? shape.cluster_tile_m
                         : uses_tensor_memory(row) ? sm100::boxed_columns(shape.tile_n)
                                                   : shape.tile_n;
        const int lines = columns ? shape.tile_n : shape.cluster_tile_m;
        const bool overlap = row.family == Family::cooperative && sm90::staged_boxes(row).overlap;
        // The last box of a line still begins at 16 bytes.
        if (overlap && !columns) {
          EXPECT_LE(shape.d_box_columns, line);
          EXPECT_EQ((line - shape.d_box_columns) * size_bytes(d_type) % 16, 0);
        } else {
          EXPECT_EQ(line % shape.d_box_columns, 0);
        }
        if (overlap && columns)
          EXPECT_EQ(shape.d_box_rows, 32);
        else
          EXPECT_EQ(lines % shape.d_box_rows, 0);
        for (const int rows : {shape.a_box_rows, shape.b_box_rows, shape.d_box_rows}) {
          EXPECT_GE(rows, 1);
          EXPECT_LE(rows, 256);
        }
        // All CTAs of a cluster together load each operand row of the tile once.
        EXPECT_EQ(shape.cluster_tile_m % shape.a_box_rows, 0);
        EXPECT_EQ(shape.cluster_tile_n % shape.b_box_rows, 0);
      }
}

}  // namespace
}  // namespace bwgemm
