// SPDX-License-Identifier: Apache-2.0
// Report: each measurement as a line on the terminal, a CSV row and a JSON object; at the end a
// summary.
#pragma once

#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "measure.h"
#include "problem.h"

namespace bwgemm::bench {

class Report {
 public:
  // Empty paths: not written. With `resume` an existing CSV is continued. `total`: how many
  // measurements will be added, skipped or resumed.
  Report(const std::string& csv, const std::string& json, bool resume, std::size_t total);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  // True if the CSV that is continued holds this one, which then counts as done.
  bool resumes(const BenchProblem& problem, const std::string& forced_kernel);
  void add(const BenchProblem& problem, const std::string& forced_kernel,
           const Measurement& result);
  void skip(const BenchProblem& problem, const std::string& why);
  // A call failed that should not.
  void fail(const BenchProblem& problem, const std::string& why);

  double seconds() const;
  bool all_good() const { return wrong_.empty(); }
  // Geometric means of the ratios, the worst problem, what is wrong. In a sweep of `kernels` > 1
  // the fastest kernel of each problem counts.
  void summarize(std::size_t kernels) const;

 private:
  struct Line {
    std::string problem, kernel;
    double microseconds, over_first, over_best;
  };

  void rewrite_csv(const std::string& csv, const std::string& header);
  void begin_line();
  std::vector<Line> fastest() const;

  const std::size_t total_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::size_t count_ = 0;
  std::vector<Line> lines_;
  std::vector<std::string> wrong_;  // "problem, kernel: what"
  std::FILE* csv_ = nullptr;
  std::FILE* json_ = nullptr;
  bool json_empty_ = true;
  std::set<std::string> done_;  // "problem,forced kernel"
};

}  // namespace bwgemm::bench
