// SPDX-License-Identifier: Apache-2.0
// Classes: the kinds of problems that are judged separately, and the summary of measured ratios
// over them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "problem.h"
#include "table.h"

namespace bwgemm::bench {

// Predicates speak of the row-major view that the lists use, where m counts the rows of D. The
// first that holds names the class: of those with an epilogue, if the problem has one.
struct ProblemClass {
  const char* name;
  bool (*holds)(const BenchProblem& problem);
  double wanted_first, wanted_best;  // geometric mean of the ratios to be reached; 0: none
};

std::span<const ProblemClass> problem_classes();  // without an epilogue, or with beta only
std::span<const ProblemClass> epilogue_classes();
const ProblemClass& class_of(const BenchProblem& problem);

// What TMA cannot address: a base, a leading dimension or a batch stride that is not a multiple of
// 16 bytes, in any of the matrices.
bool is_unaligned(const BenchProblem& problem);

// Bytes that have to be moved at least: each matrix once, C twice if it is read; no vectors.
double least_bytes(const BenchProblem& problem);

// One measured problem.
struct Ratio {
  BenchProblem problem;
  double us = 0, over_first = 0, over_best = 0;  // cuBLASLt's time over ours
};

// The timed rows of a result file for which cuBLASLt had an algorithm.
std::vector<Ratio> ratios_of(const Table& results);

struct ClassSummary {
  std::string name;
  double wanted_first = 0, wanted_best = 0;
  std::size_t problems = 0;
  double mean_first = 0, mean_best = 0;  // geometric
  const Ratio *worst_first = nullptr, *worst_best = nullptr;
  double mean_tflops = 0, mean_tbytes_per_s = 0;  // geometric; of least_bytes()
};

// All problems without an epilogue first, then every class that has one, those with an epilogue
// last. Points into `ratios`.
std::vector<ClassSummary> summaries(std::span<const Ratio> ratios);

std::string summary_text(std::span<const ClassSummary> summaries);
std::string summary_csv(std::span<const ClassSummary> summaries);

}  // namespace bwgemm::bench
