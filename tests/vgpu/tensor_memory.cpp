// SPDX-License-Identifier: Apache-2.0
#include "vgpu/tensor_memory.h"

#include <algorithm>
#include <limits>

namespace bwgemm::vgpu {

void TensorMemory::prepare() {
  if (!values.empty()) return;
  values.assign(lanes * columns, std::numeric_limits<float>::quiet_NaN());
  cells.resize(quarters * columns);
}

bool TensorMemory::is_allocated(std::uint32_t first, std::uint32_t count) const {
  return first + count <= columns &&
         std::all_of(allocated.begin() + first, allocated.begin() + first + count,
                     [](bool column) { return column; });
}

bool TensorMemory::any_allocated() const {
  return std::find(allocated.begin(), allocated.end(), true) != allocated.end();
}

}  // namespace bwgemm::vgpu
