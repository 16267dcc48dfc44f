// SPDX-License-Identifier: Apache-2.0
// Replay: the calls of one recorded kind, on operands of its own, by either side.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu.h"
#include "operands.h"
#include "tune/recorded.h"
#include "tune/two_sides.h"

namespace bwgemm::bench {

// The descriptor and the layouts of a call of cuBLASLt.
class LtObjects {
 public:
  LtObjects(const State& state, const RecordedCall& recorded, const BenchProblem& operands);
  ~LtObjects();
  LtObjects(const LtObjects&) = delete;
  LtObjects& operator=(const LtObjects&) = delete;

  // Sets what the epilogue reads and writes.
  void point_to(const Pointers& at) const;
  cublasLtMatmulDesc_t desc() const { return desc_; }
  // Of A, B, C and D.
  cublasLtMatrixLayout_t layout(std::size_t matrix) const { return layouts_[matrix]; }

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) const;
  cublasLtMatrixLayout_t layout_of(const dropin::Operand& operand, std::int64_t rows,
                                   std::int64_t columns, std::int64_t batch) const;

  const State& state_;
  const BenchProblem& operands_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  std::vector<cublasLtMatrixLayout_t> layouts_;
};

class Replay {
 public:
  // Sets the handle as the program had it, on the stream of `gpu`. Throws std::runtime_error.
  Replay(const Gpu& gpu, const TwoSides& sides, const RecordedCall& recorded);

  const OperandSets& operands() const { return operands_; }
  // One call on a set of operands. Throws std::runtime_error, also if bwgemm did not compute what
  // its side was asked for.
  void run(const Side& side, int set) const;

 private:
  struct Scalars {
    const void *alpha, *beta;
  };
  Scalars scalars(const Pointers& at) const;
  void set_handle() const;
  void place_arrays();
  // Where the arrays of pointers of a set begin: those to A, to B, to C.
  std::size_t array(int set, int matrix) const;
  cublasStatus_t call(const Side& side, int set) const;
  cublasStatus_t call_lt(const Side& side, const Pointers& at) const;

  const Gpu& gpu_;
  const TwoSides& sides_;
  const RecordedCall& recorded_;
  const BenchProblem problem_;
  const OperandSets operands_;
  std::optional<DeviceBuffer> workspace_, arrays_;
  std::unique_ptr<LtObjects> lt_;
};

}  // namespace bwgemm::bench
