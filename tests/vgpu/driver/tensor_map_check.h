// SPDX-License-Identifier: Apache-2.0
// The arguments of cuTensorMapEncodeTiled: every rule that its documentation states, as a check.
#pragma once

#include <optional>

#include "vgpu/driver/api.h"
#include "vgpu/tensor_map.h"

namespace bwgemm::vgpu::driver {

struct TensorMapArguments {
  CUtensorMapDataType type;
  cuuint32_t rank;
  void* address;
  const cuuint64_t* dims;
  const cuuint64_t* strides;
  const cuuint32_t* box;
  const cuuint32_t* element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill oob_fill;
};

// The rule that is broken; null: none.
const char* broken_rule(const TensorMapArguments& arguments);

// Of arguments that break no rule. Nothing, if the virtual machine does not know such maps.
std::optional<TensorMapFields> fields_of(const TensorMapArguments& arguments);

}  // namespace bwgemm::vgpu::driver
