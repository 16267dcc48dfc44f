// SPDX-License-Identifier: Apache-2.0
// sweep: times, in a few milliseconds each, the kernels that a problem could use. Nothing is
// checked and nothing compared: for that there is measure.h.
#pragma once

#include <string>
#include <vector>

#include "gpu.h"
#include "sensors.h"
#include "sweep_file.h"

namespace bwgemm::bench {

struct SweepOptions {
  double graph_ms = 4;        // device time of one replay, of which there are two a pass
  double prune = 2.5;         // kernels predicted slower than the best by this factor are left out
  double budget_seconds = 0;  // no new problem begins after that; 0: no limit
  bool resume = false;
  std::string csv;  // empty: not written
};

// The variants to time: what would be chosen, then the others by their predicted time.
std::vector<Prediction> worth_timing(const BenchProblem& problem, NominalDevice device,
                                     double prune);

// All rows, those that were resumed included. Prints a line a problem.
std::vector<SweepRow> sweep(const Gpu& gpu, const Sensors& sensors,
                            const std::vector<BenchProblem>& problems, const SweepOptions& options);

}  // namespace bwgemm::bench
