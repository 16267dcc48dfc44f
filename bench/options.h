// SPDX-License-Identifier: Apache-2.0
// Options: the command line of bwgemm_bench.
#pragma once

#include <cstdint>
#include <string>

#include "measure.h"
#include "random_problems.h"
#include "sweep.h"

namespace bwgemm::bench {

// What to do: the option that asks for it names it.
enum class Mode {
  measure,
  sweep,
  regret,
  summary,
  random_problems,
  ceiling,
  ladder,
  host,
  trace,
  batch_invariance_price,
  epilogue_price
};

struct Options {
  Mode mode = Mode::measure;
  std::string problem;        // --problem TEXT
  std::string list;           // --list FILE.csv
  bool column_major = false;  // --colmajor: letters and sizes are the C API's
  std::string kernel;         // --kernel NAME: force it
  std::string from;           // --from SWEEP.csv: --regret without a GPU
  std::string input;          // --summary FILE.csv[,FILE.csv...]
  std::string output;         // --trace FILE.json
  int sm_count = 0;           // --sm-count N: multiprocessors of --trace; 0: all
  std::uint64_t seed = 0;     // --random-problems SEED,COUNT[,KIND]
  int count = 0;
  int size = 4096;                              // --size N: m, n and k of --ladder
  std::string csv, json;                        // --csv FILE, --json FILE
  const RandomProblems* random_kind = nullptr;  // --random-problems SEED,COUNT[,KIND]
  bool resume = false;                          // --resume: skip what --csv FILE already holds
  double budget_seconds = 0;  // --budget-seconds S: start no problem after that; 0: no limit
  int shard = 0, shards = 1;  // --shard I/N
  int measured = 0;           // --measured N: --regret's choice is the fastest of N; 0: predicted
  int worst = 15;             // --worst N: how many of the largest regrets are shown
  bool compare = true;        // --no-cublaslt
  bool explain = false;       // --explain: print the choice and its reasons, run nothing
  bool help = false;          // --help
  SweepOptions sweep;         // --prune X and what a sweep shares with a measurement
  MeasureOptions measure;     // --pairs N, --warm-ms X, --graph-ms X, --no-check
};

std::string usage();

// Throws std::runtime_error naming the argument.
Options parse_options(int count, const char* const* arguments);

}  // namespace bwgemm::bench
