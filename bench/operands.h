// SPDX-License-Identifier: Apache-2.0
// Operands: device memory of one problem, enough sets of it that a round through them leaves
// nothing of the first in L2, filled with normally distributed numbers; and the check of a result
// against float64.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu.h"
#include "problem.h"

namespace bwgemm::bench {

class Operands {
 public:
  // Throws std::runtime_error if even one set does not fit.
  Operands(const Gpu& gpu, const BenchProblem& problem);

  int sets() const { return sets_; }
  const void* a(int set) const { return memory_->pointer(offset(set)); }
  const void* b(int set) const { return memory_->pointer(offset(set) + a_bytes_); }
  void* c(int set) const { return memory_->pointer(offset(set) + a_bytes_ + b_bytes_); }

  // Fills C of the set with the numbers it had at first (beta reads them).
  void reset_c(int set) const;
  // Fills C of the set with NaN, so that an element that is not written is seen.
  void poison_c(int set) const;

  // Compares C of the set with float64 arithmetic: all of it when that is cheap, otherwise sampled
  // columns plus Freivalds' check of the whole. Returns "ok" or what is wrong.
  std::string verify(int set) const;

 private:
  std::size_t offset(int set) const { return static_cast<std::size_t>(set) * set_bytes_; }

  BenchProblem problem_;
  std::size_t a_bytes_, b_bytes_, c_bytes_, set_bytes_;
  int sets_ = 0;
  std::unique_ptr<DeviceBuffer> memory_;
  std::vector<std::uint16_t> pool_;  // normal numbers of the input type
  std::vector<float> pool_f32_;      // of the output type, if that is f32
};

}  // namespace bwgemm::bench
