// SPDX-License-Identifier: Apache-2.0
// OperandSets: device memory of one problem, enough sets of it that a round through them leaves
// nothing of the first in L2, filled with normally distributed numbers; and the check of a result
// against float64.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "call.h"
#include "gpu.h"
#include "problem.h"
#include "verify.h"

namespace bwgemm::bench {

class OperandSets {
 public:
  // Throws std::runtime_error if even one set does not fit.
  OperandSets(const Gpu& gpu, const BenchProblem& problem);

  int sets() const { return sets_; }
  Pointers pointers(int set) const;

  // Whether a call reads what it writes.
  bool reads_c() const { return problem_.beta != 0 && !problem_.epilogue.residual; }
  // Fills C of the set with the numbers it had at first (beta reads them).
  void reset_c(int set) const;
  // Fills C of the set with NaN, so that an element that is not written is seen.
  void poison_c(int set) const;

  // What verify.h says of C of the set.
  std::string verify(int set, Precision precision = Precision::of_bwgemm) const;

 private:
  struct Pool;

  bool output_is_f32() const { return problem_.c.type == BWGEMM_R_32F; }
  std::size_t offset(int set) const { return static_cast<std::size_t>(set) * set_bytes_; }
  CUdeviceptr c(int set) const { return memory_->address(offset(set) + c_start_); }

  const DeviceBuffer& c_pool() const;
  void* pointer(int set, std::size_t start) const { return memory_->pointer(offset(set) + start); }

  BenchProblem problem_;
  // Of the first elements, within a set.
  std::size_t a_start_, b_start_, c_start_, residual_start_, bias_start_, aux_start_, set_bytes_;
  std::size_t c_bytes_;  // from C's first element to its last
  int sets_ = 0;
  std::unique_ptr<DeviceBuffer> memory_;
  DeviceBuffer scalars_;  // alpha and beta
  const Pool& pool_;      // normal numbers
};

}  // namespace bwgemm::bench
