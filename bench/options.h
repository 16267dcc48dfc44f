// SPDX-License-Identifier: Apache-2.0
// Options: the command line of bwgemm_bench.
#pragma once

#include <string>

#include "measure.h"

namespace bwgemm::bench {

struct Options {
  std::string problem;        // --problem TEXT
  std::string list;           // --list FILE.csv
  bool column_major = false;  // --colmajor: letters and sizes are the C API's
  std::string kernel;         // --kernel NAME: force it
  bool sweep = false;         // --sweep: every kernel that can serve, one line each
  std::string csv, json;      // --csv FILE, --json FILE
  bool resume = false;        // --resume: skip what --csv FILE already holds
  double budget_seconds = 0;  // --budget-seconds S: start no problem after that; 0: no limit
  int shard = 0, shards = 1;  // --shard I/N
  bool compare = true;        // --no-cublaslt
  bool explain = false;       // --explain: print the choice and its reasons, run nothing
  bool help = false;          // --help
  MeasureOptions measure;     // --pairs N, --warm-ms X, --graph-ms X, --no-check
};

std::string usage();

// Throws std::runtime_error naming the argument.
Options parse_options(int count, const char* const* arguments);

}  // namespace bwgemm::bench
