// SPDX-License-Identifier: Apache-2.0
//
// Arrays as the matrices of a product: which layouts the library can express, and where they lie.
#pragma once

#include <cstdint>
#include <optional>

namespace bwgemm_python {

// An array on a device, its shape and strides in elements; they are known for up to three
// dimensions.
struct Operand {
  std::uint64_t pointer;
  std::int32_t device, dimensions;
  std::int32_t type;  // a bwgemmDataType_t
  std::int64_t shape[3], strides[3];
};

// One matrix, or a batch of them. The stride from one to the next is 0 where there is one.
struct Matrix {
  std::uint64_t pointer;
  std::int32_t type;
  std::int64_t rows, columns, ld;
  bool is_row_order;
  std::int64_t batch, stride;
};

std::int64_t bytes_of(std::int32_t type);

// The operand has two dimensions, or three with a batch in front. None if the library has no such
// layout.
std::optional<Matrix> matrix_of(const Operand& operand, bool is_transposed);

// Whether the operand is one vector of that many elements next to each other.
bool is_vector(const Operand& operand, std::int64_t size);

// Whether the memory between the first byte and the last of both is apart. False means "perhaps
// not".
bool is_apart(const Matrix& x, const Matrix& y);

// Whether the products of a batch lie one behind the other. False means "perhaps not".
bool is_apart_from_itself(const Matrix& matrix);

}  // namespace bwgemm_python
