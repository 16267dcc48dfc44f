// SPDX-License-Identifier: Apache-2.0
// Mode check of cublasLtMatmul, on a device that computes: the program sees cuBLASLt's results, and
// hears of a difference in any of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "dropin/lt_operands.h"
#include "dropin/lt_preloaded.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t epilogues[] = {1, 2, 4, 6, 32, 36, 160, 164, 192, 208, 256, 512};

class DropinLtCheck : public LtPreloaded {
 protected:
  static constexpr std::int64_t m = 40, n = 24, k = 64;
  static constexpr float two = 2, half = 0.5F;

  // What the library says during the call, whose results are cuBLASLt's with `added`.
  static std::string said_during(LtCall& call, bool has_own_c, double alpha, double beta,
                                 double added = 0) {
    LtOperands operands(call, has_own_c);
    fakeCublasLtReset();
    fakeCublasLtAdd(added);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(fakeCublasLtLast().count, 1);
    EXPECT_TRUE(added != 0 || operands.difference(alpha, beta).empty());
    return said;
  }
};

TEST_F(DropinLtCheck, EqualResultsAreNotMentioned) {
  for (const std::uint32_t epilogue : epilogues)
    for (const int type : {-1, static_cast<int>(CUDA_R_32F)}) {
      LtCall call(lt(), m, n, k);
      call.set_epilogue(epilogue);
      call.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
      call.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, type);
      EXPECT_EQ(said_during(call, false, 1, 0), "") << epilogue;
    }
}

// Results that differ a little are judged by all that the call reads.
TEST_F(DropinLtCheck, SmallDifferencesAreWithinBounds) {
  constexpr std::uint32_t first_gradient = 208;  // of sums, whose bounds are narrow
  for (const std::uint32_t epilogue : epilogues) {
    if (epilogue >= first_gradient) continue;
    LtCall call(lt(), m, n, k);
    call.set_epilogue(epilogue);
    call.beta = &two;
    EXPECT_EQ(said_during(call, true, 1, 2, 2), "") << epilogue;
  }
}

TEST_F(DropinLtCheck, CApartFromDAndInItsPlace) {
  for (const bool has_own_c : {false, true}) {
    LtCall call(lt(), m, n, k, CUDA_R_16F);
    call.set_epilogue(CUBLASLT_EPILOGUE_GELU_BIAS);
    call.alpha = &half;
    call.beta = &two;
    EXPECT_EQ(said_during(call, has_own_c, 0.5, 2), "") << has_own_c;
  }
}

TEST_F(DropinLtCheck, NoCWithoutBeta) {
  LtCall call(lt(), m, n, k);
  LtOperands operands(call, false);
  call.c = nullptr;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(operands.difference(1, 0), "");
}

TEST_F(DropinLtCheck, Rows) {
  LtCall call(lt(), m, n, k);
  for (const cublasLtMatrixLayout_t layout : {call.c_layout, call.d_layout}) {
    call.set(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
    call.set(layout, CUBLASLT_MATRIX_LAYOUT_LD, n + 3);
  }
  call.set_epilogue(CUBLASLT_EPILOGUE_BIAS);
  call.beta = &two;
  EXPECT_EQ(said_during(call, true, 1, 2), "");
  EXPECT_EQ(said_during(call, true, 1, 2, 2), "");
}

// One difference is said in a process: each epilogue has a process of its own.
TEST_F(DropinLtCheck, DISABLED_OneDifference) {
  LtCall call(lt(), m, n, k);
  call.set_epilogue(static_cast<std::uint32_t>(std::atoi(std::getenv("BWGEMM_TEST_EPILOGUE"))));
  for (const cublasLtMatrixLayout_t layout : {call.c_layout, call.d_layout})
    call.set(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, CUDA_R_32F);
  EXPECT_THAT(said_during(call, false, 1, 0, 512),
              HasSubstr("check: cublasLtMatmul: cuBLAS's result leaves its bound: D(0,0)"));
}

TEST_F(DropinLtCheck, DISABLED_OtherGradient) {
  LtCall call(lt(), m, 8, k);
  call.set_epilogue(static_cast<std::uint32_t>(std::atoi(std::getenv("BWGEMM_TEST_EPILOGUE"))));
  // D's own bound lets pass what is added to D(0, 0), but the sums' bound does not.
  EXPECT_THAT(said_during(call, false, 1, 0, 10),
              HasSubstr("check: cublasLtMatmul: cuBLAS's bias gradient"));
}

TEST_F(DropinLtCheck, DifferencesAreReported) {
  for (const std::uint32_t epilogue : {1U, 2U, 36U, 164U, 192U}) {
    const ProcessResult result = run_self("DropinLtCheck.DISABLED_OneDifference",
                                          {{"BWGEMM_TEST_EPILOGUE", std::to_string(epilogue)}});
    EXPECT_TRUE(result.passed()) << epilogue << result.output;
  }
  for (const std::uint32_t epilogue : {208U, 256U, 512U}) {
    const ProcessResult result = run_self("DropinLtCheck.DISABLED_OtherGradient",
                                          {{"BWGEMM_TEST_EPILOGUE", std::to_string(epilogue)}});
    EXPECT_TRUE(result.passed()) << epilogue << result.output;
  }
}

}  // namespace
}  // namespace bwgemm::test
