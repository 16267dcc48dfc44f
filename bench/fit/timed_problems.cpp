// SPDX-License-Identifier: Apache-2.0
#include "timed_problems.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/error.h"
#include "families/registry.h"
#include "model_inputs.h"
#include "sweep_file.h"

namespace bwgemm::bench {

namespace {

TimedVariant timed_variant(const ModelInputs& inputs, double us) {
  const double copies_us = inputs.source.whole_us(0);
  return {us,
          inputs.seen(),
          inputs.usable,
          inputs.config,
          inputs.tile_n,
          inputs.splits,
          inputs.reduction,
          copies_us,
          inputs.source.whole_us(1) - copies_us};
}

TimedProblem timed_problem(const ProblemRegret& timed) {
  const Problem canonical = library_problem(timed.problem);
  const DeviceFacts usable = usable_facts(timed.device);
  TimedProblem problem{std::numeric_limits<double>::max(), {}};
  for (const Timed& one : timed.timed) {
    const ModelInputs inputs = model_inputs(canonical, usable, one.variant);
    if (inputs.rejected != nullptr) continue;
    problem.variants.push_back(timed_variant(inputs, one.us));
    problem.best_us = std::min(problem.best_us, one.us);
  }
  return problem;
}

// Only the times of a variant are brought together here.
Judgement unjudged(const BenchProblem&, NominalDevice, std::span<const Variant> variants) {
  return {std::vector<Prediction>(variants.size()), {}};
}

}  // namespace

double TimedVariant::predicted_us() const {
  return copies_us + parts * bwgemm::predicted_us(seen, usable, *config, tile_n, splits, reduction);
}

std::vector<TimedProblem> read_problems(const std::string& path) {
  std::vector<TimedProblem> all;
  try {
    for (const ProblemRegret& timed : regrets(read_sweep(path), unjudged)) {
      TimedProblem problem = timed_problem(timed);
      if (!problem.variants.empty()) all.push_back(std::move(problem));
    }
  } catch (const Error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  if (all.empty()) throw std::runtime_error(path + ": no times of kernels that the library has");
  return all;
}

double regret_of(const TimedProblem& problem) {
  double least = std::numeric_limits<double>::max(), us = 0;
  for (const TimedVariant& variant : problem.variants)
    if (const double predicted = variant.predicted_us(); predicted < least) {
      least = predicted;
      us = variant.us;
    }
  return us / problem.best_us - 1;
}

RegretSummary regret_of(std::span<const TimedProblem> problems) {
  std::vector<double> values;
  for (const TimedProblem& problem : problems) values.push_back(regret_of(problem));
  return summary_of(values);
}

RegretSummary summary_of(std::span<const double> regrets) {
  RegretSummary summary;
  summary.problems = regrets.size();
  for (const double value : regrets) {
    summary.mean += value / static_cast<double>(regrets.size());
    summary.worst = std::max(summary.worst, value);
  }
  summary.p95 = percentile({regrets.begin(), regrets.end()}, 0.95);
  return summary;
}

}  // namespace bwgemm::bench
