// SPDX-License-Identifier: Apache-2.0
// price: what batch invariance costs: times of the same call with and without it, in turn.
#pragma once

#include <string>
#include <vector>

#include "gpu.h"
#include "measure.h"
#include "problem.h"
#include "sensors.h"

namespace bwgemm::bench {

struct Price {
  BenchProblem problem;
  std::string free_kernel, invariant_kernel;
  double free_us = 0, invariant_us = 0;  // medians
  double ratio = 0;                      // of the times of pairs, the median: above 1 it costs
};

// Throws std::runtime_error.
Price measure_price(const Gpu& gpu, const BenchProblem& problem, const MeasureOptions& options);

std::string price_line(const Price& price);
// The geometric mean.
std::string price_summary(const std::vector<Price>& prices);
std::string price_csv(const std::vector<Price>& prices);

}  // namespace bwgemm::bench
