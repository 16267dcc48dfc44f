// SPDX-License-Identifier: Apache-2.0
// Judges what a call wrote: every element against the sums in float64 and the contract of bwgemm.h,
// whatever NaN and Inf there are.
#pragma once

#include <string>

#include "case.h"

namespace bwgemm::fuzz {

// Empty, or the first wrong element and how many there are. `before` and `after` are C; with
// `integers`, A and B hold such, and sums that float holds must be exact.
std::string judged(const Call& call, bool integers, const test::Matrix& a, const test::Matrix& b,
                   const test::Matrix& before, const test::Matrix& after);

}  // namespace bwgemm::fuzz
