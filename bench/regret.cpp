// SPDX-License-Identifier: Apache-2.0
#include "regret.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "classes.h"
#include "row.h"

namespace bwgemm::bench {

namespace {

template <class... Values>
void add_line(std::string& text, const char* format, Values... values) {
  std::array<char, 512> line{};
  std::snprintf(line.data(), line.size(), format, values...);
  text += line.data();
}

std::string label(const Variant& variant) {
  std::string text = variant.kernel;
  if (text.find('N') != std::string::npos) text += " tile_n " + std::to_string(variant.tile_n);
  if (variant.splits > 1) text += " splits " + std::to_string(variant.splits);
  if (variant.reduces_in_cluster) text += " in clusters";
  if (variant.operands != "in_place") text += " with operands " + variant.operands;
  return text;
}

void add_time(ProblemRegret& of, const SweepRow& row) {
  const auto same = std::find_if(of.timed.begin(), of.timed.end(),
                                 [&](const Timed& t) { return t.variant == row.variant; });
  if (same == of.timed.end())
    of.timed.push_back({row.variant, row.us, 0});
  else
    same->us = std::min(same->us, row.us);
}

// Exact, or of the nearest number of splits, rather with sums at the same place: a change of the
// model may move that by one.
void find_choice(ProblemRegret& of) {
  const Variant& wanted = of.choice.variant;
  int nearest = 1 << 30;
  for (std::size_t i = 0; i < of.timed.size(); ++i) {
    const Variant& variant = of.timed[i].variant;
    const int distance = 2 * std::abs(variant.splits - wanted.splits) +
                         (variant.reduces_in_cluster != wanted.reduces_in_cluster ? 1 : 0);
    if (variant.kernel != wanted.kernel || variant.tile_n != wanted.tile_n ||
        variant.operands != wanted.operands || distance >= nearest)
      continue;
    nearest = distance;
    of.chosen = static_cast<int>(i);
    of.other_splits = distance != 0;
  }
}

// The kernel without its types and what the problem fixes: majors.
std::string shape_of(const std::string& kernel) {
  std::string shape = kernel;
  for (const char* part : {"bwgemm_", "b16_", "kk_", "kn_", "mk_", "mn_"})
    if (const std::size_t at = shape.find(part); at != std::string::npos)
      shape.erase(at, std::string(part).size());
  return shape;
}

// Predicted over measured time: its geometric mean, and how far from it a kernel typically is.
struct ModelError {
  std::vector<double> logs;

  double mean() const {
    double sum = 0;
    for (const double value : logs) sum += value;
    return sum / static_cast<double>(logs.size());
  }
  double deviation() const {
    double squares = 0;
    for (const double value : logs) squares += (value - mean()) * (value - mean());
    return std::sqrt(squares / static_cast<double>(logs.size()));
  }
};

void add_model_errors(std::string& text, std::span<const ProblemRegret> regrets) {
  std::map<std::string, ModelError> errors;
  for (const ProblemRegret& regret : regrets)
    for (const Timed& timed : regret.timed)
      if (timed.predicted_us > 0)
        errors[shape_of(timed.variant.kernel)].logs.push_back(
            std::log(timed.predicted_us / timed.us));
  add_line(text, "%-44s %6s %18s %10s\n", "shape", "times", "predicted/measured", "scatter");
  for (const auto& [shape, error] : errors)
    add_line(text, "%-44s %6zu %18.3f %9.1f%%\n", shape.c_str(), error.logs.size(),
             std::exp(error.mean()), 100 * (std::exp(error.deviation()) - 1));
}

void add_worst(std::string& text, std::span<const ProblemRegret> regrets, std::size_t count) {
  std::vector<const ProblemRegret*> order;
  for (const ProblemRegret& regret : regrets)
    if (regret.chosen >= 0) order.push_back(&regret);
  std::stable_sort(order.begin(), order.end(), [](const ProblemRegret* a, const ProblemRegret* b) {
    return a->ratio() > b->ratio();
  });
  order.resize(std::min(order.size(), count));
  for (const ProblemRegret* regret : order) {
    const Timed& mine = regret->timed[static_cast<std::size_t>(regret->chosen)];
    const Timed& best = regret->timed.front();
    add_line(text, "%-34s %6.1f%%  chosen %s %.2f us (%.2f), fastest %s %.2f us (%.2f)\n",
             regret->problem.name.c_str(), 100 * (regret->ratio() - 1), label(mine.variant).c_str(),
             mine.us, mine.predicted_us, label(best.variant).c_str(), best.us, best.predicted_us);
  }
}

}  // namespace

Judgement judge(const BenchProblem& problem, NominalDevice device,
                std::span<const Variant> variants) {
  return {predictions(problem, device, variants), chosen(problem, device)};
}

std::vector<ProblemRegret> regrets(std::span<const SweepRow> rows, const Judge& judge) {
  std::vector<ProblemRegret> all;
  std::map<std::string, std::size_t> places;
  for (const SweepRow& row : rows) {
    if (!(row.us > 0)) continue;
    const auto [place, is_new] = places.try_emplace(row.problem.name, all.size());
    if (is_new)
      all.push_back({.problem = row.problem, .device = row.device, .timed = {}, .choice = {}});
    add_time(all[place->second], row);
  }
  for (ProblemRegret& one : all) {
    std::stable_sort(one.timed.begin(), one.timed.end(),
                     [](const Timed& a, const Timed& b) { return a.us < b.us; });
    std::vector<Variant> variants;
    for (const Timed& timed : one.timed) variants.push_back(timed.variant);
    const Judgement said = judge(one.problem, one.device, variants);
    for (std::size_t i = 0; i < one.timed.size(); ++i)
      if (said.predictions[i].rejected.empty()) one.timed[i].predicted_us = said.predictions[i].us;
    one.choice = said.choice;
    find_choice(one);
  }
  return all;
}

void choose_measured(ProblemRegret& regret, int candidates) {
  constexpr double tolerance = 0.02;
  const auto timed = [&](int i) -> const Timed& {
    return regret.timed[static_cast<std::size_t>(i)];
  };
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(regret.timed.size()); ++i)
    if (i == regret.chosen || timed(i).predicted_us > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if ((a == regret.chosen) != (b == regret.chosen)) return a == regret.chosen;
    return timed(a).predicted_us < timed(b).predicted_us;
  });
  if (order.empty()) return;
  order.resize(std::min(order.size(), static_cast<std::size_t>(candidates)));
  double least = timed(order.front()).us;
  for (const int i : order) least = std::min(least, timed(i).us);
  regret.chosen = *std::find_if(order.begin(), order.end(),
                                [&](int i) { return timed(i).us <= (1 + tolerance) * least; });
  regret.choice = {timed(regret.chosen).variant, timed(regret.chosen).predicted_us, ""};
  regret.other_splits = false;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

RegretSummary summary_of(std::span<const ProblemRegret> regrets) {
  RegretSummary summary;
  std::vector<double> values;
  for (const ProblemRegret& regret : regrets) {
    if (regret.chosen < 0)
      ++summary.not_timed;
    else
      values.push_back(regret.ratio() - 1);
  }
  summary.problems = values.size();
  for (const double value : values) {
    summary.mean += value / static_cast<double>(values.size());
    summary.worst = std::max(summary.worst, value);
  }
  summary.p95 = percentile(std::move(values), 0.95);
  return summary;
}

std::string details(const ProblemRegret& regret) {
  std::string text;
  add_line(text, "== %s (%s) ==\n", regret.problem.name.c_str(), class_of(regret.problem).name);
  for (std::size_t i = 0; i < regret.timed.size(); ++i) {
    const Timed& timed = regret.timed[i];
    add_line(text, "%c %-58s %10.2f us  predicted %10.2f  x%.2f\n",
             static_cast<int>(i) == regret.chosen ? '*' : ' ', label(timed.variant).c_str(),
             timed.us, timed.predicted_us, timed.predicted_us / timed.us);
  }
  if (regret.chosen < 0 || regret.other_splits)
    add_line(text, "! the choice was not timed: %s, predicted %.2f\n",
             label(regret.choice.variant).c_str(), regret.choice.us);
  return text;
}

std::string regret_text(std::span<const ProblemRegret> regrets, std::size_t worst) {
  std::string text;
  add_model_errors(text, regrets);
  add_worst(text, regrets, worst);
  for (const ProblemRegret& regret : regrets)
    if (regret.chosen < 0)
      add_line(text, "not timed  %s: %s\n", regret.problem.name.c_str(),
               label(regret.choice.variant).c_str());
  const RegretSummary summary = summary_of(regrets);
  add_line(text,
           "regret of %zu problems: mean %.2f%%, 95th percentile %.2f%%, worst %.2f%%; the choice "
           "was not timed for %zu\n",
           summary.problems, 100 * summary.mean, 100 * summary.p95, 100 * summary.worst,
           summary.not_timed);
  return text;
}

std::string regret_csv(std::span<const ProblemRegret> regrets) {
  std::string text;
  for (const ProblemRegret& regret : regrets) {
    const Timed none;
    const Timed& mine =
        regret.chosen < 0 ? none : regret.timed[static_cast<std::size_t>(regret.chosen)];
    const Timed& best = regret.timed.front();
    std::vector<Cell> cells = problem_cells(regret.problem);
    const std::vector<Cell> judged = {
        {"class", std::string(1, '"').append(class_of(regret.problem).name).append("\"")},
        {"chosen", regret.choice.variant.kernel},
        {"chosen_splits", std::to_string(regret.choice.variant.splits)},
        {"chosen_us", fixed(mine.us, 3)},
        {"chosen_predicted_us", fixed(regret.choice.us, 3)},
        {"best", best.variant.kernel},
        {"best_splits", std::to_string(best.variant.splits)},
        {"best_us", fixed(best.us, 3)},
        {"best_predicted_us", fixed(best.predicted_us, 3)},
        {"ratio", regret.chosen < 0 ? "" : fixed(regret.ratio(), 4)},
    };
    cells.insert(cells.end(), judged.begin(), judged.end());
    if (text.empty()) text = csv_header(cells) + "\n";
    text += csv_row(cells) + "\n";
  }
  return text;
}

}  // namespace bwgemm::bench
