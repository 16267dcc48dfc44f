// SPDX-License-Identifier: Apache-2.0
// Activations and their slopes against float64, within what bwgemm.h says: the kernels' arithmetic
// on the host, with approximations as bad as PTX lets them be. gpu/curves_test.cpp is about those
// that a device has.
#include "device/curves.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

#include "problems.h"
#include "rows.h"
#include "rules/fill.h"
#include "support/fused_formula.h"

namespace bwgemm {
namespace {

// Units in the last place: ex2.approx 2, rcp.approx 1.
constexpr ptx::Errors worst[] = {{0, 0}, {2, 1}, {2, -1}, {-2, 1}, {-2, -1}};

FusedParams params_of(bwgemmActivation_t activation) {
  FusedParams params{};
  Epilogue epilogue;
  epilogue.activation = static_cast<Activation>(activation);
  fill_curve(epilogue, params);
  return params;
}

struct Curves {
  bwgemmActivation_t activation;
  FusedParams params;

  float value(float x) const {
    float y = NAN;
    visit_curve(params, params.operations, [&](const auto& curve) { y = curve.value(x); });
    return y;
  }
  float slope(float x) const {
    float slope = NAN;
    visit_curve(params, params.operations, [&](const auto& curve) { slope = curve.slope(x); });
    return slope;
  }
};

// Those that are not exact.
constexpr bwgemmActivation_t activations[] = {BWGEMM_ACTIVATION_GELU_TANH,
                                              BWGEMM_ACTIVATION_GELU_ERF, BWGEMM_ACTIVATION_SILU,
                                              BWGEMM_ACTIVATION_SIGMOID};

// Floats of all sizes and both signs, infinities among them; one in `step`.
template <class Visit>
void each_float(std::uint32_t step, const Visit& visit) {
  for (std::uint64_t bits = 0; bits <= 0x7f800000; bits += step)
    for (const std::uint32_t sign : {0u, 1u << 31})
      visit(std::bit_cast<float>(static_cast<std::uint32_t>(bits) | sign));
}

TEST(Curves, AreWithinTheHeadersBounds) {
  for (const bwgemmActivation_t activation : activations) {
    const Curves curves{activation, params_of(activation)};
    double most = 0, most_of_slope = 0;  // of the bounds
    each_float(8191, [&](float x) {
      const test::Curve exact = test::curve(activation, x);
      const double bound = test::curve_error(activation, exact.value);
      for (const ptx::Errors& errors : worst) {
        ptx::errors = errors;
        most = std::max(most, std::fabs(curves.value(x) - exact.value) / bound);
        most_of_slope = std::max(most_of_slope, std::fabs(curves.slope(x) - exact.slope) /
                                                    test::slope_error(activation));
      }
    });
    ptx::errors = {};
    EXPECT_LE(most, 1) << activation;
    EXPECT_LE(most_of_slope, 1) << activation;
    EXPECT_GT(most, 0.2) << activation << ": the bound says little";
    EXPECT_GT(most_of_slope, 0.2) << activation << ": the bound says little";
  }
}

TEST(Curves, HaveTheirLimitsAtInfinityAndPassNanOn) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const bwgemmActivation_t activation : activations) {
    const Curves curves{activation, params_of(activation)};
    const bool is_sigmoid = activation == BWGEMM_ACTIVATION_SIGMOID;
    EXPECT_EQ(curves.value(infinity), is_sigmoid ? 1 : infinity);
    EXPECT_EQ(curves.value(-infinity), 0);
    EXPECT_EQ(curves.slope(infinity), is_sigmoid ? 0 : 1);
    EXPECT_EQ(curves.slope(-infinity), 0);
    EXPECT_TRUE(std::isnan(curves.value(NAN)));
    EXPECT_TRUE(std::isnan(curves.slope(NAN)));
  }
  EXPECT_EQ(Relu::slope(infinity), 1);
  EXPECT_EQ(Relu::slope(-infinity), 0);
  EXPECT_EQ(Relu::slope(0), 0);
  EXPECT_TRUE(std::isnan(Relu::slope(NAN)));
}

TEST(Curves, ClampIsExact) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Epilogue epilogue;
  epilogue.activation = Activation::clamp;
  for (const Bounds bounds :
       {Bounds{-0.5f, 2}, {0, infinity}, {-infinity, -1}, {3, 3}, {-infinity, infinity}}) {
    epilogue.clamp = bounds;
    Curves clamp{BWGEMM_ACTIVATION_CLAMP, {}};
    fill_curve(epilogue, clamp.params);
    EXPECT_TRUE(std::isnan(clamp.value(NAN)));
    EXPECT_TRUE(std::isnan(clamp.slope(NAN)));
    for (const float x : {-infinity, -3.0f, -0.5f, 0.0f, 1.0f, 2.0f, 3.0f, infinity}) {
      EXPECT_EQ(clamp.value(x), std::min(std::max(x, bounds.low), bounds.high)) << x;
      const bool is_inside = bounds.low < x && x < bounds.high;
      EXPECT_EQ(clamp.slope(x), is_inside ? 1 : 0) << x << ": 0 at the bounds";
    }
  }
}

// Kernels that ask whether there is any curve ask operation::curves.
TEST(Curves, EachActivationIsOneOfThem) {
  for (int i = 1; i <= static_cast<int>(last_activation); ++i) {
    const Activation activation{static_cast<std::uint8_t>(i)};
    FusedParams params{};
    Epilogue epilogue;
    epilogue.activation = activation;
    fill_curve(epilogue, params);
    EXPECT_NE(params.operations, 0u) << name(activation);
    EXPECT_EQ(params.operations & ~operation::curves, 0u) << name(activation);
    int curves = 0;
    visit_curve(params, params.operations, [&](const auto&) { ++curves; });
    EXPECT_EQ(curves, 1) << name(activation);
  }
  visit_curve({}, ~operation::curves, [](const auto&) { FAIL() << "a curve of other operations"; });
}

}  // namespace
}  // namespace bwgemm
