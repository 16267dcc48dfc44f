// SPDX-License-Identifier: Apache-2.0
// Bias gradients over the test double: the second launch of a call, its scratch, and what the
// questions about a call say of it.
#include <cstddef>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_gemm.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

using ::testing::HasSubstr;

class Gradient : public FakeHandleTest {
 protected:
  // The second launch of the call.
  FakeLaunch bias_gradient_of(const MatmulCall& call) const {
    fake_cuda().reset();
    EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    EXPECT_EQ(fake_cuda().launches(), 2);
    if (fake_cuda().launches() != 2) return {};
    EXPECT_STRNE(fake_cuda().launch(0)->kernel, "bwgemm_sm90_sums");
    const FakeLaunch launch = *fake_cuda().launch(1);
    EXPECT_STREQ(launch.kernel, "bwgemm_sm90_sums");
    EXPECT_EQ(launch.threads, 256u);
    EXPECT_EQ(launch.stream, fake_cuda().launch(0)->stream);
    return launch;
  }
};

TEST_F(Gradient, TheMatrixReachesTheKernelAlsoOnceThePlanIsKnown) {
  for (const auto of : {BWGEMM_BIAS_GRADIENT_D_ROWS, BWGEMM_BIAS_GRADIENT_D_COLUMNS,
                        BWGEMM_BIAS_GRADIENT_A, BWGEMM_BIAS_GRADIENT_B})
    for (const auto order : {BWGEMM_ORDER_COL, BWGEMM_ORDER_ROW}) {
      MatmulCall call = MatmulCall::with_gradient(of);
      call.desc.Dorder = order;
      call.desc.ldd = 1200;
      for (std::uintptr_t i = 0; i < 3; ++i) {
        const BiasGradientParams params = bias_gradient_of(call).bias_gradient;
        EXPECT_EQ(params.to, call.desc.biasGradient);
        EXPECT_EQ(params.matrix, of == BWGEMM_BIAS_GRADIENT_A   ? call.a
                                 : of == BWGEMM_BIAS_GRADIENT_B ? call.b
                                                                : call.d);
        const bool has_m = of == BWGEMM_BIAS_GRADIENT_A || of == BWGEMM_BIAS_GRADIENT_D_ROWS;
        EXPECT_EQ(params.outputs, has_m ? 256 : 1200);
        call.a = device_pointer(0x7f0100000000 + 4096 * i);
        call.b = device_pointer(0x7f0200000000 + 4096 * i);
        call.d = device_pointer(0x7f0300000000 + 4096 * i);
        call.desc.biasGradient = device_pointer(0x7f0400000000 + 4096 * i);
      }
    }
}

TEST_F(Gradient, SharesTheScratchOfTheCall) {
  MatmulCall call = MatmulCall::with_gradient();  // 3 chunks of 4 units
  const std::size_t bytes = 3 * 4 * 64 * sizeof(float);
  std::size_t size = 0;
  EXPECT_EQ(workspace_size(handle(), call, &size), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(size, bytes);
  const BiasGradientParams own = bias_gradient_of(call).bias_gradient;
  EXPECT_EQ(own.parts, 3u);
  EXPECT_NE(own.partials, nullptr);
  EXPECT_NE(own.arrivals, nullptr);
  call.desc.workspace = device_pointer(0x7f0060000000), call.desc.workspaceSize = bytes;
  const BiasGradientParams callers = bias_gradient_of(call).bias_gradient;
  EXPECT_EQ(callers.parts, 3u);
  EXPECT_EQ(callers.partials, call.desc.workspace);
  EXPECT_EQ(callers.arrivals, own.arrivals);
  EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0);
  call.desc.workspaceSize = bytes - 1;
  EXPECT_EQ(bias_gradient_of(call).bias_gradient.parts, 1u);
  call.desc.workspace = nullptr, call.desc.workspaceSize = 1;
  EXPECT_EQ(bias_gradient_of(call).bias_gradient.parts, 1u);
  EXPECT_EQ(bias_gradient_of(call).bias_gradient.partials, nullptr);

  // Beside a product that splits k.
  MatmulCall split = MatmulCall::split();
  split.desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_A;
  split.desc.biasGradient = call.desc.biasGradient;
  const BiasGradientParams sums = bias_gradient_of(split).bias_gradient;
  const KernelParams& product = fake_cuda().launch(0)->params;
  EXPECT_NE(product.splits, 1);
  EXPECT_EQ(sums.parts, 32u);
  EXPECT_EQ(sums.partials, product.partials);
  EXPECT_EQ(sums.arrivals, product.arrivals);
}

TEST_F(Gradient, ObeysTheHandlesSettings) {
  EXPECT_EQ(bias_gradient_of(MatmulCall::with_gradient()).grid, 12u);
  ASSERT_EQ(bwgemmSetSmCountTarget(handle(), 5), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bias_gradient_of(MatmulCall::with_gradient()).grid, 5u);
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, 0), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bias_gradient_of(MatmulCall::with_gradient()).grid, 4u);
}

TEST_F(Gradient, IsCapturedWithScratchOfTheCapture) {
  MatmulCall call = MatmulCall::with_gradient();
  const BiasGradientParams outside = bias_gradient_of(call).bias_gradient;
  Stream stream;
  ASSERT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  const FakeLaunch first = bias_gradient_of(call), second = bias_gradient_of(call);
  CUgraph graph = nullptr;
  check(driver().stream_end_capture(stream.get(), &graph), "end");
  driver().graph_destroy(graph);
  EXPECT_TRUE(first.is_captured && second.is_captured);
  EXPECT_NE(first.bias_gradient.partials, outside.partials);
  EXPECT_EQ(first.bias_gradient.partials, second.bias_gradient.partials) << "it follows";
  EXPECT_EQ(bwgemmSetStream(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
}

// The struct as it was before it had these members: what follows in memory is none of it.
TEST_F(Gradient, OlderStructsHaveNone) {
  MatmulCall call = MatmulCall::with_gradient();
  call.desc.biasGradientOf = 99;
  call.desc.structSize = offsetof(bwgemmMatmulDesc_t, biasGradientOf);
  EXPECT_EQ(call.desc.structSize, 272u);
  EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(fake_cuda().launches(), 1);
}

TEST_F(Gradient, TheReportNamesIt) {
  const MatmulCall call = MatmulCall::with_gradient();
  for (bwgemmHandle_t asked : {handle(), bwgemmHandle_t{}}) {
    char text[20000];
    ASSERT_EQ(explain(asked, call, text, sizeof text), BWGEMM_STATUS_SUCCESS);
    // In row order: D is column order in the call.
    EXPECT_THAT(text, HasSubstr("\nwith       sums f32 of columns of D\n"));
  }
}

// One that cannot be loaded is found out before anything is launched.
TEST_F(Gradient, NothingIsLaunchedWithoutItsKernel) {
  ASSERT_EQ(matmul(handle(), MatmulCall::with_aux()), BWGEMM_STATUS_SUCCESS);
  MatmulCall call = MatmulCall::with_gradient();
  call.desc.n = 256;
  fake_cuda().reset();
  fake_cuda().fail_entry("cuLibraryLoadData", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_ALLOC_FAILED);
  EXPECT_EQ(fake_cuda().launches(), 0);
  fake_cuda().reset();
  EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(fake_cuda().launches(), 2);
}

TEST_F(Gradient, IsFormedOnceByTuning) {
  const MatmulCall call = MatmulCall::with_gradient();
  const bwgemmAutotuneOptions_t options{sizeof options, 3, 2, 0, 0};
  ASSERT_EQ(bwgemmMatmulAutotune(handle(), &call.desc, call.alpha, call.a, call.b, call.beta,
                                 call.c, call.d, &options, nullptr),
            BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  const long launches = fake_cuda().launches();
  int sums = 0;
  for (long i = 0; i < launches; ++i)
    if (std::strcmp(fake_cuda().launch(i)->kernel, "bwgemm_sm90_sums") == 0) ++sums;
  EXPECT_EQ(sums, 1);
  EXPECT_STREQ(fake_cuda().launch(launches - 1)->kernel, "bwgemm_sm90_sums");
  EXPECT_EQ(fake_cuda().launch(launches - 1)->bias_gradient.to, call.desc.biasGradient);
}

}  // namespace
}  // namespace bwgemm::test
