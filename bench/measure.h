// SPDX-License-Identifier: Apache-2.0
// measure: times bwgemm and cuBLASLt on one problem, interleaved in one process: CUDA graphs of
// launches that walk through the operand sets, replayed in turn. The figure is the median of paired
// ratios.
#pragma once

#include <string>

#include "bwgemm/bwgemm.h"
#include "cublaslt.h"
#include "gpu.h"
#include "pairs.h"
#include "problem.h"
#include "sensors.h"
#include "series.h"

namespace bwgemm::bench {

struct MeasureOptions {
  int pairs = 15;
  double graph_ms = 8;   // device time of one replay
  double warm_ms = 150;  // load before the first sample: figures are of the warm, throttled chip
  bool check = true;
  bool time = true;  // false where time means nothing: on a virtual GPU
  bool host_cost = true;
  bool only_first = false;  // of cuBLASLt's algorithms, its best guess alone
};

struct Measurement : Paired {
  std::string kernel;
  std::string check = "not run";
  std::string first_check = "not run";  // of cuBLASLt's first, where an epilogue is asked for
  int best_algorithm = 0, algorithms = 0;
  // The first that each of cuBLASLt's launches.
  std::string first_kernel, best_kernel;
  double bwgemm_host_ns = 0, cublaslt_host_ns = 0;  // per call, submitting only
  int operand_sets = 0;
};

// The kernel that a call ran, else the one that the library announces.
std::string kernel_of(const Series& series, bwgemmHandle_t handle, const BenchProblem& problem,
                      const Pointers& pointers);

// Runs a call on the first set and checks it, on a C that was filled with NaN unless it is read.
std::string check_once(const Gpu& gpu, const OperandSets& operands, const Call& call,
                       Precision precision);

// `cublaslt` may be null, and may have no algorithm: then only ours is timed. Throws NotSupported
// or std::runtime_error.
Measurement measure(const Gpu& gpu, const Sensors& sensors, bwgemmHandle_t handle,
                    const CublasLt* cublaslt, const BenchProblem& problem,
                    const MeasureOptions& options);

}  // namespace bwgemm::bench
