// SPDX-License-Identifier: Apache-2.0
// Regret: how much slower the kernel that selection chooses is than the fastest that was timed, and
// how well the cost model predicts every kernel. Pure: from a sweep's rows and the selection that
// is compiled into this program.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sweep_file.h"

namespace bwgemm::bench {

struct Timed {
  Variant variant;
  double us = 0;            // the least, if it was timed more than once
  double predicted_us = 0;  // by the selection of now; 0: it rejects the kernel, or has none such
};

struct ProblemRegret {
  BenchProblem problem;
  NominalDevice device = NominalDevice::h200;
  std::vector<Timed> timed;  // fastest first
  Prediction choice;         // of now
  // Index of the choice in `timed`, of other splits, or sums elsewhere, if it was timed with those
  // only; -1: the choice was not timed.
  int chosen = -1;
  bool other_splits = false;

  double ratio() const { return timed[static_cast<std::size_t>(chosen)].us / timed.front().us; }
};

// What the selection says of a problem.
struct Judgement {
  std::vector<Prediction> predictions;  // one for each of the variants asked for, in their order
  Prediction choice;
};
using Judge = std::function<Judgement(const BenchProblem& problem, NominalDevice device,
                                      std::span<const Variant> variants)>;
Judgement judge(const BenchProblem& problem, NominalDevice device,
                std::span<const Variant> variants);

// In the order in which the problems first appear.
std::vector<ProblemRegret> regrets(std::span<const SweepRow> rows, const Judge& judge);

// Makes the choice what BWGEMM_TUNE=1 would choose if it measured so many and the sweep's times: of
// the choice and then the best predicted, the first that is within 2 % of the fastest of them.
void choose_measured(ProblemRegret& regret, int candidates);

// Of the problems whose choice was timed.
struct RegretSummary {
  std::size_t problems = 0, not_timed = 0;
  double mean = 0, p95 = 0, worst = 0;  // of the ratios chosen / fastest, less 1
};
RegretSummary summary_of(std::span<const ProblemRegret> regrets);

// The value below which a share of the values lies, between neighbours interpolated; 0 of none.
double percentile(std::vector<double> values, double share);

// The problem's kernels with measured and predicted times.
std::string details(const ProblemRegret& regret);
// The `worst` largest regrets, the model's error for each shape of kernel, and the summary.
std::string regret_text(std::span<const ProblemRegret> regrets, std::size_t worst);
std::string regret_csv(std::span<const ProblemRegret> regrets);

}  // namespace bwgemm::bench
