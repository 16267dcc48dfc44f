// SPDX-License-Identifier: Apache-2.0
// What only the host asks of a raster (device/raster.h): its name, and the reciprocals of a launch.
#pragma once

#include <string_view>

#include "device/raster.h"

namespace bwgemm {

constexpr std::string_view name(Raster raster) {
  switch (raster) {
    case Raster::grouped: return "grouped";
    case Raster::snake: return "snake";
    case Raster::hilbert: return "hilbert";
  }
  return "?";
}

constexpr Reciprocal reciprocal(std::uint32_t divisor) {
  if (divisor <= 1) return {0xffffffff};
  return {static_cast<std::uint32_t>((std::uint64_t{1} << 32) / divisor)};
}

constexpr RasterReciprocals raster_reciprocals(std::uint32_t tiles_m, std::uint32_t tiles_n,
                                               std::uint32_t group) {
  return {reciprocal(tiles_m * tiles_n), reciprocal(group * tiles_n), reciprocal(group),
          reciprocal(group == 0 ? 0 : tiles_m % group)};
}

}  // namespace bwgemm
