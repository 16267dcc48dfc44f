// SPDX-License-Identifier: Apache-2.0
// Report: one measurement as a line on the terminal, a CSV row and a JSON object.
#pragma once

#include <cstdio>
#include <set>
#include <string>

#include "measure.h"
#include "problem.h"

namespace bwgemm::bench {

class Report {
 public:
  // Empty paths: not written. With `resume` an existing CSV is continued.
  Report(const std::string& csv, const std::string& json, bool resume);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  bool has(const BenchProblem& problem, const std::string& forced_kernel) const;
  void add(const BenchProblem& problem, const std::string& forced_kernel,
           const Measurement& result);
  void skip(const BenchProblem& problem, const std::string& why);

 private:
  static std::string key(const BenchProblem& problem, const std::string& forced_kernel);

  std::FILE* csv_ = nullptr;
  std::FILE* json_ = nullptr;
  bool json_empty_ = true;
  std::set<std::string> done_;
};

}  // namespace bwgemm::bench
