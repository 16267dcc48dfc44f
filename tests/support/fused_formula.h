// SPDX-License-Identifier: Apache-2.0
// The formula of bwgemmMatmul in float64, and how far the header lets a result in float be off.
#pragma once

#include <cmath>
#include <cstdint>

#include "bwgemm/bwgemm.h"
#include "core/element.h"

namespace bwgemm::test {

// Somewhere in value -+ error. An infinite error: anything, because float's range is left, where
// the header does not say when. A value that is infinite or NaN: nothing else.
struct Value {
  double value, error;
};

// What one element of the product meets before its activation. What is absent is as here.
struct Terms {
  std::int64_t k = 1;
  float alpha = 1, row_scale = 1, column_scale = 1;
  float beta = 0, c = 0, bias = 0;  // beta 0: c is not looked at
};

// Of the sum of a*b over k, exact or what IEEE makes of infinities and NaN, and of the sum of those
// |a||b| that are finite; a magnitude of 0 says that float holds the sum.
Value linear(const Terms& terms, double sum, double magnitude);

// Of BWGEMM_ACTIVATION_CLAMP; cases that name no others have these.
struct ClampBounds {
  float low = -0.75f, high = 1.25f;
};

// An activation and its slope; at infinities their limits.
struct Curve {
  double value, slope;
};
Curve curve(bwgemmActivation_t activation, double x, const ClampBounds& bounds = {});

// What the header lets an activation of that value, and a slope, be off by.
double curve_error(bwgemmActivation_t activation, double value);
double slope_error(bwgemmActivation_t activation);

Value activated(bwgemmActivation_t activation, const Value& x);
Value gated(bwgemmActivation_t activation, const Value& x, const Value& y);
Value differentiated(bwgemmActivation_t activation, const Value& x, float aux);

// A bias gradient: the sum of term(0) .. term(count - 1), which are float.
template <class Term>
Value added_up(std::int64_t count, const Term& term) {
  double sum = 0, magnitude = 0;  // magnitude: of what is finite
  for (std::int64_t i = 0; i < count; ++i) {
    const double one = term(i);
    sum += one;
    if (std::isfinite(one)) magnitude += std::fabs(one);
  }
  if (std::isnan(sum)) return {sum, 0};
  if (magnitude >= 0x1p126) return {0, INFINITY};
  if (std::isinf(sum)) return {sum, 0};
  return {sum, (150 + static_cast<double>(count) * 0x1p-14) * 0x1p-24 * magnitude};
}

// What `got`, of the type, may be.
bool is_close(float got, const Value& expected, Dtype type);

}  // namespace bwgemm::test
