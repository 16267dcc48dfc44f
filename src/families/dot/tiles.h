// SPDX-License-Identifier: Apache-2.0
// How Family::dot cuts the weights (B of the problem as the kernel sees it) into tiles, for host
// and device alike. A line of weights is a row of them along k (K-major), or all of n at one k
// (N-major). Lines are read in aligned units of 16 bytes wherever they start, so a CTA or a warp
// takes lines that start alike: every 1st, 2nd, 4th or 8th, which is one class of lines.
#pragma once

#include <cstdint>

#include "core/kernel_config.h"

namespace bwgemm::dot {

inline constexpr int unit_elements = 8;  // 16-bit elements in 16 bytes

// Products of one row, by a kernel of their own (vectors.h), whose lines may all start differently.
constexpr bool is_of_vectors(const KernelConfig& config) {
  return config.tile.m == 1;
}

// Classes of lines that are `ld` elements apart: 1, 2, 4 or 8.
constexpr int line_classes(std::int64_t ld) {
  return (ld & 1) != 0 ? 8 : (ld & 2) != 0 ? 4 : (ld & 4) != 0 ? 2 : 1;
}

// N-major columns of one team. Lines that do not start at 16 bytes are read from up to seven
// elements before the team's first column, which leaves a unit less.
constexpr int columns_per_tile(int tile_n, bool is_aligned) {
  return is_aligned ? tile_n : tile_n - unit_elements;
}

constexpr bool is_aligned(std::uintptr_t address, std::int64_t ld, std::int64_t batch_stride) {
  return (address & 15) == 0 && ((ld | batch_stride) & (unit_elements - 1)) == 0;
}

// Tiles along n of one batch. A K-major tile holds rows of one class.
constexpr std::int64_t tiles_along_n(const KernelConfig& config, std::int64_t n,
                                     std::uintptr_t address, std::int64_t ld,
                                     std::int64_t batch_stride) {
  if (is_of_vectors(config)) return (n + config.tile.n - 1) / config.tile.n;
  if (config.b == Major::k) {
    const int classes = line_classes(ld);
    const std::int64_t rows = (n + classes - 1) / classes;
    return classes * ((rows + config.tile.n - 1) / config.tile.n);
  }
  const int columns = columns_per_tile(config.tile.n, is_aligned(address, ld, batch_stride));
  // dot::invalid_because() leaves columns of both kinds.
  return (n + columns - 1) / columns;  // NOLINT(clang-analyzer-core.DivideZero)
}

}  // namespace bwgemm::dot
