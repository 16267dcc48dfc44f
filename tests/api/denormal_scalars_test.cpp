// SPDX-License-Identifier: Apache-2.0
// Scalars that are denormal, in a thread that takes denormals for zero: they are no zeros.
#include <bit>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "support/fake_gemm.h"
#include "support/flushed_denormals.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

using ::testing::HasSubstr;

constexpr float tiny = 1e-40f, minus_zero = -0.0f;

class DenormalScalars : public FakeHandleTest {
 protected:
  bwgemmStatus_t flushed(const GemmArguments& gemm) {
    fake_cuda().reset();
    const FlushedDenormals scope;
    return gemm_ex(handle(), gemm);
  }
  bwgemmStatus_t flushed(const MatmulCall& call) {
    fake_cuda().reset();
    const FlushedDenormals scope;
    return matmul(handle(), call);
  }
};

void expect_product_with(float alpha, float beta) {
  const KernelParams& params = only_launch().params;
  EXPECT_GT(params.k_blocks, 0);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(params.alpha.value), std::bit_cast<std::uint32_t>(alpha));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(params.beta.value), std::bit_cast<std::uint32_t>(beta));
}

TEST_F(DenormalScalars, AreUsedAsTheyAre) {
  GemmArguments gemm;
  gemm.alpha = gemm.beta = &tiny;
  EXPECT_EQ(flushed(gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  expect_product_with(tiny, tiny);
  MatmulCall call;
  call.alpha = call.beta = &tiny;
  EXPECT_EQ(flushed(call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  expect_product_with(tiny, tiny);
}

// Where calls are remembered that had zeros.
TEST_F(DenormalScalars, AreOtherCallsThanZeros) {
  for (const float* zero : {&GemmArguments::zero, &minus_zero}) {
    GemmArguments gemm;
    gemm.alpha = gemm.beta = zero;
    EXPECT_EQ(flushed(gemm), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(only_launch().params.k_blocks, 0);
    gemm.alpha = gemm.beta = &tiny;
    EXPECT_EQ(flushed(gemm), BWGEMM_STATUS_SUCCESS);
    expect_product_with(tiny, tiny);
    MatmulCall call;
    call.alpha = call.beta = zero;
    EXPECT_EQ(flushed(call), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(only_launch().params.k_blocks, 0);
    call.alpha = call.beta = &tiny;
    EXPECT_EQ(flushed(call), BWGEMM_STATUS_SUCCESS);
    expect_product_with(tiny, tiny);
  }
}

TEST_F(DenormalScalars, NeedTheirOperands) {
  GemmArguments gemm;
  gemm.alpha = &tiny;
  gemm.a = nullptr;
  EXPECT_EQ(flushed(gemm), BWGEMM_STATUS_INVALID_VALUE);
  MatmulCall gated = MatmulCall::gated();
  gated.beta = &tiny;
  EXPECT_EQ(flushed(gated), BWGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("beta is not known to be 0"));
}

TEST_F(DenormalScalars, AreExplained) {
  std::string text(4096, '\0');
  GemmArguments gemm;
  gemm.alpha = gemm.beta = &tiny;
  gemm.text = text.data(), gemm.text_size = text.size();
  {
    const FlushedDenormals scope;
    EXPECT_EQ(explain(handle(), gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  }
  EXPECT_THAT(text, HasSubstr("alpha 9.9999"));
  EXPECT_THAT(text, HasSubstr("beta 9.9999"));
}

}  // namespace
}  // namespace bwgemm::test
