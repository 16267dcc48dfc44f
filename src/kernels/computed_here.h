// SPDX-License-Identifier: Apache-2.0
// What keeps values of the epilogue out of the registers of the main loop.
#pragma once

#include "kernels/params.h"
#include "kernels/ptx/attributes.h"

namespace bwgemm {

// Hides where a value comes from: what follows from it in a loop is computed there.
BWGEMM_DEVICE int computed_here(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// FusedParams::operations, read anew.
BWGEMM_DEVICE std::uint32_t operations_of(const KernelParams& params) {
  return static_cast<std::uint32_t>(computed_here(static_cast<int>(params.fused.operations)));
}

}  // namespace bwgemm
