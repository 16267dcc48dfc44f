// SPDX-License-Identifier: Apache-2.0
// validated: the C arguments of a product -> Problem. The only judge of what callers pass in; what
// is behind it is legal, canonical and supported by type.
#pragma once

#include "api/arguments.h"
#include "bwgemm/bwgemm.h"
#include "core/problem.h"

namespace bwgemm {

struct ValidProblem : Problem {
  bool is_exchanged = false;  // its A is the call's B
};

// Error(INVALID_VALUE) names the first argument, in the order of bwgemmGemmEx and then of the
// struct, that breaks a rule; only then Error(NOT_SUPPORTED) what no kernel serves. An empty()
// problem has no pointers in it.
ValidProblem validated(const Arguments& arguments, bwgemmPointerMode_t pointer_mode);

}  // namespace bwgemm
