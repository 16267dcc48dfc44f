// SPDX-License-Identifier: Apache-2.0
// Raster: the order in which tiles are computed, for host and device.
// The CTAs at work at one moment should share rows of A and columns of B in L2.
#pragma once

#include <cstdint>

namespace bwgemm {

struct TileIndex {
  std::int32_t m, n, batch;
};

enum class Raster : std::uint8_t {
  grouped,  // bands of `group` tile rows, column by column inside a band
  snake,    // the same, every second band backwards
  hilbert,  // along a Hilbert curve over the smallest square of a power of two, less what lies
            // outside of the output
};

// Divisors that the host knows before the launch: divisions are most of what a kernel does before
// its first load, and a reciprocal leaves a multiplication of them.
struct Reciprocal {
  std::uint32_t of_2_32 = 0;  // 2^32 over the divisor, rounded down; its greatest value for 1
};

// The product is the quotient or, since the reciprocal is rounded down, one less.
constexpr std::uint32_t divided(std::uint32_t value, std::uint32_t by, Reciprocal reciprocal) {
  const auto least = static_cast<std::uint32_t>(std::uint64_t{value} * reciprocal.of_2_32 >> 32);
  return least + (value - least * by >= by ? 1 : 0);
}

// Reciprocals of tile_at()'s divisors.
struct RasterReciprocals {
  Reciprocal batch;      // tiles of one
  Reciprocal band;       // tiles of one
  Reciprocal rows;       // of a band
  Reciprocal last_rows;  // of the last band, where it has fewer
};

// Raster::grouped.
constexpr TileIndex tile_at(std::uint32_t index, std::uint32_t tiles_m, std::uint32_t tiles_n,
                            std::uint32_t group, const RasterReciprocals& reciprocals) {
  const std::uint32_t per_batch = tiles_m * tiles_n;
  const std::uint32_t batch = divided(index, per_batch, reciprocals.batch);
  const std::uint32_t in_batch = index - batch * per_batch;
  const std::uint32_t band = divided(in_batch, group * tiles_n, reciprocals.band);
  const std::uint32_t in_band = in_batch - band * group * tiles_n;
  const std::uint32_t rows_left = tiles_m - band * group;
  const bool is_last = rows_left < group;
  const std::uint32_t rows = is_last ? rows_left : group;
  const std::uint32_t column =
      divided(in_band, rows, is_last ? reciprocals.last_rows : reciprocals.rows);
  return {static_cast<std::int32_t>(band * group + in_band - column * rows),
          static_cast<std::int32_t>(column), static_cast<std::int32_t>(batch)};
}

}  // namespace bwgemm
