// SPDX-License-Identifier: Apache-2.0
// Elementwise: the part of an epilogue that cuBLASLt does not fuse, as a kernel behind a GEMM
// (kernels/elementwise.cu).
#pragma once

#include <memory>
#include <optional>

#include "code.h"
#include "gpu.h"
#include "kernels/elementwise.h"
#include "problem.h"

namespace bwgemm::bench {

// What a GEMM has to compute for a kernel behind it, in the matrix that is D of it.
struct SplitEpilogue {
  BenchProblem gemm;  // with the rest of the epilogue
  bool is_apart;      // an activation or a gate follows
  bool needs_room;    // D of the GEMM is a matrix of its own; else the problem's
};

// The epilogue in the parts of cuBLASLt, which fuses bias, relu, the tanh form of gelu and its
// derivative; nothing if it cannot be had from there.
std::optional<SplitEpilogue> split_for_cublaslt(const BenchProblem& problem);

class Elementwise {
 public:
  // `split`: of the problem, with is_apart.
  Elementwise(const Gpu& gpu, const BenchProblem& problem, const SplitEpilogue& split);

  // Where the GEMM writes, for results that are to end in `d`.
  void* product(void* d) const { return room_ != nullptr ? room_->pointer() : d; }
  // Behind the GEMM, on the GPU's stream.
  void run(void* d) const;

 private:
  const Gpu& gpu_;
  Code code_;
  CUfunction function_;
  std::unique_ptr<DeviceBuffer> room_;
  ElementwiseParams params_{};
};

}  // namespace bwgemm::bench
