// SPDX-License-Identifier: Apache-2.0
// What keeps the compiler from computing values earlier, later or more often than where they are
// written.
#pragma once

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

// The same for what the compiler would derive again in the main loop.
BWGEMM_DEVICE std::uint64_t computed_once(std::uint64_t value) {
  asm volatile("" : "+l"(value));
  return value;
}

}  // namespace bwgemm
