// SPDX-License-Identifier: Apache-2.0
// TimedProblems: the problems of sweeps, with all that predicting their variants' times needs and
// that does not change with the constants.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "regret.h"
#include "select/candidate.h"

namespace bwgemm::bench {

struct TimedVariant {
  double us;  // measured
  Problem seen;
  DeviceFacts usable;
  const KernelConfig* config;
  int tile_n, splits;
  SplitReduction reduction;
  double copies_us, parts;  // the whole takes copies_us + parts * what is predicted of one

  double predicted_us() const;
};

struct TimedProblem {
  double best_us;                      // of the variants
  std::vector<TimedVariant> variants;  // at least one
};

// Of one sweep's file, without the variants that the library of now has not. Throws
// std::runtime_error.
std::vector<TimedProblem> read_problems(const std::string& path);

// What the variant that is predicted to be fastest takes over the best, less 1.
double regret_of(const TimedProblem& problem);
RegretSummary regret_of(std::span<const TimedProblem> problems);
RegretSummary summary_of(std::span<const double> regrets);

}  // namespace bwgemm::bench
