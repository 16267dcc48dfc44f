// SPDX-License-Identifier: Apache-2.0
// verify: compares a computed C with float64 arithmetic, within the error that the header of bwgemm
// allows.
#pragma once

#include <functional>
#include <string>

#include "gpu.h"
#include "problem.h"

namespace bwgemm::bench {

// Value of a 16-bit element.
float widen(std::uint16_t bits, bwgemmDataType_t type);

// All columns of C when that is cheap; otherwise sampled columns, and Freivalds' check of every row
// with a random vector of signs. `c_before` gives C's elements before the call, by their index in
// memory. Returns "ok" or what is wrong.
std::string verify(const BenchProblem& problem, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c,
                   const std::function<double(std::int64_t)>& c_before);

}  // namespace bwgemm::bench
