// SPDX-License-Identifier: Apache-2.0
// canonical_vectors: a problem whose vectors among the matrices have the form that most kernels
// take.
#pragma once

#include <cstdint>

#include "core/problem.h"

namespace bwgemm {

// The distance from a line to the next means nothing where there is one line: it is made one that
// every kernel takes.
constexpr Matrix alone(Matrix matrix, std::int64_t rows, std::int64_t columns) {
  const std::int64_t unit = bits(matrix.type) == 8 ? 16 : 8;  // elements that fill 16 bytes
  const bool in_rows = matrix.order == Order::row;
  if ((in_rows ? rows : columns) == 1)
    matrix.ld = ((in_rows ? columns : rows) + unit - 1) / unit * unit;
  return matrix;
}

// One row or column whose elements lie next to each other is a line, in whichever order it was
// given.
constexpr Matrix as_line(Matrix matrix, std::int64_t rows, std::int64_t columns) {
  const bool in_rows = matrix.order == Order::row;
  const bool is_across = (in_rows ? columns : rows) == 1 && (in_rows ? rows : columns) > 1;
  if (is_across && matrix.ld == 1) matrix.order = flipped(matrix.order);
  return alone(matrix, rows, columns);
}

// The same product, of lines where they are some. What lies along D keeps its order where the sizes
// must not change results: a gate's columns, and two scales or two biases, of which one comes
// first.
constexpr Problem canonical_vectors(Problem problem) {
  const std::int64_t m = problem.m, n = problem.n, k = problem.k;
  problem.a = alone(problem.a, m, k);
  problem.b = alone(problem.b, k, n);
  const Epilogue& epilogue = problem.epilogue;
  const bool has_order =
      epilogue.gate != Gate::none ||
      (epilogue.row_scale.data != nullptr && epilogue.column_scale.data != nullptr) ||
      (epilogue.row_bias.data != nullptr && epilogue.column_bias.data != nullptr);
  if (has_order) return problem;
  for (Matrix* matrix : {&problem.c, &problem.d, &problem.epilogue.aux})
    *matrix = as_line(*matrix, m, n);
  return problem;
}

}  // namespace bwgemm
