// SPDX-License-Identifier: Apache-2.0
// autotune: finds the fastest way to compute a product by timing it on the caller's operands, and
// has the handle remember it.
#pragma once

#include <cstdint>

#include "api/arguments.h"
#include "api/handle.h"

namespace bwgemm {

struct AutotuneOptions {
  int candidates = 16;
  int repetitions = 11;
  double tolerance = 0.02;
};

// The caller's struct, or what counts where there is none. Error(INVALID_VALUE) names a member.
AutotuneOptions known_options(const bwgemmAutotuneOptions_t* options);

// As bwgemmMatmulAutotune says; -1 if there is nothing to compute.
std::int64_t autotune(Handle& handle, const Arguments& arguments, const AutotuneOptions& options);

}  // namespace bwgemm
