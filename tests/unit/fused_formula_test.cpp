// SPDX-License-Identifier: Apache-2.0
// The judge of fused results where numbers are infinite: they are expected where they are certain,
// and anything goes only where float's range may or may not be left.
#include "support/fused_formula.h"

#include <cmath>
#include <gtest/gtest.h>

namespace bwgemm::test {
namespace {

constexpr double inf = INFINITY;

void expect_exactly(const Value& value, double expected) {
  EXPECT_EQ(value.error, 0);
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(value.value)) << value.value;
  else
    EXPECT_EQ(value.value, expected);
}

void expect_anything(const Value& value) {
  EXPECT_TRUE(std::isinf(value.error)) << value.value << " +- " << value.error;
}

TEST(FusedFormula, InfinitiesAndNanPassThroughSumsScalesAndBiases) {
  const Terms plain{.k = 8};
  expect_exactly(linear(plain, inf, 10), inf);
  expect_exactly(linear(plain, -inf, 10), -inf);
  expect_exactly(linear(plain, NAN, 10), NAN);
  expect_anything(linear(plain, inf, 0x1p127));  // -Inf may have come of the rest
  expect_anything(linear(plain, 0x1p127, 0x1p127));
  expect_exactly(linear({.k = 8, .alpha = -2}, inf, 10), -inf);
  expect_exactly(linear({.k = 8, .alpha = INFINITY}, 3, 4), inf);
  expect_exactly(linear({.k = 8, .alpha = INFINITY}, 0, 0), NAN);
  expect_anything(linear({.k = 8, .alpha = INFINITY}, 1e-9, 4));  // the sum may be 0
  expect_exactly(linear({.k = 8, .alpha = NAN}, 3, 4), NAN);
  EXPECT_EQ(linear({.k = 0, .alpha = NAN, .bias = 2}, 0, 0).value, 2);
  expect_exactly(linear({.k = 8, .row_scale = INFINITY}, -3, 4), -inf);
  expect_exactly(linear({.k = 8, .row_scale = INFINITY, .column_scale = 0}, 3, 4), NAN);
  expect_exactly(linear({.k = 0, .column_scale = -INFINITY}, 0, 0), NAN);
  expect_anything(linear({.k = 8, .row_scale = 0x1p100f, .column_scale = 0x1p100f}, 3, 4));
  expect_exactly(linear({.k = 8, .beta = 2, .c = -INFINITY}, 3, 4), -inf);
  expect_exactly(linear({.k = 8, .beta = 2, .c = -INFINITY}, inf, 4), NAN);
  expect_exactly(linear({.k = 8, .beta = 0, .c = NAN}, inf, 4), inf);
  expect_exactly(linear({.k = 8, .beta = INFINITY, .c = 0}, 3, 4), NAN);
  expect_exactly(linear({.k = 8, .bias = INFINITY}, 3, 4), inf);
  expect_exactly(linear({.k = 8, .bias = INFINITY}, -inf, 4), NAN);
  expect_exactly(linear({.k = 8, .bias = NAN}, 3, 0x1p127), NAN);
}

TEST(FusedFormula, CurvesAndGatesOfInfinities) {
  for (const bwgemmActivation_t curve : {BWGEMM_ACTIVATION_RELU, BWGEMM_ACTIVATION_GELU_TANH,
                                         BWGEMM_ACTIVATION_GELU_ERF, BWGEMM_ACTIVATION_SILU}) {
    expect_exactly(activated(curve, {inf, 0}), inf);
    expect_exactly(activated(curve, {-inf, 0}), 0);
    expect_exactly(activated(curve, {NAN, 0}), NAN);
    expect_exactly(gated(curve, {-inf, 0}, {inf, 0}), NAN);
    expect_exactly(gated(curve, {inf, 0}, {-2, 0}), -inf);
    expect_exactly(gated(curve, {3, 0}, {-inf, 0}), -inf);
    expect_anything(gated(curve, {inf, 0}, {1, 2}));
    expect_exactly(differentiated(curve, {3, 0}, -INFINITY), 0);
    EXPECT_EQ(differentiated(curve, {3, 0}, INFINITY).value, 3);
    expect_exactly(differentiated(curve, {inf, 0}, INFINITY), inf);
    expect_exactly(differentiated(curve, {inf, 0}, -INFINITY), NAN);
    expect_exactly(differentiated(curve, {3, 0}, NAN), NAN);
  }
  expect_exactly(activated(BWGEMM_ACTIVATION_NONE, {-inf, 0}), -inf);
  expect_exactly(activated(BWGEMM_ACTIVATION_SIGMOID, {inf, 0}), 1);
  expect_exactly(activated(BWGEMM_ACTIVATION_SIGMOID, {-inf, 0}), 0);
  expect_exactly(gated(BWGEMM_ACTIVATION_SIGMOID, {inf, 0}, {-inf, 0}), -inf);
  expect_exactly(activated(BWGEMM_ACTIVATION_CLAMP, {inf, 0}), ClampBounds{}.high);
  expect_exactly(activated(BWGEMM_ACTIVATION_CLAMP, {-inf, 0}), ClampBounds{}.low);
  for (const bwgemmActivation_t curve : {BWGEMM_ACTIVATION_SIGMOID, BWGEMM_ACTIVATION_CLAMP}) {
    expect_exactly(activated(curve, {NAN, 0}), NAN);
    expect_exactly(differentiated(curve, {3, 0}, INFINITY), 0);
    expect_exactly(differentiated(curve, {inf, 0}, -INFINITY), NAN);
    expect_exactly(differentiated(curve, {3, 0}, NAN), NAN);
  }
  expect_exactly(differentiated(BWGEMM_ACTIVATION_CLAMP, {3, 0}, 1), 3);
  expect_exactly(differentiated(BWGEMM_ACTIVATION_CLAMP, {3, 0}, ClampBounds{}.high), 0);
}

TEST(FusedFormula, SumsOfGradients) {
  const auto sum = [](std::initializer_list<double> terms) {
    return added_up(static_cast<std::int64_t>(terms.size()),
                    [&](std::int64_t i) { return terms.begin()[i]; });
  };
  expect_exactly(sum({1, inf, 2}), inf);
  expect_exactly(sum({-inf, 3}), -inf);
  expect_exactly(sum({inf, -inf}), NAN);
  expect_exactly(sum({1, NAN}), NAN);
  expect_anything(sum({inf, 0x1p126}));
}

}  // namespace
}  // namespace bwgemm::test
