// SPDX-License-Identifier: Apache-2.0
// Mode check, on a device that computes: the program sees cuBLAS's result, and hears of a
// difference by the bench command of the same sizes and types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "dropin/operands.h"
#include "dropin/preloaded.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr float two = 2, half = 0.5F;

class DropinCheck : public Preloaded {
 protected:
  // What the library says during the call, whose result is cuBLAS's, with what it was told to add.
  static std::string said_during(CublasCall made, const std::string& function, float added = 0,
                                 float alpha = 1, float beta = 0) {
    Operands operands(made, function);
    fakeCublasReset();
    fakeCublasAdd(added);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(made.run(function), CUBLAS_STATUS_SUCCESS);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(operands.difference(alpha, beta, added), "") << function;
    EXPECT_EQ(fakeCublasLast().count, 1) << function;
    return said;
  }

  // What the library says during a call that cuBLAS leaves undone: a difference, if the call is the
  // first of the process that is checked.
  static std::string said_of_undone(const CublasCall& made) {
    fakeCublasRecordOnly(1);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
    return ::testing::internal::GetCapturedStderr();
  }
};

void passes_alone(const std::string& test) {
  const ProcessResult result = run_self("DropinCheck.DISABLED_" + test);
  EXPECT_TRUE(result.passed()) << result.output;
  EXPECT_THAT(result.output, HasSubstr("1 test"));
}

TEST_F(DropinCheck, EqualResultsAreNotMentioned) {
  for (const std::string& function : product_functions)
    EXPECT_EQ(said_during(small(), function), "") << function;
}

TEST_F(DropinCheck, WhatIsAddedToC) {
  CublasCall made = small();
  made.alpha = &half;
  made.beta = &two;
  for (const cudaDataType output : {CUDA_R_16F, CUDA_R_32F}) {
    made.c_type = output;
    for (const char* function :
         {"cublasGemmEx", "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx"})
      EXPECT_EQ(said_during(made, function, 0, 0.5F, 2), "") << function;
  }
}

TEST_F(DropinCheck, FirstDifferenceIsReportedWithItsCommand) {
  CublasCall made = small();
  made.c_type = CUDA_R_32F;
  made.beta = &two;
  const std::string said = said_during(made, "cublasGemmEx", 64, 1, 2);
  EXPECT_THAT(said, HasSubstr("check: cublasGemmEx: cuBLAS's result leaves its bound: C(0,0)"));
  EXPECT_THAT(said,
              HasSubstr("bwgemm_bench --colmajor --problem \"m=40,n=24,k=64,transa=T,transb=N,"
                        "dtype=f16,out=f32,batch=1,beta=2,ldc=48\""));
  // The next one is not.
  EXPECT_EQ(said_during(made, "cublasGemmEx", 64, 1, 2), "");
}

TEST_F(DropinCheck, CapturedCallsGoToCublasAlone) {
  const Stream stream;
  CublasCall made = small();
  const Operands operands(made, "cublasGemmEx");
  cublasSetStream_v2(handle(), stream.get());
  fakeCublasRecordOnly(1);
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "capture");
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  CUgraph graph = nullptr;
  check(driver().stream_end_capture(stream.get(), &graph), "the capture was broken");
  check(driver().graph_destroy(graph), "cuGraphDestroy");
  EXPECT_EQ(fakeCublasLast().count, 1);
}

TEST_F(DropinCheck, DISABLED_BesideCaptures) {
  CublasCall made = small();
  const Operands operands(made, "cublasGemmEx");
  bool is_first = true;
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const Stream captured, used;
    cublasSetStream_v2(handle(), used.get());
    check(driver().stream_begin_capture(captured.get(), mode), "cuStreamBeginCapture");
    EXPECT_THAT(said_of_undone(made), HasSubstr(is_first ? "check: cublasGemmEx" : "")) << mode;
    is_first = false;
    CUgraph graph = nullptr;
    ASSERT_EQ(driver().stream_end_capture(captured.get(), &graph), CUDA_SUCCESS) << mode;
    check(driver().graph_destroy(graph), "cuGraphDestroy");
    cublasSetStream_v2(handle(), nullptr);
  }
}

TEST_F(DropinCheck, CapturesOfOtherStreamsStayValid) {
  passes_alone("BesideCaptures");
}

// The program's own allocations are as unsafe as before.
TEST_F(DropinCheck, CaptureModeOfTheThreadIsGivenBack) {
  EXPECT_EQ(said_during(small(), "cublasGemmEx"), "");
  const Stream captured;
  check(driver().stream_begin_capture(captured.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "capture");
  CUdeviceptr memory = 0;
  EXPECT_EQ(driver().mem_alloc(&memory, 256), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_NE(driver().stream_end_capture(captured.get(), &graph), CUDA_SUCCESS);
}

TEST_F(DropinCheck, DISABLED_ThreadWithoutAContext) {
  CublasCall made = small();
  const Operands operands(made, "cublasGemmEx");
  std::string said;
  std::thread([&] { said = said_of_undone(made); }).join();
  EXPECT_THAT(said, HasSubstr("check: cublasGemmEx"));
}

TEST_F(DropinCheck, ThreadsWithoutAContextAreCheckedToo) {
  passes_alone("ThreadWithoutAContext");
}

TEST_F(DropinCheck, RefusedCallsGoToCublasAlone) {
  CublasCall made = small();
  const Operands operands(made, "cublasGemmEx");
  made.lda = 1;
  EXPECT_EQ(made.run("cublasGemmEx"), 7);
  EXPECT_EQ(fakeCublasLast().count, 1);
}

}  // namespace
}  // namespace bwgemm::test
