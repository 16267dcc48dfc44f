// SPDX-License-Identifier: Apache-2.0
// Tensor memory of one CTA: 128 lanes of 512 columns, who allocated them, and who wrote and read
// each column of each warp's quarter.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vgpu/warp.h"

namespace bwgemm::vgpu {

struct TensorMemory {
  static constexpr std::uint32_t lanes = 128, columns = 512, quarters = 4;

  using Cell = TensorCell;

  std::vector<float> values;  // [lane][column]; allocated when first used
  std::vector<Cell> cells;    // [quarter][column]
  std::array<bool, columns> allocated{};
  bool relinquished = false;

  void prepare();
  float* row(std::uint32_t lane) { return &values[lane * columns]; }
  Cell& cell(std::uint32_t quarter, std::uint32_t column) {
    return cells[quarter * columns + column];
  }
  bool is_allocated(std::uint32_t first, std::uint32_t count) const;
  bool any_allocated() const;
};

}  // namespace bwgemm::vgpu
