// SPDX-License-Identifier: Apache-2.0
// Quick: times of host code in tests: how they are taken, and when they are judged.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include "support/sanitized.h"

namespace bwgemm::test {

// Whether a time over its budget fails the test: where BWGEMM_TEST_TIMES is set, in optimized code,
// on a machine that does nothing else. Elsewhere times are printed only. Figures beside budgets are
// those of a Xeon of 2023 in a virtual machine that it shared with others (2026-11-26).
inline bool judges_times() {
#if defined(NDEBUG) && !BWGEMM_TEST_SANITIZED
  return std::getenv("BWGEMM_TEST_TIMES") != nullptr;
#else
  return false;
#endif
}

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
