// SPDX-License-Identifier: Apache-2.0
// The tile order: every tile once, in bands.
#include <cstdlib>
#include <gtest/gtest.h>
#include <vector>

#include "device/tile_order.h"
#include "rules/rasters.h"

namespace bwgemm {
namespace {

constexpr TileIndex tile_in_order(Raster raster, std::uint32_t index, std::uint32_t tiles_m,
                                  std::uint32_t tiles_n, std::uint32_t group) {
  return tile_in_order(raster, index, tiles_m, tiles_n, group,
                       raster_reciprocals(tiles_m, tiles_n, group));
}

TEST(Raster, VisitsEveryTileOnce) {
  for (std::uint32_t tiles_m : {1u, 2u, 3u, 7u, 8u, 13u, 32u})
    for (std::uint32_t tiles_n : {1u, 2u, 5u, 16u, 31u})
      for (std::uint32_t batch : {1u, 3u})
        for (std::uint32_t group = 1; group <= tiles_m; ++group) {
          std::vector<int> visits(tiles_m * tiles_n * batch, 0);
          for (std::uint32_t index = 0; index < visits.size(); ++index) {
            const TileIndex tile = tile_in_order(Raster::grouped, index, tiles_m, tiles_n, group);
            ASSERT_LT(static_cast<std::uint32_t>(tile.m), tiles_m);
            ASSERT_LT(static_cast<std::uint32_t>(tile.n), tiles_n);
            ASSERT_LT(static_cast<std::uint32_t>(tile.batch), batch);
            ++visits[(tile.batch * tiles_m + tile.m) * tiles_n + tile.n];
          }
          for (const int count : visits)
            ASSERT_EQ(count, 1) << tiles_m << "x" << tiles_n << "x" << batch << " group " << group;
        }
}

TEST(Raster, ReciprocalsDivideExactly) {
  constexpr std::uint32_t most = 0xffffffff;
  for (std::uint32_t by : {1u, 2u, 3u, 5u, 7u, 64u, 127u, 641u, 65535u, 65536u, 65537u, 6700417u,
                           0x7fffffffu, 0x80000000u, 0x80000001u, most - 1, most})
    for (std::uint32_t near : {0u, by, 2 * by, 3 * by, most / by * by, most / 2, 0x80000000u, most})
      for (std::uint32_t value : {near - 2, near - 1, near, near + 1})
        ASSERT_EQ(divided(value, by, reciprocal(by)), value / by) << value << " by " << by;
}

TEST(Raster, EveryOrderVisitsEveryTileOnce) {
  for (const Raster raster : {Raster::grouped, Raster::snake, Raster::hilbert})
    for (std::uint32_t tiles_m : {1u, 2u, 3u, 7u, 8u, 13u, 33u})
      for (std::uint32_t tiles_n : {1u, 2u, 5u, 16u, 31u})
        for (std::uint32_t group : {1u, 3u, 64u}) {
          const std::uint32_t batch = 2;
          std::vector<int> visits(tiles_m * tiles_n * batch, 0);
          for (std::uint32_t index = 0; index < visits.size(); ++index) {
            const TileIndex tile = tile_in_order(raster, index, tiles_m, tiles_n, group);
            ASSERT_LT(static_cast<std::uint32_t>(tile.m), tiles_m);
            ASSERT_LT(static_cast<std::uint32_t>(tile.n), tiles_n);
            ASSERT_EQ(static_cast<std::uint32_t>(tile.batch), index / (tiles_m * tiles_n));
            ++visits[(tile.batch * tiles_m + tile.m) * tiles_n + tile.n];
          }
          for (const int count : visits)
            ASSERT_EQ(count, 1) << name(raster) << " " << tiles_m << "x" << tiles_n;
        }
}

// Consecutive tiles touch: everywhere on a Hilbert curve over a whole square, and where one band of
// a snake ends and the next begins.
TEST(Raster, NeighboursFollowEachOther) {
  const auto distance = [](Raster raster, std::uint32_t index, std::uint32_t size) {
    const TileIndex from = tile_in_order(raster, index, size, size, 1);
    const TileIndex to = tile_in_order(raster, index + 1, size, size, 1);
    return std::abs(from.m - to.m) + std::abs(from.n - to.n);
  };
  for (const Raster raster : {Raster::snake, Raster::hilbert})
    for (std::uint32_t index = 0; index + 1 < 16 * 16; ++index)
      EXPECT_EQ(distance(raster, index, 16), 1) << name(raster) << " " << index;
}

TEST(Raster, WalksBandsColumnByColumn) {
  // 5 tile rows in bands of 2, 2 and 1; 3 tile columns.
  const int expected[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {2, 0}, {3, 0},
                             {2, 1}, {3, 1}, {2, 2}, {3, 2}, {4, 0}, {4, 1}, {4, 2}};
  for (std::uint32_t index = 0; index < 15; ++index) {
    const TileIndex tile = tile_in_order(Raster::grouped, index, 5, 3, 2);
    EXPECT_EQ(tile.m, expected[index][0]) << index;
    EXPECT_EQ(tile.n, expected[index][1]) << index;
    EXPECT_EQ(tile.batch, 0) << index;
  }
  EXPECT_EQ(tile_in_order(Raster::grouped, 15, 5, 3, 2).batch, 1);
}

}  // namespace
}  // namespace bwgemm
