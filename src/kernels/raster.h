// SPDX-License-Identifier: Apache-2.0
// Raster: the order in which tiles are computed, shared by host (tests, cost model) and device.
// Tiles of one batch are walked in bands of `group` tile rows, column by column inside a band, so
// that the CTAs at work at one moment share rows of A and columns of B in L2.
#pragma once

#include <cstdint>

namespace bwgemm {

struct TileIndex {
  std::int32_t m, n, batch;
};

constexpr TileIndex tile_at(std::uint32_t index, std::uint32_t tiles_m, std::uint32_t tiles_n,
                            std::uint32_t group) {
  // The first batch, the first band and bands of one row do without their division: divisions are
  // most of what a kernel does before its first load.
  auto divided = [](std::uint32_t value, std::uint32_t by) { return value < by ? 0 : value / by; };
  const std::uint32_t per_batch = tiles_m * tiles_n;
  const std::uint32_t batch = divided(index, per_batch);
  const std::uint32_t in_batch = index - batch * per_batch;
  const std::uint32_t band = divided(in_batch, group * tiles_n);
  const std::uint32_t in_band = in_batch - band * group * tiles_n;
  const std::uint32_t rows_left = tiles_m - band * group;
  const std::uint32_t rows = rows_left < group ? rows_left : group;
  const std::uint32_t column = rows == 1 ? in_band : divided(in_band, rows);
  return {static_cast<std::int32_t>(band * group + in_band - column * rows),
          static_cast<std::int32_t>(column), static_cast<std::int32_t>(batch)};
}

}  // namespace bwgemm
