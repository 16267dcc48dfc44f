// SPDX-License-Identifier: Apache-2.0
// How a matrix instruction adds its products to a sum. Either each in turn, rounded to the nearest
// f32, or as tensor cores are known to: terms are aligned to the largest exponent, cut there, added
// exactly, and the result is rounded once per group of terms. calibration/ measures which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "vgpu/operations/number.h"

namespace bwgemm::vgpu {

enum class MmaElement : std::uint8_t { f16, bf16, tf32, e4m3, e5m2 };

struct Accumulation {
  enum class Cut : std::uint8_t { toward_zero, down, nearest };  // of a term that is aligned
  enum class Rounding : std::uint8_t { toward_zero, nearest };   // of a group's sum
  static constexpr int no_exponent = -100000;

  bool in_turn = true;       // the first way; nothing below counts
  std::uint32_t group = 16;  // products that are added together
  bool interleaved = false;  // group i is every (depth / group)th product from i on
  int fraction_bits = 25;    // kept below the largest exponent
  bool normalises = false;   // the exponent of a product counts its carry
  bool addend_first = true;  // the sum so far is a term; else it is added to the group's sum
  Cut cut = Cut::toward_zero;
  Rounding rounding = Rounding::toward_zero;
  int least_exponent = no_exponent;  // alignment goes no lower
  bool zero_counts = false;          // exponents of zero products take part in the largest
  bool largest_on_overflow = false;  // else infinity
  bool keeps_minus_zero = false;     // a sum of nothing but -0 is -0
  bool flushes = false;              // sums below the normal numbers are zero
  std::uint32_t nan = result_nan;

  bool operator==(const Accumulation&) const = default;
};

// That of wgmma and mma.sync on Hopper.
Accumulation hopper_accumulation(MmaElement element);

std::string to_string(const Accumulation& how);

// sum + a[0] b[0] + a[1] b[b_pitch] ..: one element of D.
float accumulate(const Accumulation& how, MmaElement element, float sum, const float* a,
                 const float* b, std::uint32_t b_pitch, std::uint32_t depth);

template <class T>
struct Rows {
  T* first;
  std::uint32_t pitch;
  T* operator[](std::uint32_t row) const { return first + std::size_t{row} * pitch; }
};

// A row of D, and that of A.
struct RowOfSums {
  float* d;
  const float* a;
};

// The same for d[j] += a[0] b[0][j] + a[1] b[1][j] ... of each row; at most 256 columns, 32 deep.
void accumulate_all(const Accumulation& how, MmaElement element, std::span<const RowOfSums> rows,
                    Rows<const float> b, std::uint32_t columns, std::uint32_t depth);

}  // namespace bwgemm::vgpu
