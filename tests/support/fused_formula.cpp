// SPDX-License-Identifier: Apache-2.0
#include "support/fused_formula.h"

#include <algorithm>
#include <cmath>

#include "support/tolerance.h"

namespace bwgemm::test {
namespace {

constexpr double ulp = 0x1p-23;
// What the header's activations may be off by, relative to the result; and what may be lost where
// their tails leave float's normal numbers.
constexpr double curve_error = 0x1p-16, lost_tail = 0x1p-118;
// A product below float's normal numbers may be off by it, and a scale behind makes more of that.
constexpr double smallest = 0x1p-149;
// From here on a float may have been infinite.
constexpr double too_large = 0x1p126;

constexpr Value anything{0, INFINITY};
constexpr Value nan_value{NAN, 0};

double phi(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846);
}
double normal(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}
double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

struct Curve {
  double value, slope;
};

Curve curve(bwgemmActivation_t activation, double x) {
  const double gelu = 2 * std::sqrt(2 / 3.14159265358979323846);
  switch (activation) {
    case BWGEMM_ACTIVATION_RELU: return {std::max(x, 0.0), x > 0 ? 1.0 : 0.0};
    case BWGEMM_ACTIVATION_GELU_TANH: {
      const double s = sigmoid(gelu * (x + 0.044715 * x * x * x));
      return {x * s, s + x * s * (1 - s) * gelu * (1 + 3 * 0.044715 * x * x)};
    }
    case BWGEMM_ACTIVATION_GELU_ERF: return {x * normal(x), normal(x) + x * phi(x)};
    case BWGEMM_ACTIVATION_SILU: {
      const double s = sigmoid(x);
      return {x * s, s + x * s * (1 - s)};
    }
    default: return {x, 1};
  }
}

// NaN stays NaN, and what float may not hold becomes anything.
Value bounded(const Value& x) {
  if (std::isnan(x.value)) return nan_value;
  return std::fabs(x.value) + x.error < too_large ? x : anything;
}

Value times(const Value& x, double by) {
  if (by == 1) return x;
  return {x.value * by, x.error * std::fabs(by) +
                            (std::fabs(x.value) + x.error) * std::fabs(by) * ulp + smallest};
}

}  // namespace

Value linear(const Terms& terms, double sum, double magnitude) {
  const bool is_empty = terms.k == 0 || terms.alpha == 0;
  const double scaled_c = terms.beta != 0 ? static_cast<double>(terms.beta) * terms.c : 0;
  const double alpha = is_empty ? 0 : terms.alpha;
  for (const double one :
       {is_empty ? 0 : sum, alpha, static_cast<double>(terms.row_scale),
        static_cast<double>(terms.column_scale),
        terms.beta != 0 ? static_cast<double>(terms.beta) : 0,
        terms.beta != 0 ? static_cast<double>(terms.c) : 0, static_cast<double>(terms.bias)})
    if (std::isnan(one)) return nan_value;
  const auto count = static_cast<double>(terms.k + 16);
  Value x{is_empty ? 0 : sum, 0};
  if (!is_empty && magnitude != 0) x.error = count * (ulp * magnitude + 0x1p-126);
  bool is_held = std::fabs(x.value) + x.error < too_large && magnitude < too_large;
  const auto keep = [&](const Value& next) {
    x = next;
    is_held = is_held && std::fabs(x.value) + x.error < too_large;  // false for NaN
  };
  keep(times(x, alpha));
  // Which scale comes first depends on the order of D; in either a float may not hold what is
  // between.
  const Value other = times(x, terms.column_scale);
  keep(times(x, terms.row_scale));
  keep(times(x, terms.column_scale));
  x.error += smallest * std::fabs(terms.row_scale);  // in the other order
  is_held = is_held && std::fabs(other.value) + other.error < too_large;
  for (const double term : {scaled_c, static_cast<double>(terms.bias)})
    if (term != 0)
      keep({x.value + term, x.error + (std::fabs(x.value) + x.error + std::fabs(term)) * ulp});
  // Products below float's normal numbers are off by more than their last place.
  return is_held ? Value{x.value, x.error + 0x1p-126 * count} : anything;
}

Value activated(bwgemmActivation_t activation, const Value& x) {
  if (std::isnan(x.value) || std::isinf(x.error)) return x;
  constexpr double steepest = 1.13;
  Value y{curve(activation, x.value).value,
          activation == BWGEMM_ACTIVATION_NONE ? x.error : steepest * x.error};
  if (activation > BWGEMM_ACTIVATION_RELU) y.error += std::fabs(y.value) * curve_error + lost_tail;
  return y;
}

Value gated(bwgemmActivation_t activation, const Value& x, const Value& y) {
  if (std::isnan(x.value) || std::isnan(y.value)) return nan_value;
  if (std::isinf(x.error) || std::isinf(y.error)) return anything;
  const Value first = activated(activation, x);
  const Value product{first.value * y.value, std::fabs(first.value) * y.error +
                                                 std::fabs(y.value) * first.error +
                                                 first.error * y.error +
                                                 std::fabs(first.value * y.value) * ulp + 0x1p-126};
  return bounded(product);
}

Value differentiated(bwgemmActivation_t activation, const Value& x, float aux) {
  if (std::isnan(aux) || std::isnan(x.value)) return nan_value;
  if (std::isinf(aux) || std::isinf(x.error)) return anything;
  const double slope = curve(activation, aux).slope;
  const bool is_exact = activation == BWGEMM_ACTIVATION_RELU;
  const double most = std::fabs(x.value) + x.error;
  return bounded({x.value * slope, x.error * std::fabs(slope) +
                                       most * (is_exact ? ulp : 2 * curve_error) + 0x1p-126});
}

bool is_close(float got, const Value& expected, Dtype type) {
  if (std::isnan(expected.value)) return std::isnan(got);
  if (std::isinf(expected.error)) return true;
  const float low = detail::float_below(expected.value - expected.error);
  const float high = -detail::float_below(-(expected.value + expected.error));
  return rounded_to(type, low) <= got && got <= rounded_to(type, high);  // false for NaN
}

}  // namespace bwgemm::test
