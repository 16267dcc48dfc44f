// SPDX-License-Identifier: Apache-2.0
// Shared memory of every row and every run-time tile: aligned for the swizzle, within the limit,
// and described to the host as the kernel lays it out.
#include "kernels/layout.h"

#include <gtest/gtest.h>

#include "kernels/rows.h"
#include "kernels/shape.h"

namespace bwgemm {
namespace {

constexpr int swizzle_atom_bytes = 1024;

TEST(Layout, Sm90) {
  for (const KernelConfig& row : kernel_rows) {
    if (row.family != Family::cooperative) continue;
    SCOPED_TRACE(kernel_name(row).view());
    const sm90::Layout at = sm90::layout(row);
    EXPECT_EQ(at.a_bytes % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.stage_bytes % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.stage_bytes, at.a_bytes + at.b_bytes);
    EXPECT_EQ(at.staging % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.staging_bytes % swizzle_atom_bytes, 0);
    EXPECT_GE(at.staging, row.stages * at.stage_bytes);
    const int buffers = sm90::consumer_warpgroups * staging_buffers;
    EXPECT_GE(at.full, at.staging + buffers * at.staging_bytes);
    EXPECT_EQ(at.full % 8, 0);
    EXPECT_GE(at.empty, at.full + 8 * row.stages);
    EXPECT_GE(at.staging_ready, at.empty + 8 * row.stages);
    EXPECT_GE(at.staging_written, at.staging_ready + 8 * buffers);
    EXPECT_GE(at.bytes, at.staging_written + 8 * buffers);
    EXPECT_LE(at.bytes, max_smem_bytes);
  }
}

TEST(Layout, Sm100) {
  for (int tile_n = 32; tile_n <= 256; tile_n += 32) {
    SCOPED_TRACE(tile_n);
    const int stages = sm100::stages_that_fit(tile_n);
    const sm100::Layout at = sm100::layout(tile_n, stages);
    EXPECT_GE(stages, 4);
    EXPECT_LE(stages, sm100::max_stages);
    EXPECT_EQ(at.a_bytes % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.stage_bytes % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.stage_bytes, sm100::stage_bytes(tile_n));
    EXPECT_EQ(at.staging % swizzle_atom_bytes, 0);
    EXPECT_EQ(at.staging_bytes % swizzle_atom_bytes, 0);
    EXPECT_GE(at.full, at.staging + staging_buffers * at.staging_bytes);
    EXPECT_EQ(at.full % 8, 0);
    EXPECT_GE(at.bytes, at.tensor_memory + 4);
    EXPECT_LE(at.bytes, max_smem_bytes);
  }
}

TEST(Layout, ShapeAgrees) {
  for (const KernelConfig& row : kernel_rows)
    for (const Dtype d_type : {Dtype::bf16, Dtype::f32})
      for (int tile_n = 32; tile_n <= 256; tile_n += 32) {
        SCOPED_TRACE(kernel_name(row).view());
        SCOPED_TRACE(tile_n);
        const KernelShape shape = kernel_shape(row, tile_n, d_type);
        EXPECT_EQ(shape.tile_n, row.tile.n != 0 ? row.tile.n : tile_n);
        EXPECT_EQ(shape.threads % 128, 0);
        EXPECT_GT(shape.threads, 0);
        if (row.family == Family::direct) continue;
        EXPECT_LE(shape.smem_bytes, max_smem_bytes);
        EXPECT_GE(shape.stages, 2);
        // The boxes are whole 64- or 128-byte rows, divide the tile, and fit a tensor map.
        const int d_row_bytes = shape.d_box_columns * size_bytes(d_type);
        EXPECT_TRUE(d_row_bytes == 128 || d_row_bytes == 64);
        EXPECT_EQ(shape.tile_n % shape.d_box_columns, 0);
        EXPECT_EQ(shape.cluster_tile_m % shape.d_box_rows, 0);
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
