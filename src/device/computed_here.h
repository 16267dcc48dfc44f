// SPDX-License-Identifier: Apache-2.0
// What keeps the compiler from computing values earlier, or later, than where they are written.
#pragma once

#include "device/params.h"
#include "device/ptx/attributes.h"

namespace bwgemm {

// Hides where a value comes from: what follows from the value in a loop is computed in that loop.
// The value itself is computed in front of the volatile statements that follow.
BWGEMM_DEVICE int computed_here(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

template <class Value>
BWGEMM_DEVICE const Value* computed_here(const Value* value) {
  asm volatile("" : "+l"(value));
  return value;
}

// FusedParams::operations, read anew.
BWGEMM_DEVICE std::uint32_t operations_of(const KernelParams& params) {
  return static_cast<std::uint32_t>(computed_here(static_cast<int>(params.fused.operations)));
}

}  // namespace bwgemm
