// SPDX-License-Identifier: Apache-2.0
// FusedParams: the fused epilogue, which is all that a kernel does between the product and D
// besides alpha and beta. rules/fill.cpp fills the parameters, device/fused.h applies the
// operations in the order of core/problem.h.
#pragma once

#include <cstdint>

namespace bwgemm {

// A matrix addressed element by element.
struct StridedMatrix {
  const void* data;
  std::int64_t outer_stride;  // elements between steps along m (a, c, d) or n (b)
  std::int64_t inner_stride;  // elements between steps along k (a, b) or n (c, d)
  std::int64_t batch_stride;
};

// Bits of FusedParams::operations: one word, which a kernel reads anew wherever the kernel needs a
// bit. A word that was read once and kept would take registers from the main loop.
namespace operation {
inline constexpr std::uint32_t row_scale = 1 << 0, column_scale = 1 << 1;
inline constexpr std::uint32_t row_bias = 1 << 2, row_bias_f32 = 1 << 3;  // else of 16 bits
inline constexpr std::uint32_t column_bias = 1 << 4, column_bias_f32 = 1 << 5;
// The epilogue itself loads C; else C has D's type and has been loaded.
inline constexpr std::uint32_t loads_c = 1 << 6, c_f32 = 1 << 7;
inline constexpr std::uint32_t writes_aux = 1 << 8, reads_aux = 1 << 9, aux_f32 = 1 << 10;
// Curves, of which a launch has at most one: see device/curves.h.
inline constexpr std::uint32_t relu = 1 << 11, swish = 1 << 12, erf = 1 << 13;
inline constexpr std::uint32_t gate = 1 << 14;
inline constexpr std::uint32_t sigmoid = 1 << 15, clamp = 1 << 16;
inline constexpr std::uint32_t curves = relu | swish | erf | sigmoid | clamp;
inline constexpr std::uint32_t scales = row_scale | column_scale, biases = row_bias | column_bias;
inline constexpr std::uint32_t reads_vectors = scales | biases;
inline constexpr std::uint32_t any = 1u << 31;  // else D = alpha*A*B + beta*C, and nothing is read
}  // namespace operation

struct FusedVector {
  const void* data;
  std::int64_t batch_stride;
};

// Which of the product's columns (rows, where A and B are swapped) a cooperative kernel has as its
// column c: block * (c / 16) + half * (c / 8 % 2) + step * (c % 8). With a gate, of 16 columns
// eight are x and eight the y to them. Family::direct has as its column c step * c and, with a
// gate, that + to_y, which 32 bits need not hold. Family::pair and Family::single take the columns
// as they lie, stacked ones half a tile each.
struct GateColumns {
  std::int32_t block, half, step;
};

struct FusedParams {
  std::uint32_t operations;
  bool scales_exchanged;  // Family::dot: the kernel sees the problem transposed, columns are first
  float constants[2];     // of the curve: see device/curves.h
  FusedVector row_scale, column_scale, row_bias, column_bias;
  StridedMatrix aux;  // C is KernelParams::c
  GateColumns columns;
  std::int64_t b_to_y;  // Family::direct: elements of B from a column of x to that of its y
  std::int64_t to_y;    // Family::direct: columns of the product between them

  constexpr bool has(std::uint32_t operation) const { return (operations & operation) != 0; }
};

}  // namespace bwgemm
