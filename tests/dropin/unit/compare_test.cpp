// SPDX-License-Identifier: Apache-2.0
// The comparison of mode check: which elements are looked at, and the bounds of either side.
#include "dropin/compare.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dropin/serve.h"
#include "support/element.h"

namespace bwgemm::test {
namespace {

using dropin::Call;
using dropin::HostMatrix;
using dropin::Inputs;
using dropin::judge;
using dropin::Place;
using dropin::suspicious;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HostMatrix matrix(int type, std::int64_t rows, std::int64_t columns, float value) {
  HostMatrix made{{}, {0}, type, rows};
  made.bytes.resize(static_cast<std::size_t>(rows * columns * dropin::size_of(type)));
  const Dtype dtype = type == CUDA_R_32F   ? Dtype::f32
                      : type == CUDA_R_16F ? Dtype::f16
                                           : Dtype::bf16;
  for (std::int64_t at = 0; at < rows * columns; ++at)
    store(made.bytes.data() + at * dropin::size_of(type), dtype, value);
  return made;
}

// 8 x 4 x 64, of ones: each element of the product is 64.
class DropinCompare : public ::testing::Test {
 protected:
  Call call(int output, int compute = CUBLAS_COMPUTE_32F) const {
    return {dropin::Entry::gemm_ex,
            nullptr,
            CUBLAS_OP_N,
            CUBLAS_OP_N,
            8,
            4,
            64,
            nullptr,
            nullptr,
            {nullptr, CUDA_R_16F, 8, 0},
            {nullptr, CUDA_R_16F, 64, 0},
            {nullptr, output, 8, 0},
            1,
            compute,
            CUBLAS_GEMM_DEFAULT};
  }
  // What is said of an element that is `ours` by bwgemm and `theirs` by cuBLAS.
  std::string judged(const Call& call, double ours, double theirs, double alpha = 1,
                     double beta = 0) const {
    const HostMatrix before = matrix(call.c.type, 8, 4, 2);
    const Inputs inputs{a_, b_, before, alpha, beta};
    return judge(call, inputs, Place{1, 2, 0, ours, theirs});
  }

  HostMatrix a_ = matrix(CUDA_R_16F, 8, 64, 1), b_ = matrix(CUDA_R_16F, 64, 4, 1);
};

TEST_F(DropinCompare, HalfIsReadAsItIsDefined) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float expected = from_f16(static_cast<std::uint16_t>(bits));
    const float read = dropin::from_half(static_cast<std::uint16_t>(bits));
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(read)) << bits;
    else
      EXPECT_EQ(std::memcmp(&read, &expected, sizeof read), 0) << bits;
  }
}

TEST_F(DropinCompare, NeighboursAreNotSuspicious) {
  const std::pair<int, float> cases[] = {
      {CUDA_R_16BF, 64.5F}, {CUDA_R_16F, 64.0625F}, {CUDA_R_32F, std::nextafter(64.0F, 65.0F)}};
  for (const auto& [type, neighbour] : cases) {
    const HostMatrix ours = matrix(type, 8, 4, 64), theirs = matrix(type, 8, 4, neighbour);
    ASSERT_NE(ours.bytes, theirs.bytes);
    EXPECT_THAT(suspicious(call(type), ours, theirs), IsEmpty());
    const HostMatrix further = matrix(type, 8, 4, 64 + 2 * (neighbour - 64));
    EXPECT_EQ(suspicious(call(type), ours, further).size(), 32U);
  }
}

TEST_F(DropinCompare, MostDifferentComeFirst) {
  Call large = call(CUDA_R_32F);
  large.m = large.c.ld = 200;
  const HostMatrix ours = matrix(CUDA_R_32F, 200, 4, 64);
  HostMatrix theirs = ours;
  for (std::int64_t at = 0; at < 800; ++at)
    store(theirs.bytes.data() + at * 4, Dtype::f32, 65 + static_cast<float>(at * 7 % 800));
  const std::vector<Place> places = suspicious(large, ours, theirs);
  ASSERT_EQ(places.size(), 64U);
  EXPECT_EQ(places.front().theirs, 864);
  EXPECT_EQ(places.back().theirs, 801);
}

TEST_F(DropinCompare, NanAndInfinity) {
  const HostMatrix nan = matrix(CUDA_R_32F, 8, 4, NAN), one = matrix(CUDA_R_32F, 8, 4, 1);
  const HostMatrix infinite = matrix(CUDA_R_32F, 8, 4, INFINITY);
  EXPECT_THAT(suspicious(call(CUDA_R_32F), nan, nan), IsEmpty());
  EXPECT_THAT(suspicious(call(CUDA_R_32F), infinite, infinite), IsEmpty());
  EXPECT_EQ(suspicious(call(CUDA_R_32F), nan, one).size(), 32U);
  EXPECT_EQ(suspicious(call(CUDA_R_32F), one, infinite).size(), 32U);
  EXPECT_THAT(judged(call(CUDA_R_32F), NAN, 64), HasSubstr("bwgemm's result"));
  EXPECT_THAT(judged(call(CUDA_R_32F), 64, INFINITY), HasSubstr("cuBLAS's result"));
}

TEST_F(DropinCompare, OurBound) {
  // (64 + 16) * 2^-23 * 64 and three roundings.
  const double sum = 80 * 0x1p-23 * 64;
  EXPECT_EQ(judged(call(CUDA_R_32F), 64 + sum, 64), "");
  EXPECT_THAT(judged(call(CUDA_R_32F), 64 + 1.05 * sum, 64), HasSubstr("bwgemm's result leaves"));
  EXPECT_THAT(judged(call(CUDA_R_32F), 64 - 1.05 * sum, 64), HasSubstr("C(1,2) of batch 0"));
  EXPECT_EQ(judged(call(CUDA_R_16BF), 64.25, 64), "") << "half a unit in the last place";
  EXPECT_THAT(judged(call(CUDA_R_16BF), 64.5, 64), HasSubstr("bwgemm's result"));
  EXPECT_THAT(judged(call(CUDA_R_16F), 64.0625, 64), HasSubstr("bwgemm's result"));
}

TEST_F(DropinCompare, TheirBoundIsWiderByNarrowPartialSums) {
  EXPECT_EQ(judged(call(CUDA_R_16BF), 64, 64 + 32 * 0x1p-8 * 64), "");
  EXPECT_THAT(judged(call(CUDA_R_16BF), 64, 64 + 34 * 0x1p-8 * 64), HasSubstr("cuBLAS's result"));
  const Call half = call(CUDA_R_16F, CUBLAS_COMPUTE_16F);
  EXPECT_EQ(judged(half, 64, 64 + 64 * 0x1p-11 * 64), "");
  EXPECT_THAT(judged(half, 64, 64 + 66 * 0x1p-11 * 64), HasSubstr("cuBLAS's result"));
}

TEST_F(DropinCompare, Scalars) {
  EXPECT_EQ(judged(call(CUDA_R_32F), 0.5 * 64 + 3 * 2, 38, 0.5, 3), "");
  EXPECT_THAT(judged(call(CUDA_R_32F), 32, 38, 0.5, 3), HasSubstr("bwgemm's result"));
  EXPECT_EQ(judged(call(CUDA_R_32F), 6, 6, 0, 3), "");
}

TEST_F(DropinCompare, BeyondTheRangeNothingIsSaid) {
  const Inputs inputs{a_, b_, a_, 2000, 0};
  EXPECT_EQ(judge(call(CUDA_R_16F), inputs, Place{0, 0, 0, INFINITY, 65504}), "");
}

}  // namespace
}  // namespace bwgemm::test
