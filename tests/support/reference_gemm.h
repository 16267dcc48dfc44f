// SPDX-License-Identifier: Apache-2.0
// The product that results are judged by: op(A) * op(B) on the CPU, in full, for chosen rows and
// columns, or as a random projection. In float64; in float where the data are integers so small
// that no sum is rounded, so that it is exact for integer data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/matrix.h"

namespace bwgemm::test {

// A matrix as the product sees it.
struct Operand {
  const Matrix* matrix;
  bool transposed;
  std::int64_t batch = 0;

  std::int64_t rows() const { return transposed ? matrix->columns() : matrix->rows(); }
  std::int64_t columns() const { return transposed ? matrix->rows() : matrix->columns(); }
  float get(std::int64_t row, std::int64_t column) const {
    return transposed ? matrix->get(column, row, batch) : matrix->get(row, column, batch);
  }
};

// Sums of a*b and of |a||b| for the chosen rows and columns of the product.
struct Product {
  std::vector<std::int64_t> rows, columns;
  std::vector<double> sum, magnitude;  // [row][column]

  std::size_t index(std::size_t row, std::size_t column) const {
    return row * columns.size() + column;
  }
};

// Every row and column, or, where that is more than about 10^9 multiplications, the first and last
// ones and some between.
Product product(const Operand& a, const Operand& b);

Product whole_product(const Operand& a, const Operand& b);
Product product(const Operand& a, const Operand& b, std::vector<std::int64_t> rows,
                std::vector<std::int64_t> columns);

// Freivalds' check of every element of D = alpha * op(A) * op(B) + beta * C at once: compares D * x
// with alpha * op(A) * (op(B) * x) + beta * C * x for a vector x of random signs, row by row,
// within the sum of the elements' bounds. Empty, or the first row that differs.
std::string freivalds(const Operand& a, const Operand& b, float alpha, float beta, const Matrix& c,
                      const Matrix& d, std::uint64_t seed);

}  // namespace bwgemm::test
