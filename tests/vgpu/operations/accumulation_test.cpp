// SPDX-License-Identifier: Apache-2.0
// Sums as tensor cores form them: known answers of the model, and its two implementations agree.
#include "vgpu/operations/accumulation.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "vgpu/asynchronous/matrix_operand.h"
#include "vgpu/operations/number.h"

namespace bwgemm::vgpu {
namespace {

constexpr std::uint32_t depth = 16;

Accumulation aligned(int fraction_bits = 25) {
  Accumulation how;
  how.in_turn = false;
  how.fraction_bits = fraction_bits;
  return how;
}

// Products of `values` with one, and c.
float sum(const Accumulation& how, float c, std::vector<float> values) {
  values.resize(depth);
  const std::vector<float> ones(depth, 1.0f);
  return accumulate(how, MmaElement::bf16, c, values.data(), ones.data(), 1, depth);
}

TEST(Accumulation, CutsEachTermBelowTheLargest) {
  EXPECT_EQ(sum(aligned(), 1, {0x1p-25f, 0x1p-25f, 0x1p-25f, 0x1p-25f}), 1 + 0x1p-23f);
  EXPECT_EQ(sum(aligned(24), 1, {0x1p-25f, 0x1p-25f, 0x1p-25f, 0x1p-25f}), 1);
  EXPECT_EQ(sum(aligned(), -1, {-0x1.8p-25f, -0x1.8p-25f, -0x1p-24f}), -1 - 0x1p-23f);
}

TEST(Accumulation, RoundsOncePerGroup) {
  Accumulation how = aligned();
  EXPECT_EQ(sum(how, 1, {0x1.8p-23f}), 1 + 0x1p-23f);
  how.rounding = Accumulation::Rounding::nearest;
  EXPECT_EQ(sum(how, 1, {0x1.8p-23f}), 1 + 0x1p-22f);
  how = aligned();
  std::vector<float> halves(depth, 0x1p-24f);
  EXPECT_EQ(sum(how, 1, halves), 1 + 0x1p-20f);
  how.group = 1;
  EXPECT_EQ(sum(how, 1, halves), 1);
}

// The significand 2.25 of a product does not raise its exponent, unless products are normalised.
TEST(Accumulation, AlignsToUnnormalisedProducts) {
  const std::vector<float> a{1.5f, -1.5f, 0x1p-25f}, b{1.5f, 1.5f, 1};
  Accumulation how = aligned();
  const auto rest = [&] { return accumulate(how, MmaElement::bf16, 0, &a[0], &b[0], 1, 3); };
  EXPECT_EQ(rest(), 0x1p-25f);
  how.normalises = true;
  EXPECT_EQ(rest(), 0);
}

TEST(Accumulation, KeepsDenormals) {
  EXPECT_EQ(sum(aligned(), 0x1p-149f, {0x1p-133f}), 0x1p-133f + 0x1p-149f);
}

TEST(Accumulation, SpecialNumbers) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sum(aligned(), -1, {infinity, 1}), infinity);
  EXPECT_EQ(bits_of(sum(aligned(), -infinity, {infinity})), 0x7fffffff);
  EXPECT_EQ(bits_of(sum(aligned(), 0, {float_from_bits(0xffc10000)})), 0x7fffffff);
  EXPECT_EQ(sum(aligned(), 0x1.fffffep127f, {0x1p127f}), infinity);
}

// A row at a time and one by one; integers, for which multiply_add takes a short cut, in whole
// blocks and at their ends; and infinities and NaN, which are not summed where they decide alone.
TEST(Accumulation, AllWaysAgree) {
  constexpr std::uint32_t rows = 10, columns = 72;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (int spread : {0, 3, 30, 120}) {
    std::uint32_t state = 1;
    const auto value = [&](int most) {
      state = state * 1664525 + 1013904223;
      const int exponent = most == 0 ? 0 : static_cast<int>(state >> 8) % (2 * most + 1) - most;
      const float size = spread == 0
                             ? static_cast<float>(state >> 28)
                             : std::ldexp(1 + static_cast<float>(state >> 25) / 128, exponent);
      return state & 128 ? -size : size;
    };
    std::vector<float> a(rows * depth), b(depth * most_mma_columns + most_columns_behind),
        d(rows * columns);
    std::vector<RowOfSums> all_rows;
    for (std::uint32_t i = 0; i < rows; ++i) all_rows.push_back({&d[i * columns], &a[i * depth]});
    for (float& one : a) one = value(spread);
    for (float& one : b) one = value(std::min(spread, 30));
    for (float& one : d) one = value(spread);
    if (spread == 3) {
      a[2 * depth + 5] = float_from_bits(0xffc10000);
      a[3 * depth] = infinity;
      b[7 * most_mma_columns + 3] = std::numeric_limits<float>::quiet_NaN();
      b[7 * most_mma_columns + 4] = -infinity;
      b[9 * most_mma_columns + 5] = 0;
      for (std::uint32_t i = 0; i < rows; ++i) {
        d[i * columns + 8] = -infinity;
        d[i * columns + 9] = std::numeric_limits<float>::quiet_NaN();
        d[i * columns + 4] = i % 2 != 0 ? infinity : -infinity;
      }
    }
    const std::vector<float> before = d;
    multiply_add(aligned(), MmaElement::bf16, all_rows, {b.data(), most_mma_columns}, columns,
                 depth);
    for (std::uint32_t i = 0; i < rows; ++i)
      for (std::uint32_t j = 0; j < columns; ++j)
        ASSERT_EQ(bits_of(d[i * columns + j]),
                  bits_of(accumulate(aligned(), MmaElement::bf16, before[i * columns + j],
                                     &a[i * depth], &b[j], most_mma_columns, depth)))
            << spread << ": " << i << ", " << j;
  }
}

// Nor is any of them taken for the integer zero, though its square would be.
TEST(Accumulation, TinyNumbersAreNoIntegers) {
  constexpr std::uint32_t rows = 4, columns = 32;
  std::vector<float> a(rows * depth, 0x1p-80f), b(depth * columns, 0x1p-20f), d(rows * columns);
  std::vector<RowOfSums> all_rows;
  for (std::uint32_t i = 0; i < rows; ++i) all_rows.push_back({&d[i * columns], &a[i * depth]});
  multiply_add(aligned(), MmaElement::bf16, all_rows, {b.data(), columns}, columns, depth);
  EXPECT_THAT(d, ::testing::Each(0x1p-96f));
  std::fill(a.begin(), a.end(), 0.0f);
  multiply_add(aligned(), MmaElement::bf16, all_rows, {b.data(), columns}, columns, depth);
  EXPECT_THAT(d, ::testing::Each(0x1p-96f));
}

}  // namespace
}  // namespace bwgemm::vgpu
