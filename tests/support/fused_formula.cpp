// SPDX-License-Identifier: Apache-2.0
#include "support/fused_formula.h"

#include <algorithm>
#include <cmath>

#include "support/tolerance.h"

namespace bwgemm::test {
namespace {

constexpr double ulp = 0x1p-23;
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

bool is_anything(const Value& x) {
  return std::isinf(x.error);
}
bool is_finite(const Value& x) {
  return std::isfinite(x.value) && std::isfinite(x.error);
}
bool is_zero(const Value& x) {
  return x.value == 0 && x.error == 0;
}
bool has_sign(const Value& x) {
  return std::fabs(x.value) > x.error;
}

// What float may not hold becomes anything.
Value held(const Value& x) {
  return !std::isfinite(x.value) || std::fabs(x.value) + x.error < too_large ? x : anything;
}

Value times(const Value& x, const Value& by) {
  if (std::isnan(x.value) || std::isnan(by.value)) return nan_value;
  if (is_anything(x) || is_anything(by)) return anything;
  if (std::isinf(x.value) || std::isinf(by.value)) {
    if (is_zero(x) || is_zero(by)) return nan_value;
    return has_sign(x) && has_sign(by) ? Value{x.value * by.value, 0} : anything;
  }
  if (is_zero(x) || is_zero(by)) return {0, 0};
  if (by.value == 1 && by.error == 0) return x;
  const double size = std::fabs(x.value), by_size = std::fabs(by.value);
  return held({x.value * by.value, x.error * by_size + by.error * size + x.error * by.error +
                                       (size + x.error) * (by_size + by.error) * ulp + smallest});
}

Value plus(const Value& x, double term) {
  if (std::isnan(x.value) || std::isnan(term)) return nan_value;
  if (is_anything(x) || term == 0) return x;
  if (std::isinf(x.value)) return std::isinf(term) && x.value != term ? nan_value : x;
  if (std::isinf(term)) return {term, 0};
  return held({x.value + term, x.error + (std::fabs(x.value) + x.error + std::fabs(term)) * ulp});
}

// The sum over k, as float has it.
Value accumulated(const Terms& terms, double sum, double magnitude) {
  if (std::isnan(sum)) return nan_value;
  if (!(magnitude < too_large)) return anything;
  if (std::isinf(sum)) return {sum, 0};
  const auto count = static_cast<double>(terms.k + 16);
  return held({sum, magnitude != 0 ? count * (ulp * magnitude + 0x1p-126) : 0});
}

// Which scale comes first depends on the order of D; in either a float may not hold what is
// between.
Value scaled(const Value& x, double row_scale, double column_scale) {
  const Value one = times(times(x, {row_scale, 0}), {column_scale, 0});
  const Value other = times(times(x, {column_scale, 0}), {row_scale, 0});
  if (is_finite(one) && is_finite(other)) return {one.value, std::max(one.error, other.error)};
  const bool is_alike = std::isnan(one.value) ? std::isnan(other.value) : one.value == other.value;
  return is_alike && !is_anything(one) && !is_anything(other) ? one : anything;
}

bool is_exact(bwgemmActivation_t activation) {
  return activation <= BWGEMM_ACTIVATION_RELU || activation == BWGEMM_ACTIVATION_CLAMP;
}

}  // namespace

Curve curve(bwgemmActivation_t activation, double x, const ClampBounds& bounds) {
  const double gelu = 2 * std::sqrt(2 / 3.14159265358979323846);
  const bool grows = activation > BWGEMM_ACTIVATION_NONE && activation <= BWGEMM_ACTIVATION_SILU;
  if (std::isinf(x) && grows) return x > 0 ? Curve{x, 1} : Curve{0, 0};
  switch (activation) {
    case BWGEMM_ACTIVATION_RELU: return {std::isnan(x) ? x : std::max(x, 0.0), x > 0 ? 1.0 : 0.0};
    case BWGEMM_ACTIVATION_GELU_TANH: {
      const double s = sigmoid(gelu * (x + 0.044715 * x * x * x));
      return {x * s, s + x * s * (1 - s) * gelu * (1 + 3 * 0.044715 * x * x)};
    }
    case BWGEMM_ACTIVATION_GELU_ERF: return {x * normal(x), normal(x) + x * phi(x)};
    case BWGEMM_ACTIVATION_SILU: {
      const double s = sigmoid(x);
      return {x * s, s + x * s * (1 - s)};
    }
    case BWGEMM_ACTIVATION_SIGMOID: return {sigmoid(x), sigmoid(x) * sigmoid(-x)};
    case BWGEMM_ACTIVATION_CLAMP: {
      const double low = bounds.low, high = bounds.high;
      const double value = x < low ? low : x > high ? high : x;  // of NaN: NaN
      return {value, x > low && x < high ? 1.0 : 0.0};
    }
    default: return {x, 1};
  }
}

double curve_error(bwgemmActivation_t activation, double value) {
  if (!std::isfinite(value) || is_exact(activation)) return 0;
  const bool is_gelu =
      activation == BWGEMM_ACTIVATION_GELU_TANH || activation == BWGEMM_ACTIVATION_GELU_ERF;
  const double relative = is_gelu ? 0x1p-16 : 0x1p-17;
  return std::max(relative * std::fabs(value), 0x1p-119);
}

double slope_error(bwgemmActivation_t activation) {
  if (is_exact(activation)) return 0;
  return activation == BWGEMM_ACTIVATION_GELU_ERF ? 0x1p-18 : 0x1p-21;
}

Value linear(const Terms& terms, double sum, double magnitude) {
  const bool is_empty = terms.k == 0 || terms.alpha == 0;
  Value x = is_empty ? Value{0, 0} : accumulated(terms, sum, magnitude);
  if (!is_empty && terms.alpha != 1) x = times(x, {terms.alpha, 0});
  if (terms.row_scale != 1 || terms.column_scale != 1)
    x = scaled(x, terms.row_scale, terms.column_scale);
  x = plus(x, terms.bias);
  return terms.beta != 0 ? plus(x, static_cast<double>(terms.beta) * terms.c) : x;
}

Value activated(bwgemmActivation_t activation, const Value& x) {
  if (std::isnan(x.value) || is_anything(x)) return x;
  constexpr double steepest = 1.13;
  const double y = curve(activation, x.value).value;
  if (std::isinf(x.value)) return {y, 0};  // exactly
  const double error = activation == BWGEMM_ACTIVATION_NONE ? x.error : steepest * x.error;
  return {y, error + curve_error(activation, y)};
}

Value gated(bwgemmActivation_t activation, const Value& x, const Value& y) {
  return times(activated(activation, x), y);
}

Value differentiated(bwgemmActivation_t activation, const Value& x, float aux) {
  if (std::isnan(aux)) return nan_value;
  // At infinity the slope is exact.
  const double error = std::isinf(aux) ? 0 : slope_error(activation);
  return times(x, {curve(activation, aux).slope, error});
}

bool is_close(float got, const Value& expected, Dtype type) {
  if (std::isnan(expected.value)) return std::isnan(got);
  if (is_anything(expected)) return true;
  const float low = detail::float_below(expected.value - expected.error);
  const float high = -detail::float_below(-(expected.value + expected.error));
  return rounded_to(type, low) <= got && got <= rounded_to(type, high);  // false for NaN
}

}  // namespace bwgemm::test
