// SPDX-License-Identifier: Apache-2.0
// price: what something costs: times of the same product with and without it, in turn.
#pragma once

#include <string>
#include <vector>

#include "gpu.h"
#include "measure.h"
#include "problem.h"

namespace bwgemm::bench {

enum class Priced {
  batch_invariance,  // of the handle
  epilogue           // against the GEMM without it, and without beta
};

struct Price {
  BenchProblem problem;
  std::string check = "not run";  // of the call with it, and where there is one, of the two kernels
  std::string free_kernel, priced_kernel;
  double free_us = 0, priced_us = 0;  // medians
  double ratio = 0;                   // of the times of pairs, the median: above 1 it costs
  // Likewise of bwgemm's GEMM with the kernel behind it that follows cuBLASLt's; 0: there is none.
  double apart_us = 0, apart_ratio = 0;
};

// Why there is nothing to price; "" if there is.
std::string not_priced(Priced priced, const BenchProblem& problem);

// Checks results, and times them, as the options say. Throws std::runtime_error.
Price measure_price(const Gpu& gpu, Priced priced, const BenchProblem& problem,
                    const MeasureOptions& options);

bool is_good(const Price& price);
std::string price_line(const Price& price);
// The geometric mean, and the largest.
std::string price_summary(const std::vector<Price>& prices);
std::string price_csv(Priced priced, const std::vector<Price>& prices);

}  // namespace bwgemm::bench
