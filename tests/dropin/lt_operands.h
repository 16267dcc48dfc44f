// SPDX-License-Identifier: Apache-2.0
// The operands of a call of cublasLtMatmul on a device that computes: small integers, so that sums
// are exact whatever the order of additions, and everything that is written between guard bands.
#pragma once

#include <memory>
#include <string>

#include "dropin/lt_call.h"
#include "support/guarded_buffer.h"
#include "support/matrix.h"

namespace bwgemm::test {

class LtOperands {
 public:
  // What a stored matrix of the call is.
  struct Shape {
    cudaDataType type = CUDA_R_16BF;
    std::int64_t rows = 0, columns = 0, ld = 0;
    bool is_row_major = false;
  };

  // Makes memory for the matrices as the layouts and the descriptor of `call` have them, and gives
  // the call the addresses. C is D's memory unless `has_own_c`.
  LtOperands(LtCall& call, bool has_own_c);

  // Waits for the device. Empty if all that the epilogue writes is what it should be, and nothing
  // else was written. Element (0, 0) of D may be `added` larger.
  std::string difference(double alpha, double beta, double added = 0);

 private:
  // A matrix in memory, in any order.
  struct Stored {
    Shape shape;
    std::unique_ptr<GuardedBuffer> memory;
    Matrix before;

    float get(const Matrix& from, std::int64_t row, std::int64_t column) const;
  };
  static Stored stored(const Shape& shape, unsigned seed);
  static Shape shape_of(cublasLtMatrixLayout_t layout);
  double product(std::int64_t row, std::int64_t column) const;
  double linear(std::int64_t row, std::int64_t column, double alpha, double beta) const;
  std::string vector_difference();
  bool is(std::uint32_t bits) const { return (epilogue_ & bits) != 0; }

  bool ta_ = false, tb_ = false;
  std::uint32_t epilogue_ = 1;
  std::int64_t m_ = 0, n_ = 0, k_ = 0;
  Stored a_, b_, c_, d_, bias_, aux_;
};

}  // namespace bwgemm::test
