// SPDX-License-Identifier: Apache-2.0
// Matrix: a batch of column-major matrices in host memory, element for element as the device sees
// them. Whatever lies between columns and batches is poison: NaN in every type, and a bit pattern
// that no computation produces.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "support/element.h"

namespace bwgemm::test {

inline constexpr std::uint16_t poison = 0xffa5;

inline void fill_with_poison(std::byte* bytes, std::size_t size) {
  for (std::size_t at = 0; at < size; ++at)
    bytes[at] = static_cast<std::byte>((at % 2 == 0 ? poison : poison >> 8) & 0xff);
}

class Matrix {
 public:
  Matrix() = default;
  Matrix(Dtype type, std::int64_t rows, std::int64_t columns, std::int64_t ld,
         std::int64_t batch = 1, std::int64_t stride = 0)
      : type_(type), rows_(rows), columns_(columns), ld_(ld), batch_(batch), stride_(stride) {
    bytes_.resize(static_cast<std::size_t>(span() * size_bytes(type)));
    fill_with_poison(bytes_.data(), bytes_.size());
  }

  Dtype type() const { return type_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t ld() const { return ld_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t stride() const { return stride_; }

  // Elements from the first to the last.
  std::int64_t span() const {
    if (rows_ == 0 || columns_ == 0 || batch_ == 0) return 0;
    return (batch_ - 1) * stride_ + (columns_ - 1) * ld_ + rows_;
  }
  std::vector<std::byte>& bytes() { return bytes_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

  const std::byte* at(std::int64_t row, std::int64_t column, std::int64_t batch = 0) const {
    return bytes_.data() + (batch * stride_ + column * ld_ + row) * size_bytes(type_);
  }
  std::byte* at(std::int64_t row, std::int64_t column, std::int64_t batch = 0) {
    return const_cast<std::byte*>(std::as_const(*this).at(row, column, batch));
  }
  float get(std::int64_t row, std::int64_t column, std::int64_t batch = 0) const {
    return load(at(row, column, batch), type_);
  }
  void set(std::int64_t row, std::int64_t column, float value, std::int64_t batch = 0) {
    store(at(row, column, batch), type_, value);
  }

  // Copies the elements, not what lies between them.
  void copy_elements_from(const Matrix& other) {
    for (std::int64_t batch = 0; batch < batch_; ++batch)
      for (std::int64_t column = 0; column < columns_; ++column)
        std::memcpy(at(0, column, batch), other.at(0, column, batch),
                    static_cast<std::size_t>(rows_ * size_bytes(type_)));
  }

 private:
  Dtype type_ = Dtype::bf16;
  std::int64_t rows_ = 0, columns_ = 0, ld_ = 0, batch_ = 0, stride_ = 0;
  std::vector<std::byte> bytes_;
};

enum class Fill : std::uint8_t {
  normal,    // bell-shaped, mean 0, variance 1
  integers,  // -4 .. 4: products and sums are exact in float
  poison,    // left as it is: NaN everywhere
};

// Value of one element: a function of seed and index alone, so that the same logical matrix can be
// stored in several ways.
inline float sample(Fill fill, std::uint64_t seed, std::uint64_t index) {
  std::uint64_t bits = seed * 0x9e3779b97f4a7c15 + index + 1;  // splitmix64
  bits *= 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  bits ^= bits >> 31;
  if (fill == Fill::integers) return static_cast<float>(static_cast<int>(bits % 9) - 4);
  float sum = -2;  // of four uniform numbers: variance 1/3
  for (int part = 0; part < 4; ++part)
    sum += static_cast<float>((bits >> (16 * part)) & 0xffff) * 0x1p-16f;
  return sum * 1.7320508f;
}

inline void fill_matrix(Matrix& matrix, Fill fill, std::uint64_t seed) {
  if (fill == Fill::poison) return;
  std::uint64_t index = 0;
  for (std::int64_t batch = 0; batch < matrix.batch(); ++batch)
    for (std::int64_t column = 0; column < matrix.columns(); ++column)
      for (std::int64_t row = 0; row < matrix.rows(); ++row)
        matrix.set(row, column, sample(fill, seed, index++), batch);
}

}  // namespace bwgemm::test
