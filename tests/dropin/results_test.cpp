// SPDX-License-Identifier: Apache-2.0
// Results of calls that are served, on a device that computes.
#include <cmath>
#include <gtest/gtest.h>
#include <string>

#include "dropin/operands.h"
#include "dropin/preloaded.h"

namespace bwgemm::test {
namespace {

class DropinResults : public Preloaded {
 protected:
  static void expect_served() { EXPECT_EQ(fakeCublasLast().count, 0) << "cuBLAS computed"; }
};

TEST_F(DropinResults, OfEveryFunction) {
  for (const std::string& function : product_functions) {
    CublasCall made = small();
    Operands operands(made, function);
    ASSERT_EQ(made.run(function), CUBLAS_STATUS_SUCCESS) << function;
    EXPECT_EQ(operands.difference(1, 0), "") << function;
    expect_served();
  }
}

TEST_F(DropinResults, OfOtherTypesTransposesAndScalars) {
  const float two = 2, half = 0.5F;
  CublasCall made = small();
  made.transa = CUBLAS_OP_N;
  made.transb = CUBLAS_OP_C;
  made.lda = 40;
  made.ldb = 24;
  made.alpha = &half;
  made.beta = &two;
  made.a_type = made.b_type = CUDA_R_16BF;
  for (const cudaDataType output : {CUDA_R_16BF, CUDA_R_32F}) {
    made.c_type = output;
    Operands operands(made, "cublasGemmEx");
    ASSERT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(operands.difference(0.5F, 2), "");
    expect_served();
  }
}

TEST_F(DropinResults, GarbageInCIsNotReadWithoutBeta) {
  CublasCall made = small();
  made.c_type = CUDA_R_32F;
  Operands operands(made, "cublasGemmEx");
  const std::vector<float> nan(static_cast<std::size_t>(made.ldc * made.n), NAN);
  check(driver().memcpy_htod(reinterpret_cast<CUdeviceptr>(made.c), nan.data(),
                             static_cast<std::size_t>(made.m) * sizeof(float)),
        "cuMemcpyHtoD");
  ASSERT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(operands.difference(1, 0), "");
  expect_served();
}

TEST_F(DropinResults, NothingToAdd) {
  const float three = 3;
  CublasCall made = small();
  made.k = 0;
  made.beta = &three;
  Operands operands(made, "cublasGemmEx");
  made.a = made.b = nullptr;
  ASSERT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(operands.difference(1, 3), "");
  expect_served();
}

TEST_F(DropinResults, OddSizesAndAlignments) {
  CublasCall made = small();
  made.m = made.ldc = 39;
  made.n = 23;
  made.k = made.lda = made.ldb = 61;
  Operands operands(made, "cublasGemmEx");
  ASSERT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(operands.difference(1, 0), "");
  expect_served();
}

// Programs leave their handles' graphs behind, and cuBLAS's own graphs live longer than handles.
TEST_F(DropinResults, GraphThatOutlivesTheHandle) {
  const Stream stream;
  ASSERT_EQ(cublasSetStream_v2(handle(), stream.get()), CUBLAS_STATUS_SUCCESS);
  CublasCall made = small();
  Operands operands(made, "cublasGemmEx");
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "capture");
  ASSERT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  CUgraph captured = nullptr;
  check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
  const Graph graph(captured);
  destroy_handle();
  for (int turn = 0; turn < 2; ++turn) {
    operands.restore();
    graph.launch(stream.get());
    stream.synchronize();
    EXPECT_EQ(operands.difference(1, 0), "");
  }
  expect_served();
}

}  // namespace
}  // namespace bwgemm::test
