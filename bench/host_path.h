// SPDX-License-Identifier: Apache-2.0
// host_path: the host's time for one call, of bwgemm, of an empty kernel launched alike (the floor
// of each of the call's launches) and of cuBLASLt with a ready plan, call by call, interleaved in
// one process.
#pragma once

#include <string>
#include <vector>

#include "cublaslt.h"
#include "gpu.h"
#include "problem.h"

namespace bwgemm::bench {

struct HostTimes {
  double median_ns = 0, p99_ns = 0;
};

struct HostPath {
  BenchProblem problem;
  std::string kernel;  // the product's, which the empty launch is like
  int launches;        // of bwgemm's call: copies of operands, parts, sums behind the product
  HostTimes bwgemm, empty, cublaslt;  // of cuBLASLt zeros without it
};

// `cublaslt` may be null. Throws std::runtime_error.
HostPath measure_host_path(const Gpu& gpu, const CublasLt* cublaslt, const BenchProblem& problem);

std::string host_path_line(const HostPath& path);
std::string host_path_csv(const std::vector<HostPath>& paths);

}  // namespace bwgemm::bench
