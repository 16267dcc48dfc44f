// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <algorithm>

#include "bwgemm/types.h"

namespace bwgemm_python {
namespace {

// Elements from the first of one matrix to behind its last.
__int128 extent(const Matrix& matrix) {
  std::int64_t lines = matrix.rows, length = matrix.columns;
  if (!matrix.is_row_order) std::swap(lines, length);
  return static_cast<__int128>(matrix.ld) * (lines - 1) + length;
}

__int128 end_of(const Matrix& matrix) {
  const __int128 all = static_cast<__int128>(matrix.stride) * (matrix.batch - 1) + extent(matrix);
  return matrix.pointer + all * bytes_of(matrix.type);
}

bool is_empty(const Matrix& matrix) {
  return matrix.rows == 0 || matrix.columns == 0 || matrix.batch == 0;
}

}  // namespace

std::int64_t bytes_of(std::int32_t type) {
  return type == BWGEMM_R_32F ? 4 : 2;
}

std::optional<Matrix> matrix_of(const Operand& operand, bool is_transposed) {
  if (operand.dimensions != 2 && operand.dimensions != 3) return std::nullopt;
  const int last = operand.dimensions - 1;
  Matrix result{
      operand.pointer, operand.type, operand.shape[last - 1], operand.shape[last], 0, true, 1, 0};
  std::int64_t row_stride = operand.strides[last - 1], column_stride = operand.strides[last];
  if (last == 2) {
    result.batch = operand.shape[0];
    result.stride = result.batch > 1 ? operand.strides[0] : 0;
    if (result.stride < 0) return std::nullopt;
  }
  if (is_transposed) {
    std::swap(result.rows, result.columns);
    std::swap(row_stride, column_stride);
  }
  const std::int64_t row = std::max<std::int64_t>(1, result.columns);
  const std::int64_t column = std::max<std::int64_t>(1, result.rows);
  if (result.rows == 0 || result.columns == 0) {  // strides mean nothing
    result.ld = row;
    return result;
  }
  if ((result.columns <= 1 || column_stride == 1) && (result.rows <= 1 || row_stride >= row)) {
    result.ld = result.rows > 1 ? row_stride : row;
    return result;
  }
  if ((result.rows <= 1 || row_stride == 1) && (result.columns <= 1 || column_stride >= column)) {
    result.ld = result.columns > 1 ? column_stride : column;
    result.is_row_order = false;
    return result;
  }
  return std::nullopt;
}

bool is_vector(const Operand& operand, std::int64_t size) {
  return operand.dimensions == 1 && operand.shape[0] == size &&
         (size <= 1 || operand.strides[0] == 1);
}

bool is_apart(const Matrix& x, const Matrix& y) {
  if (is_empty(x) || is_empty(y)) return true;
  return end_of(x) <= static_cast<__int128>(y.pointer) ||
         end_of(y) <= static_cast<__int128>(x.pointer);
}

bool is_apart_from_itself(const Matrix& matrix) {
  return matrix.batch < 2 || is_empty(matrix) || matrix.stride >= extent(matrix);
}

}  // namespace bwgemm_python
