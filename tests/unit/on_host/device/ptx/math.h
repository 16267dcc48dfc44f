// SPDX-License-Identifier: Apache-2.0
// In place of src/device/ptx/math.h and of the compiler's intrinsics: device arithmetic on the
// host. Approximations are off by what the test says, in units of the last place.
#pragma once

#include <cmath>
#include <cstdint>

#define BWGEMM_DEVICE inline

namespace bwgemm {

inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
// Of a number and NaN: the number.
inline float fminf(float a, float b) {
  return std::fmin(a, b);
}
inline float fabsf(float a) {
  return std::fabs(a);
}

namespace ptx {

struct Errors {
  double ex2 = 0, rcp = 0;
};
inline Errors errors;

inline float flushed(double value) {
  return std::fabs(value) < 0x1p-126 ? 0.0f : static_cast<float>(value);
}
inline float ex2_approx_ftz(float value) {
  return flushed(std::exp2(double{value}) * (1 + errors.ex2 * 0x1p-23));
}
inline float rcp_approx_ftz(float value) {
  return flushed(1 / double{value} * (1 + errors.rcp * 0x1p-23));
}
inline float max_nan(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b);
}
inline float min_nan(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
}

}  // namespace ptx
}  // namespace bwgemm
