// SPDX-License-Identifier: Apache-2.0
// Judges what a call wrote: every element against the sums in float64 and the contract of bwgemm.h,
// whatever NaN and Inf there are.
#pragma once

#include <string>

#include "case.h"

namespace bwgemm::fuzz {

// What a call read and what it wrote. Operands that are not there have no elements.
struct Evidence {
  bool integers;  // A and B hold such: sums that float holds must be exact
  const test::Matrix &a, &b, &c, &bias, &row_scale, &column_scale, &aux;
  const test::Matrix &after, &aux_after, &gradient;  // D, aux and the bias gradient
};

// Empty, or the first wrong element and how many there are.
std::string judged(const Call& call, const Evidence& evidence);

}  // namespace bwgemm::fuzz
