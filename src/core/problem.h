// SPDX-License-Identifier: Apache-2.0
// Problem: a matrix product that is valid by construction (api/validate makes it) and in one
// canonical form: D is row-order, so that everything behind it sees n as the contiguous direction
// of the output. Nothing after validation reads the C arguments again.
#pragma once

#include <cstdint>
#include <utility>

#include "core/activation.h"
#include "core/element.h"
#include "core/scalar.h"

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

// Whether columns of the product come in pairs (x, y) of which D has one column, activation(x) * y:
// x and y are neighbours, or y lies half of the product's columns behind x.
enum class Gate : std::uint8_t { none, interleaved, stacked };

// Elements next to each other in device memory, one for each row or column of the product; absent
// where `data` is null.
struct Vector {
  const void* data = nullptr;
  Dtype type = Dtype::f32;
  std::int64_t batch_stride = 0;  // elements; 0 repeats the vector

  bool operator==(const Vector&) const = default;
};

// What is done with P = alpha*A*B before it is D, in this order, in float:
//   x = P[i,j] * row_scale[i] * column_scale[j] + row_bias[i] + column_bias[j] + beta * C[i,j]
//   aux[i,j] = x, where aux is written
//   D[i,j] = activation(x), or with a gate one of two columns, or with `differentiates`
//   x * activation'(aux[i,j]), where aux is read.
struct Epilogue {
  Activation activation = Activation::none;
  Bounds clamp;  // of Activation::clamp
  Gate gate = Gate::none;
  bool differentiates = false;
  Vector row_scale, column_scale;  // of f32
  Vector row_bias, column_bias;
  Matrix aux;  // of the product's size; absent where its data is null

  bool operator==(const Epilogue&) const = default;

  // D is more than alpha*A*B + beta*C.
  constexpr bool any() const {
    return activation != Activation::none || gate != Gate::none || row_scale.data != nullptr ||
           column_scale.data != nullptr || row_bias.data != nullptr ||
           column_bias.data != nullptr || aux.data != nullptr;
  }
};

// A matrix that is added up beside the product: D, as it is stored, or an operand.
enum class Summed : std::uint8_t { nothing, d, a, b };

// One sum for each row, or for each column, of that matrix.
struct BiasGradient {
  Summed of = Summed::nothing;
  bool of_rows = false;  // true of A, false of B
  Vector to;

  bool operator==(const BiasGradient&) const = default;
  constexpr bool any() const { return of != Summed::nothing; }
};

// D[m,n] = epilogue(alpha * A[m,k] * B[k,n] + beta * C[m,n]), `batch` times. With a gate D has n/2
// columns, and C is absent.
struct Problem {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;
  Matrix a, b, c, d;  // c.data and d.data may be equal; c may differ from d in everything
  // Whether the data of a, b, c and d are device arrays of `batch` pointers, each to one matrix;
  // batch strides then mean nothing.
  bool is_pointer_array = false;
  Scalar alpha, beta;
  Epilogue epilogue;
  BiasGradient bias_gradient;

  bool operator==(const Problem&) const = default;

  constexpr bool empty() const { return m == 0 || n == 0 || batch == 0; }
  // The product does not touch A and B: it is beta * C.
  constexpr bool scale_only() const { return k == 0 || alpha.known_zero(); }
  constexpr bool reads_c() const { return !beta.known_zero(); }
};

// The 16-bit type of the output: that of D, C, aux and biases where these are not of f32. A kernel
// knows one. It need not be the type of A and B. Where all are of f32, any will do.
constexpr Dtype type16(const Problem& problem) {
  const Epilogue& epilogue = problem.epilogue;
  const auto has_16_bits = [](Dtype type) { return bits(type) == 16; };
  if (has_16_bits(problem.d.type)) return problem.d.type;
  if (problem.reads_c() && has_16_bits(problem.c.type)) return problem.c.type;
  if (epilogue.aux.data != nullptr && has_16_bits(epilogue.aux.type)) return epilogue.aux.type;
  for (const Vector* bias : {&epilogue.row_bias, &epilogue.column_bias})
    if (bias->data != nullptr && has_16_bits(bias->type)) return bias->type;
  return Dtype::bf16;
}

// The same product, written as D^T = B^T A^T.
constexpr Problem transposed(Problem problem) {
  std::swap(problem.m, problem.n);
  std::swap(problem.a, problem.b);
  Epilogue& epilogue = problem.epilogue;
  for (Matrix* matrix : {&problem.a, &problem.b, &problem.c, &problem.d, &epilogue.aux})
    matrix->order = flipped(matrix->order);
  std::swap(epilogue.row_scale, epilogue.column_scale);
  std::swap(epilogue.row_bias, epilogue.column_bias);
  BiasGradient& bias_gradient = problem.bias_gradient;
  bias_gradient.of_rows = bias_gradient.any() && !bias_gradient.of_rows;
  if (bias_gradient.of == Summed::a || bias_gradient.of == Summed::b)
    bias_gradient.of = bias_gradient.of == Summed::a ? Summed::b : Summed::a;
  return problem;
}

// The same product with D in row order: a column-order D is the row-order D^T = B^T A^T.
constexpr Problem with_row_order_d(const Problem& problem) {
  return problem.d.order == Order::row ? problem : transposed(problem);
}

}  // namespace bwgemm
