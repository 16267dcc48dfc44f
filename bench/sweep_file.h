// SPDX-License-Identifier: Apache-2.0
// The file of a sweep: one row for each kernel timed on a problem, with all that fitting a cost
// model needs.
#pragma once

#include <string>
#include <vector>

#include "problem.h"
#include "selection.h"

namespace bwgemm::bench {

struct SweepRow {
  BenchProblem problem;
  Variant variant;
  NominalDevice device = NominalDevice::h200;  // like the one that it was timed on
  double us = 0, predicted_us = 0;
  unsigned sm_mhz = 0;
  double watts = 0;
  int launches = 0;  // in one sample
};

std::string sweep_header();
std::string sweep_line(const SweepRow& row);

// What tells the rows of one file apart.
std::string sweep_key(const BenchProblem& problem, const Variant& variant);

// Throws std::runtime_error naming the file. A row whose line was cut off is dropped.
std::vector<SweepRow> read_sweep(const std::string& path);
std::vector<SweepRow> sweep_of(const Table& table);

}  // namespace bwgemm::bench
