// SPDX-License-Identifier: Apache-2.0
// Ladder: the kernels of bench/kernels/ladder on a GPU, D = A * B^T with bf16 K-major operands; and
// their check with whole numbers, where every order of summation gives the same bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "code.h"
#include "gpu.h"
#include "kernels/ladder/steps.h"

namespace bwgemm::bench {

struct LadderProblem {
  std::int64_t m, n, k;
  CUdeviceptr a, b, d;  // [m][k], [n][k], [m][n], dense
};

class Ladder {
 public:
  // Persistent grids are as large as `sm_count` multiprocessors hold. Throws std::runtime_error if
  // the GPU is none of sm_100's.
  Ladder(const Gpu& gpu, int sm_count);
  explicit Ladder(const Gpu& gpu) : Ladder(gpu, gpu.sm_count()) {}
  static bool runs_on(const Gpu& gpu) { return gpu.compute_capability_major() == 10; }

  // Submits one step. Throws std::runtime_error if it does not take these sizes.
  void launch(const ladder::Step& step, const LadderProblem& problem) const;

 private:
  const Gpu& gpu_;
  int sm_count_;
  Code code_;
};

// A product of small whole numbers that all steps are to compute.
class WholeNumberProduct {
 public:
  WholeNumberProduct(std::int64_t m, std::int64_t n, std::int64_t k, unsigned seed);

  // Lets the step compute it and compares every bit. "ok" or what is wrong.
  std::string check(const Gpu& gpu, const Ladder& ladder, const ladder::Step& step) const;

 private:
  std::int64_t m_, n_, k_;
  std::vector<std::uint16_t> expected_;  // D, and behind it what must stay as it is
  DeviceBuffer a_, b_, d_;
};

// The table of steps.
std::string ladder_text();

}  // namespace bwgemm::bench
