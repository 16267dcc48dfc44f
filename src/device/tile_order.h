// SPDX-License-Identifier: Apache-2.0
// tile_in_order: the tiles of each Raster, by their number.
#pragma once

#include "device/raster.h"

namespace bwgemm {

// Tiles of the output in the square of `side` at (x, y).
constexpr std::uint32_t tiles_inside(std::uint32_t x, std::uint32_t y, std::uint32_t side,
                                     std::uint32_t tiles_m, std::uint32_t tiles_n) {
  auto clipped = [side](std::uint32_t from, std::uint32_t end) {
    return from >= end ? 0 : end - from < side ? end - from : side;
  };
  return clipped(x, tiles_m) * clipped(y, tiles_n);
}

// Descends into the quarter that the index lies in, counting the tiles of those before it. The
// curve in a quarter is that of the whole, turned: x and y exchanged, or mirrored, or both.
constexpr TileIndex hilbert_tile(std::uint32_t index, std::uint32_t tiles_m, std::uint32_t tiles_n,
                                 std::uint32_t batch) {
  std::uint32_t side = 1, x = 0, y = 0;
  while (side < tiles_m || side < tiles_n) side *= 2;
  bool exchanged = false;
  std::uint32_t mirrored = 0;
  for (side /= 2; side > 0; side /= 2)
    for (std::uint32_t quarter = 0; quarter < 4; ++quarter) {
      const std::uint32_t first = quarter >> 1, second = (quarter ^ quarter >> 1) & 1;
      const std::uint32_t in_x = x + ((exchanged ? second : first) ^ mirrored) * side;
      const std::uint32_t in_y = y + ((exchanged ? first : second) ^ mirrored) * side;
      const std::uint32_t tiles = tiles_inside(in_x, in_y, side, tiles_m, tiles_n);
      if (index >= tiles) {
        index -= tiles;
        continue;
      }
      x = in_x, y = in_y;
      if (quarter == 0 || quarter == 3) exchanged = !exchanged;
      if (quarter == 3) mirrored ^= 1;
      break;
    }
  return {static_cast<std::int32_t>(x), static_cast<std::int32_t>(y),
          static_cast<std::int32_t>(batch)};
}

constexpr TileIndex tile_in_order(Raster raster, std::uint32_t index, std::uint32_t tiles_m,
                                  std::uint32_t tiles_n, std::uint32_t group,
                                  const RasterReciprocals& reciprocals) {
  if (raster == Raster::hilbert) {
    const std::uint32_t per_batch = tiles_m * tiles_n,
                        batch = divided(index, per_batch, reciprocals.batch);
    return hilbert_tile(index - batch * per_batch, tiles_m, tiles_n, batch);
  }
  TileIndex tile = tile_at(index, tiles_m, tiles_n, group, reciprocals);
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): bands have rows
  const bool is_second = static_cast<std::uint32_t>(tile.m) / group % 2 != 0;
  if (raster == Raster::snake && is_second)
    tile.n = static_cast<std::int32_t>(tiles_n) - 1 - tile.n;
  return tile;
}

}  // namespace bwgemm
