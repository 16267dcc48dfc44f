// SPDX-License-Identifier: Apache-2.0
// Problem: a matrix product that is valid by construction (api/validate makes it) and in one
// canonical form: D is row-order, so that everything behind it sees n as the contiguous direction
// of the output. Nothing after validation reads the C arguments again.
#pragma once

#include <cstdint>
#include <utility>

#include "core/dtype.h"

namespace bwgemm {

// The direction in which consecutive elements lie next to each other.
enum class Order : std::uint8_t { row, column };

constexpr Order flipped(Order order) {
  return order == Order::row ? Order::column : Order::row;
}

struct Matrix {
  const void* data = nullptr;
  Dtype type = Dtype::bf16;
  Order order = Order::row;
  std::int64_t ld = 0;            // elements between rows (row order) or columns (column order)
  std::int64_t batch_stride = 0;  // elements between batches; 0 repeats the matrix

  bool operator==(const Matrix&) const = default;
};

// alpha or beta. Device scalars are read by the kernel, which decides at run time what zero means.
struct Scalar {
  float value = 0;
  const float* device = nullptr;  // non-null: `value` is unknown here

  constexpr bool known_zero() const { return device == nullptr && value == 0; }
  bool operator==(const Scalar&) const = default;
};

// What happens to alpha*A*B + beta*C before it is stored. One value so far; fused operations come
// here.
enum class Epilogue : std::uint8_t { none };

// D[m,n] = epilogue(alpha * A[m,k] * B[k,n] + beta * C[m,n]), `batch` times.
struct Problem {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;
  Matrix a, b, c, d;  // c.data and d.data may be equal
  Scalar alpha, beta;
  Epilogue epilogue = Epilogue::none;

  bool operator==(const Problem&) const = default;

  constexpr bool empty() const { return m == 0 || n == 0 || batch == 0; }
  // A and B are not to be touched: the result is beta * C.
  constexpr bool scale_only() const { return k == 0 || alpha.known_zero(); }
  constexpr bool reads_c() const { return !beta.known_zero(); }
};

// The same product, written as D^T = B^T A^T.
constexpr Problem transposed(Problem problem) {
  std::swap(problem.m, problem.n);
  std::swap(problem.a, problem.b);
  for (Matrix* matrix : {&problem.a, &problem.b, &problem.c, &problem.d})
    matrix->order = flipped(matrix->order);
  return problem;
}

// The same product with D in row order: a column-order D is the row-order D^T = B^T A^T.
constexpr Problem with_row_order_d(const Problem& problem) {
  return problem.d.order == Order::row ? problem : transposed(problem);
}

}  // namespace bwgemm
