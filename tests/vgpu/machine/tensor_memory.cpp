// SPDX-License-Identifier: Apache-2.0
#include "vgpu/machine/tensor_memory.h"

#include <algorithm>
#include <limits>

namespace bwgemm::vgpu {

void TensorMemory::prepare() {
  if (!values.empty()) return;
  values.assign(lanes * columns, std::numeric_limits<float>::quiet_NaN());
  cells.resize(quarters * columns);
}

// In one block or in several side by side.
bool TensorMemory::is_allocated(std::uint32_t first, std::uint32_t count) const {
  const std::uint32_t end = first + count;
  for (bool grows = true; grows && first < end;) {
    grows = false;
    for (const Block& block : blocks)
      if (block.first <= first && first < block.first + block.count) {
        first = block.first + block.count;
        grows = true;
      }
  }
  return first >= end;
}

TensorMemory::Block* TensorMemory::block_at(std::vector<Block>& blocks, std::uint32_t first) {
  const auto found = std::find_if(blocks.begin(), blocks.end(),
                                  [&](const Block& block) { return block.first == first; });
  return found != blocks.end() ? &*found : nullptr;
}

void TensorMemory::free(const Block& block) {
  const Block gone = block;
  for (auto* list : {&blocks, &freed})
    std::erase_if(*list, [&](const Block& one) { return one.first == gone.first; });
  freed.push_back(gone);
}

}  // namespace bwgemm::vgpu
