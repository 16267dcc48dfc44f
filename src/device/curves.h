// SPDX-License-Identifier: Apache-2.0
// Curves: activations and their derivatives in float, the same operations in every kernel. Each is
// a struct with value(x) and slope(x); visit_curve is the one place that lists the curves.
// Swish and Erf are x times a distribution function F, computed from its tail q = F(-|x|), which is
// never cancelled: y = max(x, 0) - |x| * q. So the relative error holds on the negative side too,
// down to where q leaves float's normal numbers and counts as zero. Measured against long double,
// results from 2e-36 on are off by less than 2^-16.6 of themselves (gelu_erf; silu 2^-18), slopes
// by 2^-18.6.
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

BWGEMM_DEVICE float times_distribution(float x, float a, float q) {
  return __fmaf_rn(-a, q, ptx::max_nan(x, 0.0f));
}

// d/dx of x * F(x). Of NaN: NaN.
BWGEMM_DEVICE float slope_of(float x, float a, const Tail& tail) {
  const float at_minus_a = __fmaf_rn(-a, tail.density, tail.q);
  const float slope = x < 0 ? at_minus_a : __fsub_rn(1.0f, at_minus_a);
  return x != x ? x : slope;
}

struct Relu {
  BWGEMM_DEVICE static float value(float x) { return ptx::max_nan(x, 0); }
  BWGEMM_DEVICE static float slope(float x) {
    const float slope = x > 0 ? 1.0f : 0.0f;
    return x != x ? x : slope;
  }
};

// x / (1 + exp(-z)), z = x * (c0 + c1 * x^2): silu, and gelu by tanh. The constants are c0 and c1
// times -log2(e).
struct Swish {
  const float (&constants)[2];

  BWGEMM_DEVICE float value(float x) const {
    const float a = distance(x);
    return times_distribution(x, a, tail<false>(a).q);
  }
  BWGEMM_DEVICE float slope(float x) const {
    const float a = distance(x);
    return slope_of(x, a, tail<true>(a));
  }

 private:
  template <bool with_density>
  BWGEMM_DEVICE Tail tail(float a) const {
    const float square = __fmul_rn(a, a);
    const float e =
        ptx::ex2_approx_ftz(__fmul_rn(__fmaf_rn(constants[1], square, constants[0]), a));
    const float t = ptx::rcp_approx_ftz(__fadd_rn(1.0f, e));
    const float q = __fmul_rn(e, t);
    if constexpr (!with_density) return {q, 0};
    // F' = F * (1 - F) * z'
    constexpr float minus_ln2 = -0.693147181f;
    const float z_slope =
        __fmul_rn(minus_ln2, __fmaf_rn(__fmul_rn(3.0f, constants[1]), square, constants[0]));
    return {q, __fmul_rn(__fmul_rn(q, t), z_slope)};
  }
};

// x times the normal distribution function: gelu by erf. q = exp(-a^2 / 2) * t * P(t),
// t = 1 / (1 + step * a). t * P is Mills' ratio over sqrt(2 pi), off by less than 2^-17.7 of that
// for a up to 13.5, where the tail ends.
struct Erf {
  BWGEMM_DEVICE static float value(float x) {
    const float a = distance(x);
    return times_distribution(x, a, tail<false>(a).q);
  }
  BWGEMM_DEVICE static float slope(float x) {
    const float a = distance(x);
    return slope_of(x, a, tail<true>(a));
  }

 private:
  static constexpr float step = 0.31f;
  static constexpr float p0 = 0.12386070f, p1 = 0.12044128f, p2 = 0.13342979f, p3 = 0.015744708f,
                         p4 = 0.18045035f, p5 = -0.073929143f;

  template <bool with_density>
  BWGEMM_DEVICE static Tail tail(float a) {
    constexpr float minus_half_log2e = -0.721347520f, density_at_0 = 0.398942280f;
    const float e = ptx::ex2_approx_ftz(__fmul_rn(__fmul_rn(a, a), minus_half_log2e));
    const float t = ptx::rcp_approx_ftz(__fmaf_rn(step, a, 1.0f));
    float p = __fmaf_rn(p5, t, p4);
    p = __fmaf_rn(p, t, p3);
    p = __fmaf_rn(p, t, p2);
    p = __fmaf_rn(p, t, p1);
    p = __fmaf_rn(p, t, p0);
    return {__fmul_rn(__fmul_rn(p, t), e), with_density ? __fmul_rn(density_at_0, e) : 0};
  }
};

// 1 / (1 + exp(-x)). Where the power is infinite, its reciprocal is zero.
struct Sigmoid {
  BWGEMM_DEVICE static float value(float x) {
    constexpr float minus_log2e = -1.442695041f;
    const float e = ptx::ex2_approx_ftz(__fmul_rn(x, minus_log2e));
    return ptx::rcp_approx_ftz(__fadd_rn(1.0f, e));
  }
  BWGEMM_DEVICE static float slope(float x) {
    const float y = value(x);
    return __fmaf_rn(-y, y, y);
  }
};

// The constants are the bounds.
struct Clamp {
  const float (&constants)[2];

  BWGEMM_DEVICE float value(float x) const {
    return ptx::min_nan(ptx::max_nan(x, constants[0]), constants[1]);
  }
  BWGEMM_DEVICE float slope(float x) const {
    const float slope = x > constants[0] && x < constants[1] ? 1.0f : 0.0f;
    return x != x ? x : slope;
  }
};

// Calls visit(curve) with the curve of the operations, if they have one.
template <class Visit>
BWGEMM_DEVICE void visit_curve(const FusedParams& params, std::uint32_t operations,
                               const Visit& visit) {
  if ((operations & operation::relu) != 0) visit(Relu{});
  if ((operations & operation::swish) != 0) visit(Swish{params.constants});
  if ((operations & operation::erf) != 0) visit(Erf{});
  if ((operations & operation::sigmoid) != 0) visit(Sigmoid{});
  if ((operations & operation::clamp) != 0) visit(Clamp{params.constants});
}

}  // namespace bwgemm
