// SPDX-License-Identifier: Apache-2.0
// Fit: the constants with which the model loses least by its choices, and orders kernels as their
// times do.
#pragma once

#include <functional>
#include <span>

#include "constants.h"
#include "timed_problems.h"

namespace bwgemm::bench {

// What is minimized, the mean over the problems of
// - what the chosen variant loses, where all that are predicted to be within a few percent of the
//   best are chosen in part, so that the sum changes steadily with the constants;
// - the variance of the logarithms of measured over predicted times, of fast variants above all; a
//   factor that is common to all of a problem's variants changes no choice and costs nothing;
// - a little for constants far from where they started: few problems tell of some of them.
double objective(std::span<const TimedProblem> problems, std::span<const Constant> constants);

// Changes the constants, in at most so many rounds; the same every time. Calls after_round(number,
// objective). Returns the objective reached.
double fit(std::span<const TimedProblem> problems, std::span<const Constant> constants, int rounds,
           const std::function<void(int, double)>& after_round);

}  // namespace bwgemm::bench
