// SPDX-License-Identifier: Apache-2.0
// verify: compares a computed C with float64 arithmetic, within the error that the header of bwgemm
// allows, or a coarser one.
#pragma once

#include <functional>
#include <string>

#include "call.h"
#include "problem.h"

namespace bwgemm::bench {

// Value of a 16-bit element.
float widen(std::uint16_t bits, bwgemmDataType_t type);

// Of a result: as bwgemm promises; or of others, who may have rounded x to 16 bits before they
// applied an activation, which may be an approximation.
enum class Precision { of_bwgemm, of_others };

// All columns of C when that is cheap; otherwise sampled columns and, of a sum of terms, Freivalds'
// check of every row with a random vector of signs, else one element of each patch of C. `c_before`
// gives C's elements before the call, by their index in memory. Returns "ok" or what is wrong.
std::string verify(const BenchProblem& problem, const Pointers& at,
                   const std::function<double(std::int64_t)>& c_before, Precision precision);

}  // namespace bwgemm::bench
