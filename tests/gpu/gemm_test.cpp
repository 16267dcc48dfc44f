// SPDX-License-Identifier: Apache-2.0
// What a caller of GEMM is promised, with whatever kernel is chosen: shapes, transposes, types,
// scalars, memory layouts, and the rules for what is not read and not written.
#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <tuple>

#include "families/variants.h"
#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

// 1, and the sizes around every tile edge in the table.
std::vector<std::int64_t> edge_sizes() {
  std::set<std::int64_t> sizes{1, 7, 200, 333};
  for (const KernelConfig& row : kernel_variants)
    for (const std::int64_t edge : {row.tile.m, row.tile.n})
      if (edge > 0) sizes.insert({edge - 1, edge, edge + 1});
  return {sizes.begin(), sizes.end()};
}

// From one k to more than once around the deepest ring.
std::vector<std::int64_t> depths() {
  return {1, 8, 31, 63, 64, 65, 192, 320, 449, 1016};
}

struct Scalars {
  float alpha, beta;
};
constexpr Scalars scalars[] = {{1, 0},     {1, 1}, {-0.5f, 0}, {1, -0.5f},
                               {-0.5f, 1}, {0, 1}, {0, 0},     {0, -0.5f}};

using Gemm = HandleTest;

class GemmShapes : public HandleTest,
                   public ::testing::WithParamInterface<
                       std::tuple<bwgemmOperation_t, bwgemmOperation_t, Dtype, bool>> {
 protected:
  GemmCase base() const {
    const auto [transa, transb, input, to_f32] = GetParam();
    GemmCase gemm;
    gemm.transa = transa;
    gemm.transb = transb;
    gemm.input = input;
    gemm.output = to_f32 ? Dtype::f32 : input;
    return gemm;
  }
};

// Tight, aligned to 16 bytes, or odd leading dimensions; aligned or displaced pointers.
void vary_memory(GemmCase& gemm, int variant) {
  switch (variant % 4) {
    case 0: break;
    case 1: gemm.ld_multiple = 8; break;
    case 2:
      gemm.lda_extra = 3, gemm.ldb_extra = 5, gemm.ldc_extra = 1;
      gemm.a_displacement = 1, gemm.b_displacement = 3, gemm.c_displacement = 5;
      break;
    case 3:
      gemm.ld_multiple = 8;
      gemm.ldc_extra = 24;
      gemm.b_displacement = 8;
      break;
  }
}

TEST_P(GemmShapes, EdgesOfTilesAndRings) {
  const std::vector<std::int64_t> sizes = edge_sizes(), ks = depths();
  const std::size_t count = small_scale() ? 6 : 3 * sizes.size();
  for (std::size_t i = 0; i < count; ++i) {
    GemmCase gemm = base();
    gemm.m = sizes[i % sizes.size()];
    gemm.n = sizes[(5 * i + i / sizes.size() + 3) % sizes.size()];
    gemm.k = ks[(3 * i + i / ks.size()) % ks.size()];
    gemm.alpha = scalars[i % std::size(scalars)].alpha;
    gemm.beta = scalars[i % std::size(scalars)].beta;
    gemm.seed = i + 1;
    vary_memory(gemm, static_cast<int>(i + i / 4));
    run(handle(), gemm);
  }
}

TEST_P(GemmShapes, IntegersAreExact) {
  GemmCase gemm = base();
  gemm.fill = Fill::integers;
  for (const std::int64_t k : {std::int64_t{64}, std::int64_t{1000}, std::int64_t{4104}}) {
    gemm.m = 136, gemm.n = 264, gemm.k = k;
    for (const int memory : {1, 2}) {
      GemmCase one = gemm;
      vary_memory(one, memory);
      one.beta = memory == 1 ? 0.0f : 1.0f;
      run(handle(), one);
    }
    if (small_scale()) break;
  }
}

TEST_P(GemmShapes, SplitOverK) {
  GemmCase gemm = base();
  gemm.m = 72, gemm.n = 40, gemm.k = small_scale() ? 1040 : 16 * 1024 + 8;
  gemm.ld_multiple = 8;
  gemm.beta = -0.5f;
  run(handle(), gemm);
  gemm.ld_multiple = 1;
  gemm.lda_extra = gemm.ldb_extra = gemm.ldc_extra = 1;
  gemm.a_displacement = 1;
  run(handle(), gemm);
}

TEST_P(GemmShapes, SeveralTilesPerCta) {
  if (small_scale()) GTEST_SKIP() << "too large for a slow device";
  GemmCase gemm = base();
  gemm.m = 4104, gemm.n = 3080, gemm.k = 200;
  gemm.ld_multiple = 8;
  gemm.beta = 1;
  run(handle(), gemm);
}

INSTANTIATE_TEST_SUITE_P(All, GemmShapes,
                         ::testing::Combine(::testing::Values(BWGEMM_OP_N, BWGEMM_OP_T),
                                            ::testing::Values(BWGEMM_OP_N, BWGEMM_OP_T),
                                            ::testing::Values(Dtype::bf16, Dtype::f16),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) == BWGEMM_OP_N ? "N" : "T") +
                                  (std::get<1>(info.param) == BWGEMM_OP_N ? "N" : "T") + "_" +
                                  name(std::get<2>(info.param)) +
                                  (std::get<3>(info.param) ? "_f32" : "_same");
                         });

TEST_F(Gemm, ConjugateTransposeIsTranspose) {
  GemmCase gemm{.transa = BWGEMM_OP_C, .transb = BWGEMM_OP_C, .m = 65, .n = 40, .k = 129};
  run(handle(), gemm);
}

TEST_F(Gemm, TypedEntriesAreGemmEx) {
  const float alpha = -0.5f, beta = 1;
  for (const Dtype type : {Dtype::bf16, Dtype::f16}) {
    GemmCase gemm{.transa = BWGEMM_OP_T,
                  .m = 130,
                  .n = 70,
                  .k = 96,
                  .input = type,
                  .output = type,
                  .alpha = alpha,
                  .beta = beta,
                  .lda_extra = 8};
    Operands operands(gemm);
    const auto entry = type == Dtype::bf16 ? bwgemmBf16 : bwgemmF16;
    EXPECT_TRUE(
        succeeds(entry(handle(), gemm.transa, gemm.transb, gemm.m, gemm.n, gemm.k, &alpha,
                       operands.a_pointer(), operands.a().ld(), operands.b_pointer(),
                       operands.b().ld(), &beta, operands.c_pointer(), operands.c_before().ld())));
    operands.expect_result();
  }
}

TEST_F(Gemm, BetaZeroDoesNotReadC) {
  for (const Dtype output : {Dtype::bf16, Dtype::f32})
    for (const std::int64_t multiple : {1, 8}) {
      GemmCase gemm{.m = 131,
                    .n = 67,
                    .k = 100,
                    .output = output,
                    .ld_multiple = multiple,
                    .fill_c = Fill::poison};
      run(handle(), gemm);
      gemm.alpha = 0;
      run(handle(), gemm);
      gemm.alpha = 1, gemm.k = 0;
      run(handle(), gemm);
    }
}

TEST_F(Gemm, NanInCReachesTheResultUnlessBetaIsZero) {
  GemmCase gemm{.m = 64, .n = 64, .k = 64, .beta = 1, .fill_c = Fill::poison};
  run(handle(), gemm);
}

// A and B hold NaN in every element.
TEST_F(Gemm, AlphaZeroOrNoKDoesNotReadAOrB) {
  for (const Dtype output : {Dtype::bf16, Dtype::f32})
    for (const float beta : {0.0f, 1.0f, -0.5f})
      for (const std::int64_t k : {0, 72}) {
        GemmCase gemm{.m = 136,
                      .n = 72,
                      .k = k,
                      .output = output,
                      .alpha = k == 0 ? 1.0f : 0.0f,
                      .beta = beta,
                      .ld_multiple = 8};
        gemm.fill = Fill::poison;
        Operands nan_inputs(gemm);
        EXPECT_TRUE(succeeds(call(handle(), gemm, nan_inputs))) << gemm;
        const Matrix& d = nan_inputs.device_c().download();
        const bool expect_nan = beta != 0;  // C is poison here as well
        for (std::int64_t i = 0; i < gemm.m; ++i)
          ASSERT_EQ(std::isnan(d.get(i, gemm.n - 1)), expect_nan) << gemm << " row " << i;
        EXPECT_EQ(nan_inputs.device_c().damage(), "") << gemm;
      }
}

TEST_F(Gemm, NullAAndBAreAcceptedWhereTheyAreNotRead) {
  for (const std::int64_t k : {0, 40}) {
    GemmCase gemm{.m = 100,
                  .n = 30,
                  .k = k,
                  .alpha = k == 0 ? 1.0f : 0.0f,
                  .beta = 1,
                  .fill = Fill::integers};
    Operands operands(gemm);
    EXPECT_TRUE(
        succeeds(bwgemmGemmEx(handle(), BWGEMM_OP_N, BWGEMM_OP_N, gemm.m, gemm.n, gemm.k,
                              &gemm.alpha, nullptr, BWGEMM_R_16BF, gemm.m, nullptr, BWGEMM_R_16BF,
                              std::max<std::int64_t>(1, gemm.k), &gemm.beta, operands.c_pointer(),
                              BWGEMM_R_16BF, operands.c_before().ld(), BWGEMM_COMPUTE_32F, -1)));
    operands.expect_result();
  }
}

TEST_F(Gemm, UnmappedAAndBAreNotTouchedWhereTheyAreNotRead) {
  const UnmappedMemory nowhere;
  GemmCase gemm{.m = 128, .n = 128, .k = 128, .alpha = 0, .beta = -0.5f, .ld_multiple = 8};
  Operands operands(gemm);
  EXPECT_TRUE(succeeds(bwgemmGemmEx(
      handle(), BWGEMM_OP_N, BWGEMM_OP_N, 128, 128, 128, &gemm.alpha, nowhere.pointer(),
      BWGEMM_R_16BF, 128, nowhere.pointer(), BWGEMM_R_16BF, 128, &gemm.beta, operands.c_pointer(),
      BWGEMM_R_16BF, operands.c_before().ld(), BWGEMM_COMPUTE_32F, -1)));
  operands.expect_result();
}

TEST_F(Gemm, EmptyResultTouchesNothing) {
  const float alpha = 1, beta = 0;
  for (const auto& [m, n] : {std::pair{0, 5}, std::pair{5, 0}, std::pair{0, 0}})
    EXPECT_TRUE(succeeds(bwgemmGemmEx(handle(), BWGEMM_OP_N, BWGEMM_OP_N, m, n, 7, &alpha, nullptr,
                                      BWGEMM_R_16BF, 8, nullptr, BWGEMM_R_16BF, 8, &beta, nullptr,
                                      BWGEMM_R_16BF, 8, BWGEMM_COMPUTE_32F, -1)));
  synchronize();
}

TEST_F(Gemm, InfinityAndNanPropagate) {
  for (const std::int64_t multiple : {1, 8}) {
    GemmCase gemm{.m = 40, .n = 24, .k = 48, .output = Dtype::f32, .ld_multiple = multiple};
    Matrix a(gemm.input, gemm.m, gemm.k, multiple == 1 ? 41 : 40);
    Matrix b(gemm.input, gemm.k, gemm.n, 48);
    Matrix c(gemm.output, gemm.m, gemm.n, 40);
    fill_matrix(a, Fill::integers, 1);
    fill_matrix(b, Fill::integers, 2);
    for (std::int64_t p = 0; p < gemm.k; ++p) b.set(p, 0, 1.0f);
    a.set(3, 5, INFINITY);
    a.set(7, 9, NAN);
    a.set(11, 2, -INFINITY);
    GuardedBuffer device_a(a), device_b(b), device_c(c);
    EXPECT_TRUE(succeeds(bwgemmGemmEx(
        handle(), BWGEMM_OP_N, BWGEMM_OP_N, gemm.m, gemm.n, gemm.k, &gemm.alpha, device_a.pointer(),
        BWGEMM_R_16BF, a.ld(), device_b.pointer(), BWGEMM_R_16BF, b.ld(), &gemm.beta,
        device_c.pointer(), BWGEMM_R_32F, c.ld(), BWGEMM_COMPUTE_32F, -1)));
    const Matrix& d = device_c.download();
    EXPECT_EQ(d.get(3, 0), INFINITY);
    EXPECT_TRUE(std::isnan(d.get(7, 0)));
    EXPECT_EQ(d.get(11, 0), -INFINITY);
    EXPECT_TRUE(std::isfinite(d.get(0, 0)));
  }
}

TEST_F(Gemm, OverflowOfTheResultIsInfinity) {
  GemmCase gemm{.m = 16,
                .n = 16,
                .k = 64,
                .input = Dtype::f16,
                .output = Dtype::f16,
                .alpha = 65504,
                .fill = Fill::integers};
  run(handle(), gemm);
}

// The smallest f16 denormal times one must come back as it is.
TEST_F(Gemm, DenormalsAreKept) {
  Matrix a(Dtype::f16, 16, 16, 16), b(Dtype::f16, 16, 16, 16), c(Dtype::f16, 16, 16, 16);
  for (std::int64_t i = 0; i < 16; ++i)
    for (std::int64_t j = 0; j < 16; ++j) {
      a.set(i, j, std::ldexp(static_cast<float>(i + 1), -24));
      b.set(i, j, i == j ? 1.0f : 0.0f);
    }
  GuardedBuffer device_a(a), device_b(b), device_c(c);
  const float alpha = 1, beta = 0;
  EXPECT_TRUE(
      succeeds(bwgemmF16(handle(), BWGEMM_OP_N, BWGEMM_OP_N, 16, 16, 16, &alpha, device_a.pointer(),
                         16, device_b.pointer(), 16, &beta, device_c.pointer(), 16)));
  const Matrix& d = device_c.download();
  for (std::int64_t i = 0; i < 16; ++i)
    EXPECT_EQ(d.get(i, 3), std::ldexp(static_cast<float>(i + 1), -24)) << "row " << i;
}

TEST_F(Gemm, AandBMayBeTheSameMemory) {
  GemmCase gemm{.transb = BWGEMM_OP_T, .m = 96, .n = 96, .k = 64, .output = Dtype::f32};
  Matrix a(Dtype::bf16, 96, 64, 96), c(Dtype::f32, 96, 96, 96);
  fill_matrix(a, Fill::integers, 4);
  GuardedBuffer device_a(a), device_c(c);
  EXPECT_TRUE(succeeds(bwgemmGemmEx(handle(), gemm.transa, gemm.transb, 96, 96, 64, &gemm.alpha,
                                    device_a.pointer(), BWGEMM_R_16BF, 96, device_a.pointer(),
                                    BWGEMM_R_16BF, 96, &gemm.beta, device_c.pointer(), BWGEMM_R_32F,
                                    96, BWGEMM_COMPUTE_32F, -1)));
  const Matrix& d = device_c.download();
  const Product exact = product({&a, false}, {&a, true});
  for (std::size_t i = 0; i < 96; ++i)
    for (std::size_t j = 0; j < 96; ++j)
      ASSERT_EQ(d.get(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)),
                static_cast<float>(exact.sum[exact.index(i, j)]));
}

class GemmBatched : public HandleTest, public ::testing::WithParamInterface<int> {};

TEST_P(GemmBatched, EveryBatchIsItsOwn) {
  GemmCase gemm{.transa = BWGEMM_OP_T, .m = 72, .n = 136, .k = 88, .beta = 1, .batch = 5};
  vary_memory(gemm, GetParam());
  run(handle(), gemm);
  gemm.stride_extra = GetParam() % 2 == 0 ? 17 : 64;
  run(handle(), gemm);
  gemm.repeat_a = true;
  run(handle(), gemm);
  gemm.repeat_b = true;
  gemm.output = Dtype::f32;
  gemm.beta = 0;
  gemm.fill_c = Fill::poison;
  run(handle(), gemm);
  gemm.repeat_a = false;
  gemm.alpha = 0;
  run(handle(), gemm);
}

INSTANTIATE_TEST_SUITE_P(Memory, GemmBatched, ::testing::Range(0, 4));

TEST_F(Gemm, ManyBatches) {
  GemmCase gemm{.m = 24, .n = 16, .k = 16, .fill = Fill::integers};
  gemm.batch = small_scale() ? 5 : 1000;
  run(handle(), gemm);
}

TEST_F(Gemm, BatchCountZeroTouchesNothing) {
  const float alpha = 1, beta = 0;
  EXPECT_TRUE(succeeds(bwgemmGemmStridedBatchedEx(
      handle(), BWGEMM_OP_N, BWGEMM_OP_N, 8, 8, 8, &alpha, nullptr, BWGEMM_R_16BF, 8, 64, nullptr,
      BWGEMM_R_16BF, 8, 64, &beta, nullptr, BWGEMM_R_16BF, 8, 64, 0, BWGEMM_COMPUTE_32F, -1)));
  synchronize();
}

// Batches of C that lie in the gaps between each other's columns do not overlap.
TEST_F(Gemm, InterleavedBatchesOfC) {
  for (const std::int64_t m : {8, 64}) {
    const std::int64_t n = 40, k = 32;
    Matrix a(Dtype::bf16, m, k, m, 2, m * k), b(Dtype::bf16, k, n, k, 2, k * n);
    Matrix c(Dtype::bf16, m, n, 2 * m, 2, m);
    fill_matrix(a, Fill::integers, 1);
    fill_matrix(b, Fill::integers, 2);
    GuardedBuffer device_a(a), device_b(b), device_c(c);
    const float alpha = 1, beta = 0;
    EXPECT_TRUE(succeeds(bwgemmGemmStridedBatchedEx(
        handle(), BWGEMM_OP_N, BWGEMM_OP_N, m, n, k, &alpha, device_a.pointer(), BWGEMM_R_16BF, m,
        m * k, device_b.pointer(), BWGEMM_R_16BF, k, k * n, &beta, device_c.pointer(),
        BWGEMM_R_16BF, 2 * m, m, 2, BWGEMM_COMPUTE_32F, -1)));
    const Matrix& d = device_c.download();
    EXPECT_EQ(device_c.damage(), "");
    for (std::int64_t batch = 0; batch < 2; ++batch) {
      const Product exact = product({&a, false, batch}, {&b, false, batch});
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          ASSERT_EQ(d.get(i, j, batch),
                    rounded_to(Dtype::bf16,
                               static_cast<float>(exact.sum[static_cast<std::size_t>(i * n + j)])));
    }
  }
}

}  // namespace
}  // namespace bwgemm::test
