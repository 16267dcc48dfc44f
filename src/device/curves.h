// SPDX-License-Identifier: Apache-2.0
// Curves: activations and their derivatives in float, the same operations in every kernel. All but
// relu are x times a distribution function F, computed from its tail q = F(-|x|), which is never
// cancelled: y = max(x, 0) - |x| * q. So the relative error holds on the negative side too, down to
// where q leaves float's normal numbers and counts as zero. Measured against long double, results
// from 2e-36 on are off by less than 2^-16.6 of themselves (gelu_erf; silu 2^-18), slopes by
// 2^-18.6.
#pragma once

#include "device/fused_params.h"
#include "device/ptx/math.h"

namespace bwgemm {

// Beyond curve_end every tail is zero, and nothing below overflows.
inline constexpr float curve_end = 128;

BWGEMM_DEVICE float distance(float x) {
  return fminf(fabsf(x), curve_end);  // of NaN: curve_end; max(x, 0) brings NaN back
}

// What a tail is made of: e, a power, and for derivatives the density.
struct Tail {
  float q, density;
};

// F = 1 / (1 + exp(-z)), z = a * (slope + cubic * a^2). In `params` both come times -log2(e).
template <bool with_density>
BWGEMM_DEVICE Tail sigmoid_tail(const FusedParams& params, float a) {
  const float square = __fmul_rn(a, a);
  const float e = ptx::ex2_approx_ftz(__fmul_rn(__fmaf_rn(params.cubic, square, params.slope), a));
  const float t = ptx::rcp_approx_ftz(__fadd_rn(1.0f, e));
  const float q = __fmul_rn(e, t);
  if constexpr (!with_density) return {q, 0};
  // F' = F * (1 - F) * z'
  constexpr float minus_ln2 = -0.693147181f;
  const float z_slope =
      __fmul_rn(minus_ln2, __fmaf_rn(__fmul_rn(3.0f, params.cubic), square, params.slope));
  return {q, __fmul_rn(__fmul_rn(q, t), z_slope)};
}

// P, of t = 1 / (1 + mills_step * a): Mills' ratio over sqrt(2 pi), off by less than 2^-17.7 of
// that for a up to 13.5, where the tail ends.
inline constexpr float mills_step = 0.31f;
inline constexpr float mills_0 = 0.12386070f, mills_1 = 0.12044128f, mills_2 = 0.13342979f,
                       mills_3 = 0.015744708f, mills_4 = 0.18045035f, mills_5 = -0.073929143f;

// F of the normal distribution: q = exp(-a^2 / 2) * t * P(t).
template <bool with_density>
BWGEMM_DEVICE Tail normal_tail(float a) {
  constexpr float minus_half_log2e = -0.721347520f, density_at_0 = 0.398942280f;
  const float e = ptx::ex2_approx_ftz(__fmul_rn(__fmul_rn(a, a), minus_half_log2e));
  const float t = ptx::rcp_approx_ftz(__fmaf_rn(mills_step, a, 1.0f));
  float p = __fmaf_rn(mills_5, t, mills_4);
  p = __fmaf_rn(p, t, mills_3);
  p = __fmaf_rn(p, t, mills_2);
  p = __fmaf_rn(p, t, mills_1);
  p = __fmaf_rn(p, t, mills_0);
  return {__fmul_rn(__fmul_rn(p, t), e), with_density ? __fmul_rn(density_at_0, e) : 0};
}

BWGEMM_DEVICE float times_distribution(float x, float a, float q) {
  return __fmaf_rn(-a, q, ptx::max_nan(x, 0.0f));
}

BWGEMM_DEVICE float sigmoid_curve(const FusedParams& params, float x) {
  const float a = distance(x);
  return times_distribution(x, a, sigmoid_tail<false>(params, a).q);
}

BWGEMM_DEVICE float erf_curve(float x) {
  const float a = distance(x);
  return times_distribution(x, a, normal_tail<false>(a).q);
}

// d/dx of x * F(x). Of NaN: NaN.
BWGEMM_DEVICE float slope_of(float x, float a, const Tail& tail) {
  const float at_minus_a = __fmaf_rn(-a, tail.density, tail.q);
  const float slope = x < 0 ? at_minus_a : __fsub_rn(1.0f, at_minus_a);
  return x != x ? x : slope;
}

BWGEMM_DEVICE float relu_slope(float x) {
  const float slope = x > 0 ? 1.0f : 0.0f;
  return x != x ? x : slope;
}

BWGEMM_DEVICE float sigmoid_slope(const FusedParams& params, float x) {
  const float a = distance(x);
  return slope_of(x, a, sigmoid_tail<true>(params, a));
}

BWGEMM_DEVICE float erf_slope(float x) {
  const float a = distance(x);
  return slope_of(x, a, normal_tail<true>(a));
}

}  // namespace bwgemm
