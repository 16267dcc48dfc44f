// SPDX-License-Identifier: Apache-2.0
// The cells of a measurement: one list of columns for the CSV and the JSON.
#pragma once

#include <string>
#include <vector>

#include "measure.h"
#include "problem.h"

namespace bwgemm::bench {

struct Cell {
  const char* column;
  std::string value;
  bool is_text = false;
};

// Every argument of the problem's call, by the keys of problem.h and in the terms of the C API; the
// first is the name.
std::vector<Cell> problem_cells(const BenchProblem& problem);

// The first two are the problem's name and the forced kernel.
std::vector<Cell> row_of(const BenchProblem& problem, const std::string& forced_kernel,
                         const Measurement& result);

std::string csv_header();
std::string csv_header(const std::vector<Cell>& row);
std::string csv_row(const std::vector<Cell>& row);
std::string json_object(const std::vector<Cell>& row);

std::string fixed(double value, int decimals);

double tflops(const BenchProblem& problem, double microseconds);

}  // namespace bwgemm::bench
