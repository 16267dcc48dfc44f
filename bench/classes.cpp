// SPDX-License-Identifier: Apache-2.0
#include "classes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "row.h"

namespace bwgemm::bench {

namespace {

// The call is column-major: its n is the lists' m.
std::int64_t rows(const BenchProblem& p) {
  return p.n;
}
std::int64_t columns(const BenchProblem& p) {
  return p.m;
}

double flop_of_one(const BenchProblem& p) {
  return p.flop() / static_cast<double>(std::max<std::int64_t>(1, p.batch));
}

bool is_unaligned(const BenchMatrix& matrix, std::int64_t batch) {
  const auto breaks = [&](std::int64_t elements) {
    return elements * size_bytes(matrix.type) % 16 != 0;
  };
  return matrix.displace % 16 != 0 || (matrix.columns > 1 && breaks(matrix.ld)) ||
         (batch > 1 && breaks(matrix.stride));
}

bool is_large(const BenchProblem& p) {
  return flop_of_one(p) >= 1e9;
}

bool is_tall_and_skinny(const BenchProblem& p) {
  const std::int64_t narrow = std::min(rows(p), columns(p));
  return narrow <= 512 && std::max(rows(p), columns(p)) >= 8 * narrow;
}

// Alignment and batches first: they decide what can be reached, whatever the sizes.
constexpr std::array classes = {
    ProblemClass{"unaligned, 2MNK >= 1e9",
                 [](const BenchProblem& p) { return is_unaligned(p) && is_large(p); }, 3.5, 3.5},
    ProblemClass{"unaligned, smaller", [](const BenchProblem& p) { return is_unaligned(p); }, 1.10,
                 1.05},
    ProblemClass{"batches of small problems",
                 [](const BenchProblem& p) { return p.batch > 1 && !is_large(p); }, 1.10, 1.05},
    ProblemClass{"compute-bound: M, N, K >= 2048",
                 [](const BenchProblem& p) {
                   return std::min({p.m, p.n, p.k}) >= 2048;
                 },
                 1.03, 1.01},
    ProblemClass{"decode: M <= 16", [](const BenchProblem& p) { return rows(p) <= 16; }, 1.10,
                 1.06},
    ProblemClass{"M 17..512", [](const BenchProblem& p) { return rows(p) <= 512; }, 1.10, 1.06},
    ProblemClass{"thin K, or tall and skinny",
                 [](const BenchProblem& p) {
                   return (p.k <= 512 && std::min(p.m, p.n) >= 1024) || is_tall_and_skinny(p);
                 },
                 1.20, 1.10},
    ProblemClass{"rest", [](const BenchProblem&) { return true; }, 0, 0},
};

// What cuBLASLt fuses comes with its fused epilogues; else it has a kernel behind its GEMM.
constexpr std::array fused_classes = {
    ProblemClass{"fused residual", [](const BenchProblem& p) { return p.epilogue.residual; }, 0, 0},
    ProblemClass{"fused gate: SwiGLU, GeGLU",
                 [](const BenchProblem& p) { return p.epilogue.gate != BWGEMM_GATE_NONE; }, 1.15,
                 0},
    ProblemClass{"fused derivative", [](const BenchProblem& p) { return p.epilogue.derivative; }, 0,
                 0},
    ProblemClass{"fused bias, relu, gelu",
                 [](const BenchProblem& p) { return is_fused_by_cublaslt(p.epilogue); }, 1.05, 0},
    ProblemClass{"fused silu, gelu by erf", [](const BenchProblem&) { return true; }, 0, 0},
};

template <class Value>
double geometric_mean(std::span<const Ratio* const> ratios, const Value& value) {
  double logs = 0;
  for (const Ratio* ratio : ratios) logs += std::log(std::max(1e-300, value(*ratio)));
  return std::exp(logs / static_cast<double>(ratios.size()));
}

template <class Value>
const Ratio* least(std::span<const Ratio* const> ratios, const Value& value) {
  return *std::min_element(ratios.begin(), ratios.end(),
                           [&](const Ratio* a, const Ratio* b) { return value(*a) < value(*b); });
}

ClassSummary summary(const char* name, double wanted_first, double wanted_best,
                     std::span<const Ratio* const> ratios) {
  const auto first = [](const Ratio& r) { return r.over_first; };
  const auto best = [](const Ratio& r) { return r.over_best; };
  return {
      .name = name,
      .wanted_first = wanted_first,
      .wanted_best = wanted_best,
      .problems = ratios.size(),
      .mean_first = geometric_mean(ratios, first),
      .mean_best = geometric_mean(ratios, best),
      .worst_first = least(ratios, first),
      .worst_best = least(ratios, best),
      .mean_tflops = geometric_mean(ratios, [](const Ratio& r) { return tflops(r.problem, r.us); }),
      .mean_tbytes_per_s = geometric_mean(
          ratios, [](const Ratio& r) { return least_bytes(r.problem) / r.us * 1e-6; })};
}

}  // namespace

std::span<const ProblemClass> problem_classes() {
  return classes;
}

std::span<const ProblemClass> epilogue_classes() {
  return fused_classes;
}

const ProblemClass& class_of(const BenchProblem& problem) {
  const auto all = problem.epilogue.any() ? epilogue_classes() : problem_classes();
  return *std::find_if(all.begin(), all.end(),
                       [&](const ProblemClass& one) { return one.holds(problem); });
}

bool is_unaligned(const BenchProblem& p) {
  return is_unaligned(p.a, p.batch) || is_unaligned(p.b, p.batch) || is_unaligned(p.c, p.batch);
}

double least_bytes(const BenchProblem& p) {
  const auto bytes = [&](const BenchMatrix& matrix) {
    const std::int64_t batches = matrix.stride == 0 ? 1 : p.batch;
    return static_cast<double>(matrix.rows * matrix.columns * size_bytes(matrix.type) * batches);
  };
  return bytes(p.a) + bytes(p.b) + bytes(p.c) * (p.beta != 0 ? 2 : 1) + bytes(p.aux());
}

std::vector<Ratio> ratios_of(const Table& results) {
  std::vector<Ratio> ratios;
  for (std::size_t row = 0; row < results.rows(); ++row) {
    const Ratio ratio{problem_of_result(results, row), results.number(row, "bwgemm_us"),
                      results.number(row, "ratio_first"), results.number(row, "ratio_best")};
    if (ratio.us > 0 && ratio.over_first > 0) ratios.push_back(ratio);
  }
  return ratios;
}

std::vector<ClassSummary> summaries(std::span<const Ratio> ratios) {
  std::vector<ClassSummary> all;
  const auto add = [&](const char* name, double wanted_first, double wanted_best,
                       const auto& is_member) {
    std::vector<const Ratio*> members;
    for (const Ratio& ratio : ratios)
      if (is_member(ratio.problem)) members.push_back(&ratio);
    if (!members.empty()) all.push_back(summary(name, wanted_first, wanted_best, members));
  };
  add("all", 1.12, 1.08, [](const BenchProblem& problem) { return !problem.epilogue.any(); });
  for (const auto& group : {problem_classes(), epilogue_classes()})
    for (const ProblemClass& one : group)
      add(one.name, one.wanted_first, one.wanted_best,
          [&](const BenchProblem& problem) { return &class_of(problem) == &one; });
  return all;
}

std::string summary_text(std::span<const ClassSummary> summaries) {
  std::string text;
  std::array<char, 512> line{};
  const auto add = [&](auto... values) {
    std::snprintf(line.data(), line.size(), values...);
    text += line.data();
  };
  const auto cell = [](double mean, double wanted) {
    std::array<char, 32> one{};
    std::snprintf(one.data(), one.size(), "%.3f%s", mean,
                  wanted > 0 ? (mean >= wanted ? " ok " : " <  ") : "    ");
    return std::string(one.data());
  };
  add("%-32s %4s  %-10s %-10s %8s %6s  %s\n", "cuBLASLt's time over ours", "", "/first", "/best",
      "TFLOP/s", "TB/s", "worst: of the first, of the best");
  for (const ClassSummary& s : summaries)
    add("%-32s %4zu  %-10s %-10s %8.1f %6.2f  %s %.3f, %s %.3f\n", s.name.c_str(), s.problems,
        cell(s.mean_first, s.wanted_first).c_str(), cell(s.mean_best, s.wanted_best).c_str(),
        s.mean_tflops, s.mean_tbytes_per_s, s.worst_first->problem.name.c_str(),
        s.worst_first->over_first, s.worst_best->problem.name.c_str(), s.worst_best->over_best);
  return text;
}

std::string summary_csv(std::span<const ClassSummary> summaries) {
  std::string text =
      "class,problems,mean_first,wanted_first,mean_best,wanted_best,worst_first,worst_first_name,"
      "worst_best,worst_best_name,mean_tflops,mean_tbytes_per_s\n";
  for (const ClassSummary& s : summaries) {
    const std::vector<Cell> cells = {{"", std::string(1, '"').append(s.name).append("\"")},
                                     {"", std::to_string(s.problems)},
                                     {"", fixed(s.mean_first, 4)},
                                     {"", fixed(s.wanted_first, 2)},
                                     {"", fixed(s.mean_best, 4)},
                                     {"", fixed(s.wanted_best, 2)},
                                     {"", fixed(s.worst_first->over_first, 4)},
                                     {"", s.worst_first->problem.name},
                                     {"", fixed(s.worst_best->over_best, 4)},
                                     {"", s.worst_best->problem.name},
                                     {"", fixed(s.mean_tflops, 1)},
                                     {"", fixed(s.mean_tbytes_per_s, 3)}};
    text += csv_row(cells) + "\n";
  }
  return text;
}

}  // namespace bwgemm::bench
