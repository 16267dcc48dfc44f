// SPDX-License-Identifier: Apache-2.0
// Activations and their slopes, as the device computes them, over floats of all sizes: within the
// bounds of bwgemm.h, and at infinity and NaN what it says.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "support/fused_formula.h"
#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

constexpr std::int64_t rows = 64;
constexpr bwgemmActivation_t curves[] = {BWGEMM_ACTIVATION_RELU,     BWGEMM_ACTIVATION_GELU_TANH,
                                         BWGEMM_ACTIVATION_GELU_ERF, BWGEMM_ACTIVATION_SILU,
                                         BWGEMM_ACTIVATION_SIGMOID,  BWGEMM_ACTIVATION_CLAMP};

// Of both signs, infinities and NaN among them. The rest is 1.
Matrix floats() {
  const std::uint32_t step = small_scale() ? 65521 : 1021;
  std::vector<float> all = {NAN, -NAN, INFINITY, -INFINITY};
  for (std::uint64_t bits = 0; bits < 0x7f800000; bits += step)
    for (const std::uint32_t sign : {0u, 1u << 31})
      all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits) | sign));
  all.resize((all.size() + rows - 1) / rows * rows, 1.0f);
  const auto columns = static_cast<std::int64_t>(all.size()) / rows;
  Matrix matrix(Dtype::f32, rows, columns, rows);
  for (std::size_t i = 0; i < all.size(); ++i)
    matrix.set(static_cast<std::int64_t>(i) % rows, static_cast<std::int64_t>(i) / rows, all[i]);
  return matrix;
}

class Curves : public HandleTest {
 protected:
  // Of C, where there is no product; or C times slopes at aux.
  Matrix result(bwgemmActivation_t activation, const Matrix& c, const Matrix* aux,
                const ClampBounds& bounds = {}) {
    const GuardedBuffer device_c(c);
    GuardedBuffer device_d(Matrix(Dtype::f32, c.rows(), c.columns(), c.ld()));
    std::unique_ptr<GuardedBuffer> device_aux;
    bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
    desc.m = desc.lda = desc.ldc = desc.ldd = desc.ldaux = c.rows();
    desc.n = c.columns(), desc.ldb = 1;
    desc.Ctype = desc.Dtype = desc.auxType = BWGEMM_R_32F;
    desc.activation = activation;
    desc.clampLow = bounds.low, desc.clampHigh = bounds.high;
    if (aux != nullptr) {
      device_aux = std::make_unique<GuardedBuffer>(*aux);
      desc.auxMode = BWGEMM_AUX_DERIVATIVE;
      desc.aux = device_aux->pointer();
    }
    const float one = 1;
    EXPECT_TRUE(succeeds(bwgemmMatmul(handle(), &desc, &one, nullptr, nullptr, &one,
                                      device_c.pointer(), device_d.pointer())));
    return device_d.download();
  }

  template <class Expect>
  static void compare(const Matrix& at, const Matrix& seen, const Expect& expected) {
    int wrong = 0;
    for (std::int64_t column = 0; column < at.columns(); ++column)
      for (std::int64_t row = 0; row < at.rows(); ++row) {
        const float x = at.get(row, column), got = seen.get(row, column);
        const Value value = expected(x);
        const bool is_right = std::isnan(value.value) ? std::isnan(got)
                              : std::isinf(value.value)
                                  ? got == value.value
                                  : std::fabs(got - value.value) <= value.error;
        if (is_right || ++wrong > 3) continue;
        ADD_FAILURE() << "at " << x << ": " << got << " is not " << value.value << " +- "
                      << value.error;
      }
    EXPECT_EQ(wrong, 0);
  }
};

TEST_F(Curves, ActivationsAreWithinTheirBounds) {
  const Matrix x = floats();
  for (const bwgemmActivation_t activation : curves) {
    SCOPED_TRACE(activation);
    compare(x, result(activation, x, nullptr), [&](float at) {
      const double value = curve(activation, at).value;
      return Value{value, curve_error(activation, value)};
    });
  }
}

TEST_F(Curves, SlopesAreWithinTheirBounds) {
  const Matrix x = floats();
  Matrix ones(Dtype::f32, x.rows(), x.columns(), x.ld());
  for (std::int64_t column = 0; column < x.columns(); ++column)
    for (std::int64_t row = 0; row < x.rows(); ++row) ones.set(row, column, 1);
  for (const bwgemmActivation_t activation : curves) {
    SCOPED_TRACE(activation);
    compare(x, result(activation, ones, &x), [&](float at) {
      if (std::isnan(at)) return Value{at, 0};
      return Value{curve(activation, at).slope, std::isinf(at) ? 0 : slope_error(activation)};
    });
  }
}

// One-sided bounds, bounds that are equal, and bounds at which some of the floats are.
TEST_F(Curves, ClampTakesAnyBounds) {
  const Matrix x = floats();
  Matrix ones(Dtype::f32, x.rows(), x.columns(), x.ld());
  for (std::int64_t column = 0; column < x.columns(); ++column)
    for (std::int64_t row = 0; row < x.rows(); ++row) ones.set(row, column, 1);
  for (const ClampBounds bounds :
       {ClampBounds{0, INFINITY}, {-INFINITY, 6}, {2, 2}, {0, 1}, {INFINITY, INFINITY}}) {
    SCOPED_TRACE(std::to_string(bounds.low) + " to " + std::to_string(bounds.high));
    const bwgemmActivation_t clamp = BWGEMM_ACTIVATION_CLAMP;
    compare(x, result(clamp, x, nullptr, bounds), [&](float at) {
      return Value{curve(clamp, at, bounds).value, 0};
    });
    compare(x, result(clamp, ones, &x, bounds), [&](float at) {
      return Value{std::isnan(at) ? at : curve(clamp, at, bounds).slope, 0};
    });
  }
}

// x and y of every pair of these; the product is A, since B is 1.
TEST_F(Curves, GatesMultiplyInfinities) {
  constexpr float values[] = {INFINITY, -INFINITY, NAN, 0.0f, -2.0f, 3.0f};
  constexpr std::int64_t count = std::size(values), m = 2 * count * count;
  Matrix a(Dtype::bf16, m, 1, m), b(Dtype::bf16, 1, 1, 1);
  b.set(0, 0, 1);
  for (std::int64_t i = 0; i < m; ++i)
    a.set(i, 0, values[i % 2 == 0 ? i / 2 / count : i / 2 % count]);
  const GuardedBuffer device_a(a), device_b(b);
  for (const bwgemmActivation_t activation : curves) {
    GuardedBuffer device_d(Matrix(Dtype::f32, m / 2, 1, m / 2));
    bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
    desc.m = desc.lda = m, desc.n = desc.k = desc.ldb = 1, desc.ldd = m / 2;
    desc.Dtype = BWGEMM_R_32F;
    desc.activation = activation;
    desc.clampLow = ClampBounds{}.low, desc.clampHigh = ClampBounds{}.high;
    desc.gate = BWGEMM_GATE_INTERLEAVED;
    const float one = 1;
    EXPECT_TRUE(succeeds(bwgemmMatmul(handle(), &desc, &one, device_a.pointer(), device_b.pointer(),
                                      nullptr, nullptr, device_d.pointer())));
    const Matrix& d = device_d.download();
    for (std::int64_t i = 0; i < m / 2; ++i) {
      const float x = a.get(2 * i, 0), y = a.get(2 * i + 1, 0);
      const Value expected = gated(activation, {x, 0}, {y, 0});
      EXPECT_TRUE(is_close(d.get(i, 0), expected, Dtype::f32))
          << activation << ": " << x << ", " << y << ": " << d.get(i, 0) << " is not "
          << expected.value;
    }
  }
}

}  // namespace
}  // namespace bwgemm::test
