// SPDX-License-Identifier: Apache-2.0
// The numerics contract of bwgemm.h as an interval of allowed results. Nothing here is tuned: the
// accumulated value may be anywhere in sum -+ (k + 16) * 2^-23 * S (and off by the float denormals
// that may be flushed); from there on the header's operations are done in float.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "support/element.h"

namespace bwgemm::test {

struct Allowed {
  float low, high;
  bool nan;                 // the result must be NaN
  bool may_be_nan = false;  // or may: a sum that may be zero meets an infinite alpha
};

namespace detail {

// One multiply, one fused multiply-add, one rounding. The contract leaves open which of the two
// products is the fused one.
inline float scaled(float sum, float alpha, float beta, float c, bool fuse_alpha, Dtype type) {
  if (alpha == 1 && beta == 0 && c == 0) return rounded_to(type, sum + 0.0f);  // the usual case
  const float value = fuse_alpha ? std::fma(alpha, sum, beta * c) : std::fma(beta, c, alpha * sum);
  return rounded_to(type, value);
}

inline float float_below(double value) {
  const auto nearest = static_cast<float>(value);
  return nearest > value ? std::nextafter(nearest, -INFINITY) : nearest;
}

}  // namespace detail

// `sum` and `magnitude` are the exact sums of a*b and |a||b| over k. beta = 0 ignores c.
inline Allowed allowed_result(double sum, double magnitude, std::int64_t k, float alpha, float beta,
                              float c, Dtype type) {
  if (beta == 0) c = 0;
  if (k == 0 || alpha == 0) {
    const float scaled_c = beta == 0 ? 0 : rounded_to(type, beta * c);
    return {scaled_c, scaled_c, std::isnan(scaled_c)};
  }
  const double terms = static_cast<double>(k + 16);
  const double error = terms * 0x1p-23 * magnitude + terms * 0x1p-126;
  const bool finite = std::isfinite(sum);
  const float low_sum = finite ? detail::float_below(sum - error) : static_cast<float>(sum);
  const float high_sum = finite ? -detail::float_below(-(sum + error)) : static_cast<float>(sum);
  Allowed allowed{INFINITY, -INFINITY, false};
  allowed.may_be_nan = std::isinf(alpha) && low_sum <= 0 && high_sum >= 0;
  // Where beta * C alone overflows, only one order of the two meets an infinity of the other sign.
  bool is_nan = false, is_number = false;
  for (const bool fuse_alpha : {false, true}) {
    const auto middle = detail::scaled(static_cast<float>(sum), alpha, beta, c, fuse_alpha, type);
    (std::isnan(middle) ? is_nan : is_number) = true;
    for (const float end : {low_sum, high_sum}) {
      const float value = detail::scaled(end, alpha, beta, c, fuse_alpha, type);
      allowed.low = std::fmin(allowed.low, value);
      allowed.high = std::fmax(allowed.high, value);
    }
  }
  allowed.nan = is_nan && !is_number;
  allowed.may_be_nan |= is_nan;
  return allowed;
}

// Whether `result` is what the header's operations make of the nearest float of a finite sum: that
// lies in the interval of allowed_result, because each operation keeps the order of its arguments.
// Says no where a product is left out. Nearly all results are such, and this is cheaper to know.
inline bool is_plain_result(float result, double sum, std::int64_t k, float alpha, float beta,
                            float c, Dtype type) {
  if (k == 0 || alpha == 0 || !std::isfinite(alpha)) return false;
  return result ==
         detail::scaled(static_cast<float>(sum), alpha, beta, beta == 0 ? 0 : c, true, type);
}

inline bool is_allowed(float result, const Allowed& allowed) {
  if (std::isnan(result)) return allowed.nan || allowed.may_be_nan;
  if (allowed.nan) return false;
  return allowed.low <= result && result <= allowed.high;
}

}  // namespace bwgemm::test
