// SPDX-License-Identifier: Apache-2.0
// Quick: times of host code in tests: how they are taken, and how much longer than on the machine
// that budgets are held on another may take.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

#include "support/sanitized.h"

namespace bwgemm::test {

// Times mean something in optimized code only.
#if defined(NDEBUG) && !BWGEMM_TEST_SANITIZED
inline constexpr bool is_optimized = true;
#else
inline constexpr bool is_optimized = false;
#endif

// Figures beside bounds are those of a Xeon of 2023 in a virtual machine that it shared with others
// (2026-11-26). Machines that test were seen to take twice as long; the rest is for what else they
// do meanwhile. What holds with it fails when code becomes several times slower.
inline constexpr double allowance = 2.5;

// Of one of the calls that a round makes; of the best round, so that what else the machine does
// does not count.
template <class Round>
double best_ns(int rounds, int calls, const Round& round) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    round();
    const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
    best = std::min(best, spent.count() / calls);
  }
  return best;
}

}  // namespace bwgemm::test
