// SPDX-License-Identifier: Apache-2.0
// Tensor memory of one CTA: 128 lanes of 512 columns, what of them the CTA has allocated, and who
// wrote and read each column of each warp's quarter.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "vgpu/machine/warp.h"

namespace bwgemm::vgpu {

struct TensorMemory {
  static constexpr std::uint32_t lanes = 128, columns = 512, quarters = 4;

  using Cell = TensorCell;

  // One allocation, and when it was over for the CTA's own alloc: by whom and when, and the phase
  // of the cluster barrier that the warp arrives at next. Of a pair's odd CTA it is not over before
  // that CTA's own alloc.
  struct Block {
    std::uint32_t first, count;
    bool is_over = false;
    Entity by = 0;
    Time at = 0;
    std::uint32_t phase = 0;
  };
  // What the even CTA of a pair has allocated in this, the odd one, whose alloc is to come.
  struct Offer {
    std::uint32_t first, count, slot;
    View written;  // the slot
  };

  std::vector<float> values;         // [lane][column]; allocated when first used
  std::vector<Cell> cells;           // [quarter][column]
  std::vector<Block> blocks, freed;  // freed: the last at each place
  std::deque<Offer> offers;
  bool relinquished = false;

  void prepare();
  float* row(std::uint32_t lane) { return &values[lane * columns]; }
  Cell& cell(std::uint32_t quarter, std::uint32_t column) {
    return cells[quarter * columns + column];
  }
  bool is_allocated(std::uint32_t first, std::uint32_t count) const;
  static Block* block_at(std::vector<Block>& blocks, std::uint32_t first);  // null: there is none
  void free(const Block& block);
};

}  // namespace bwgemm::vgpu
