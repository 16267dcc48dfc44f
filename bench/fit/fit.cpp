// SPDX-License-Identifier: Apache-2.0
#include "fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace bwgemm::bench {

namespace {

constexpr double soft_choice = 0.015;  // the share of the best's time within which choice is soft
constexpr double most_lost = 1;        // by one variant: a wild time must not count for many
constexpr double weight_of_moves = 0.1;

// Large losses count more than in proportion.
double lost(const TimedVariant& variant, double best_us) {
  const double regret = variant.us / best_us - 1;
  return std::min(regret + 2 * regret * regret, most_lost);
}

double lost_by_choice(const TimedProblem& problem, std::span<const double> logs) {
  const double least = *std::min_element(logs.begin(), logs.end());
  double weights = 0, sum = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const double weight = std::exp((least - logs[i]) / soft_choice);
    weights += weight;
    sum += weight * lost(problem.variants[i], problem.best_us);
  }
  return sum / weights;
}

double variance_of_errors(const TimedProblem& problem, std::span<const double> logs) {
  double weights = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const double us = problem.variants[i].us;
    const double weight = std::pow(problem.best_us / us, 8);
    const double error = std::log(us) - logs[i];
    weights += weight;
    sum += weight * error;
    squares += weight * error * error;
  }
  const double mean = sum / weights;
  return squares / weights - mean * mean;
}

}  // namespace

double objective(std::span<const TimedProblem> problems, std::span<const Constant> constants) {
  double sum = 0;
  std::vector<double> logs;  // of predicted times
  for (const TimedProblem& problem : problems) {
    logs.clear();
    for (const TimedVariant& variant : problem.variants)
      logs.push_back(std::log(variant.predicted_us()));
    sum += lost_by_choice(problem, logs) + variance_of_errors(problem, logs);
  }
  for (const Constant& constant : constants)
    sum += weight_of_moves * constant.moved() * constant.moved();
  return sum / static_cast<double>(problems.size());
}

// One constant at a time, up or else down by a step of its own, which grows where that helped and
// shrinks where it did not.
double fit(std::span<const TimedProblem> problems, std::span<const Constant> constants, int rounds,
           const std::function<void(int, double)>& after_round) {
  constexpr double first_step = 0.04, least_step = 0.004, largest_step = 0.3;
  constexpr double least_gain = 1e-9, least_gain_of_round = 2e-6;
  std::vector<double> steps(constants.size(), first_step);  // of logarithms
  std::vector<std::size_t> order(constants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  double best = objective(problems, constants);
  const auto improves = [&](double& value, double changed) {
    const double was = value;
    value = changed;
    const double reached = objective(problems, constants);
    if (reached < best - least_gain) {
      best = reached;
      return true;
    }
    value = was;
    return false;
  };
  for (int round = 1; round <= rounds; ++round) {
    const double before = best;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      double& value = *constants[i].value;
      const double factor = std::exp(steps[i]);
      const bool moved = improves(value, value * factor) || improves(value, value / factor);
      steps[i] = std::clamp(steps[i] * (moved ? 1.5 : 0.6), least_step, largest_step);
    }
    after_round(round, best);
    if (before - best < least_gain_of_round) break;
  }
  return best;
}

}  // namespace bwgemm::bench
