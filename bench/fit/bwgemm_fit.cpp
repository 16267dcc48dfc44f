// SPDX-License-Identifier: Apache-2.0
// bwgemm_fit: fits the constants of Hopper's cost model to sweeps and prints them, or prints what
// corrections of the model are fitted to. Changes no file.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iterator>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "constants.h"
#include "fit.h"
#include "select/correction.h"
#include "timed_problems.h"

namespace bwgemm::bench {
namespace {

constexpr const char* usage =
    "usage: bwgemm_fit --features [--start FILE] SWEEP.csv...\n"
    "       bwgemm_fit [--held FILE]... [--start FILE] [--rounds N] [--cross-validate N] "
    "SWEEP.csv...\n";

struct Options {
  std::vector<std::string> files, held;
  std::string start;  // empty: the library's constants
  int rounds = 25;
  int folds = 0;  // of cross-validation; 0: none
  bool prints_features = false;
};

int positive(std::string_view option, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || end != text.end() || value < 1)
    throw std::runtime_error(std::string(option) + ": not a number above 0: " + std::string(text));
  return value;
}

Options parse_options(std::span<const char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--features") {
      options.prints_features = true;
      continue;
    }
    if (!argument.starts_with("--")) {
      options.files.emplace_back(argument);
      continue;
    }
    if (++i == arguments.size()) throw std::runtime_error(std::string(argument) + ": of what?");
    if (argument == "--held")
      options.held.emplace_back(arguments[i]);
    else if (argument == "--start")
      options.start = arguments[i];
    else if (argument == "--rounds")
      options.rounds = positive(argument, arguments[i]);
    else if (argument == "--cross-validate")
      options.folds = positive(argument, arguments[i]);
    else
      throw std::runtime_error("no such option: " + std::string(argument));
  }
  if (options.files.empty()) throw std::runtime_error("no sweep to fit to");
  if (options.folds == 1) throw std::runtime_error("--cross-validate: at least 2 parts");
  return options;
}

void print(const char* when, const std::string& what, const RegretSummary& regret) {
  std::printf("%-7s %s: %zu problems, mean %.2f%%, 95th percentile %.2f%%, worst %.2f%%\n", when,
              what.c_str(), regret.problems, 100 * regret.mean, 100 * regret.p95,
              100 * regret.worst);
  std::fflush(stdout);
}

struct HeldOut {
  std::string file;
  std::vector<TimedProblem> problems;
};

void print(const char* when, std::span<const TimedProblem> fitted, std::span<const HeldOut> held) {
  print(when, "fitted to", regret_of(fitted));
  for (const HeldOut& one : held) print(when, one.file, regret_of(one.problems));
}

// Each part of the problems is judged by constants that were fitted to the others.
void cross_validate(const Options& options, std::vector<TimedProblem> problems,
                    std::span<const HeldOut> held, std::span<const Constant> constants) {
  if (std::ssize(problems) < options.folds)
    throw std::runtime_error("--cross-validate: more parts than problems");
  std::mt19937 random(5);
  std::shuffle(problems.begin(), problems.end(), random);
  const auto part = [&](int index) {
    return problems.begin() + std::ssize(problems) * index / options.folds;
  };
  std::vector<double> regrets;
  for (int fold = 0; fold < options.folds; ++fold) {
    std::vector<TimedProblem> others(problems.begin(), part(fold));
    others.insert(others.end(), part(fold + 1), problems.end());
    for (const Constant& constant : constants) *constant.value = constant.start;
    fit(others, constants, options.rounds, [](int, double) {});
    print("after", others, held);
    const std::size_t before = regrets.size();
    std::transform(part(fold), part(fold + 1), std::back_inserter(regrets),
                   [](const TimedProblem& problem) { return regret_of(problem); });
    print("after", "left out", summary_of(std::span(regrets).subspan(before)));
  }
  print("after", "all, left out in turn", summary_of(regrets));
}

void fit_all(const Options& options, std::span<const TimedProblem> problems,
             std::span<const HeldOut> held, std::span<const Constant> constants) {
  std::printf("round 0: %.5f\n", objective(problems, constants));
  fit(problems, constants, options.rounds, [](int round, double reached) {
    std::printf("round %d: %.5f\n", round, reached);
    std::fflush(stdout);
  });
  print("after", problems, held);
  for (const Constant& constant : constants)
    std::printf("%s %.4g %.4g\n", constant.name.c_str(), constant.start, *constant.value);
}

// What correction_trees.py fits to: a row for each kernel that is predicted to be fast, of devices
// of which corrections are known.
void print_features(std::span<const TimedProblem> problems) {
  constexpr double furthest = 1.35;  // so that the script may compare more than the library
  for (std::size_t number = 0; number < problems.size(); ++number) {
    const TimedProblem& problem = problems[number];
    double least_us = std::numeric_limits<double>::infinity();
    for (const TimedVariant& variant : problem.variants)
      least_us = std::min(least_us, variant.predicted_us());
    for (const TimedVariant& variant : problem.variants) {
      const double us = variant.predicted_us();
      if (!is_corrected(variant.usable) || us >= furthest * least_us) continue;
      std::printf("%zu,%.4f,%.4f,%.4f", number, variant.us, us, problem.best_us);
      const Predicted kernel{variant.seen, *variant.config, variant.tile_n, variant.splits, us};
      for (const int feature : correction_features_of(kernel, variant.usable, least_us))
        std::printf(",%d", feature);
      std::printf("\n");
    }
  }
}

void run(const Options& options) {
  std::vector<TimedProblem> problems;
  for (const std::string& file : options.files) {
    std::vector<TimedProblem> more = read_problems(file);
    problems.insert(problems.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
  }
  std::vector<Constant> constants = fitted_constants();
  if (!options.start.empty()) start_from(constants, options.start);
  if (options.prints_features) return print_features(problems);
  std::vector<HeldOut> held;
  for (const std::string& file : options.held) held.push_back({file, read_problems(file)});
  print("before", problems, held);
  if (options.folds > 0)
    cross_validate(options, std::move(problems), held, constants);
  else
    fit_all(options, problems, held, constants);
}

}  // namespace
}  // namespace bwgemm::bench

int main(int count, char** arguments) {
  using namespace bwgemm::bench;
  try {
    run(parse_options({arguments + 1, static_cast<std::size_t>(count - 1)}));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwgemm_fit: %s\n%s", error.what(), usage);
    return 2;
  }
}
