// SPDX-License-Identifier: Apache-2.0
// What results of the library are judged by, against plainer ways to the same numbers.
#include <cmath>
#include <gtest/gtest.h>

#include "support/reference_gemm.h"
#include "support/tolerance.h"

namespace bwgemm::test {
namespace {

// Sizes that end inside of blocks; integers, which are summed in float, and others.
TEST(References, AProductIsTheSumOfItsTerms) {
  constexpr std::int64_t m = 21, n = 70, k = 37;
  for (const Fill fill : {Fill::integers, Fill::normal}) {
    Matrix a(Dtype::bf16, k, m, k + 3), b(Dtype::f16, k, n, k + 1);
    fill_matrix(a, fill, 1);
    fill_matrix(b, fill, 2);
    const Product result = product({&a, true}, {&b, false});
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          const double term = double{a.get(p, i)} * double{b.get(p, j)};
          sum += term;
          magnitude += std::fabs(term);
        }
        const std::size_t at =
            result.index(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
        const double most = fill == Fill::integers ? 0 : magnitude * 0x1p-45;
        ASSERT_NEAR(result.sum[at], sum, most);
        ASSERT_NEAR(result.magnitude[at], magnitude, most);
      }
  }
}

// 2^13 times 2^11 and one more is no float.
TEST(References, LargeIntegersAreSummedExactly) {
  Matrix a(Dtype::f32, 1, 2, 1), b(Dtype::f32, 2, 1, 2);
  a.set(0, 0, 8192), a.set(0, 1, 1);
  b.set(0, 0, 2048), b.set(1, 0, 1);
  EXPECT_EQ(product({&a, false}, {&b, false}).sum[0], 0x1p24 + 1);
}

TEST(References, NaNStaysInItsRow) {
  Matrix a(Dtype::bf16, 8, 5, 8), b(Dtype::bf16, 5, 3, 5);
  fill_matrix(a, Fill::integers, 1);
  fill_matrix(b, Fill::integers, 2);
  a.set(6, 2, NAN);
  const Product result = product({&a, false}, {&b, false});
  for (std::size_t row = 0; row < 8; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      EXPECT_EQ(std::isnan(result.sum[result.index(row, column)]), row == 6);
}

TEST(References, HalvesAreAsTheMathLibraryRounds) {
  for (std::uint32_t i = 0; i < 1u << 16; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float value = from_f16(bits);
    if (exponent == 31) {
      ASSERT_TRUE(fraction != 0 ? std::isnan(value) : std::isinf(value)) << i;
      continue;
    }
    const double size =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(value, (bits >> 15) != 0 ? -size : size) << i;
    ASSERT_EQ(to_f16(value), bits);
    // Halfway to the next, and a little beyond: to even, and up.
    const float step = static_cast<float>(std::ldexp(1, exponent == 0 ? -24 : exponent - 25));
    const float middle = value + std::copysign(step / 2, value);
    ASSERT_EQ(to_f16(middle), bits % 2 == 0 ? bits : bits + 1) << i;
    ASSERT_EQ(to_f16(std::nextafter(middle, std::copysign(INFINITY, value))), bits + 1) << i;
  }
}

TEST(References, APlainResultIsAllowed) {
  int plain = 0;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const double sum = double{sample(Fill::normal, 1, i)} * 37;
    const float alpha = sample(Fill::normal, 2, i),
                beta = i % 3 == 0 ? 0 : sample(Fill::normal, 3, i);
    const float c = sample(Fill::normal, 4, i);
    const Dtype type = i % 2 != 0 ? Dtype::bf16 : Dtype::f32;
    const float result = rounded_to(type, std::fma(alpha, static_cast<float>(sum), beta * c));
    for (const float got : {result, std::nextafter(result, INFINITY), -result}) {
      if (!is_plain_result(got, sum, 64, alpha, beta, c, type)) continue;
      ++plain;
      ASSERT_TRUE(is_allowed(got, allowed_result(sum, 0, 64, alpha, beta, c, type))) << i;
    }
  }
  EXPECT_GE(plain, 20000);
  EXPECT_FALSE(is_plain_result(NAN, NAN, 64, 1, 0, 0, Dtype::f32));
  EXPECT_FALSE(is_plain_result(0, 1, 0, 1, 0, 0, Dtype::f32)) << "no product";
}

}  // namespace
}  // namespace bwgemm::test
