// SPDX-License-Identifier: Apache-2.0
// A handle belongs to a context: the one current when it was created, else the primary one. Calls
// leave the caller's current context alone.
#include <gtest/gtest.h>
#include <thread>

#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

CUcontext current() {
  CUcontext context = nullptr;
  check(driver().ctx_get_current(&context), "cuCtxGetCurrent");
  return context;
}

using Contexts = GpuTest;

TEST_F(Contexts, AHandleOfAnotherContextWorksThere) {
  const CUcontext primary = current();
  const Context other;
  const CurrentContext scope(other.get());
  const Handle handle;
  run(handle.get(), {.m = 136, .n = 72, .k = 200, .ld_multiple = 8});
  run(handle.get(), {.m = 40, .n = 40, .k = 8193, .output = Dtype::f32});
  EXPECT_EQ(current(), other.get());
  EXPECT_NE(current(), primary);
}

TEST_F(Contexts, TheCallersContextIsRestored) {
  const CUcontext primary = current();
  const Context other;
  const Handle handle;  // of the primary context
  GemmCase gemm{.m = 136, .n = 72, .k = 200, .ld_multiple = 8};
  Operands operands(gemm);
  std::size_t size = 0;
  char text[64];
  const CurrentContext scope(other.get());
  EXPECT_TRUE(succeeds(call(handle.get(), gemm, operands)));
  EXPECT_EQ(current(), other.get());
  EXPECT_TRUE(succeeds(bwgemmGetWorkspaceSize(
      handle.get(), gemm.transa, gemm.transb, gemm.m, gemm.n, gemm.k, &gemm.alpha,
      operands.a_pointer(), BWGEMM_R_16BF, 136, operands.b_pointer(), BWGEMM_R_16BF, 200,
      &gemm.beta, operands.c_pointer(), BWGEMM_R_16BF, 136, BWGEMM_COMPUTE_32F, -1, &size)));
  EXPECT_TRUE(succeeds(bwgemmExplain(handle.get(), gemm.transa, gemm.transb, gemm.m, gemm.n, gemm.k,
                                     &gemm.alpha, operands.a_pointer(), BWGEMM_R_16BF, 136,
                                     operands.b_pointer(), BWGEMM_R_16BF, 200, &gemm.beta,
                                     operands.c_pointer(), BWGEMM_R_16BF, 136, BWGEMM_COMPUTE_32F,
                                     -1, text, sizeof text)));
  EXPECT_EQ(bwgemmSetSmCountTarget(handle.get(), -1), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(current(), other.get()) << "after a refused call too";
  const CurrentContext back(primary);
  operands.expect_result();
}

TEST_F(Contexts, WithoutACurrentContextThePrimaryIsUsedAndNoneIsLeftCurrent) {
  GemmCase gemm{.m = 64, .n = 64, .k = 64, .ld_multiple = 8};
  Operands operands(gemm);  // in the primary context
  std::thread([&] {         // a new thread has no current context
    EXPECT_EQ(current(), nullptr);
    const Handle handle;
    EXPECT_EQ(current(), nullptr);
    EXPECT_TRUE(succeeds(call(handle.get(), gemm, operands)));
    EXPECT_EQ(current(), nullptr);
  })
      .join();
  operands.expect_result();
}

TEST_F(Contexts, TheRetainedPrimaryContextIsReleased) {
  unsigned flags = 0;
  int active = 0;
  std::thread([] { const Handle handle; }).join();
  // The fixture holds one reference; when it goes, the primary context must become inactive.
  check(driver().ctx_set_current(nullptr), "cuCtxSetCurrent");
  check(driver().device_primary_ctx_release(0), "cuDevicePrimaryCtxRelease");
  check(driver().device_primary_ctx_get_state(0, &flags, &active), "cuDevicePrimaryCtxGetState");
  EXPECT_EQ(active, 0) << "bwgemmDestroy kept a reference to the primary context";
  CUcontext again = nullptr;
  check(driver().device_primary_ctx_retain(&again, 0), "cuDevicePrimaryCtxRetain");
  check(driver().ctx_set_current(again), "cuCtxSetCurrent");
}

TEST_F(Contexts, DestroyWithWorkInFlight) {
  const Stream stream;
  GemmCase gemm{.m = 72,
                .n = 40,
                .k = small_scale() ? 2049 : 32769,
                .output = Dtype::f32,
                .fill = Fill::integers};
  Operands operands(gemm);
  {
    const Handle handle;
    ASSERT_TRUE(succeeds(bwgemmSetStream(handle.get(), stream.get())));
    for (int i = 0; i < (small_scale() ? 2 : 50); ++i)
      ASSERT_TRUE(succeeds(call(handle.get(), gemm, operands)));
  }
  operands.expect_result(" after the handle was destroyed");
}

TEST_F(Contexts, DestroyFromAnotherThreadAndContext) {
  const Context other;
  bwgemmHandle_t handle = nullptr;
  ASSERT_TRUE(succeeds(bwgemmCreate(&handle)));
  run(handle, {.m = 72, .n = 40, .k = 8193, .output = Dtype::f32});
  std::thread([&] {
    const CurrentContext scope(other.get());
    EXPECT_TRUE(succeeds(bwgemmDestroy(handle)));
    EXPECT_EQ(current(), other.get());
  }).join();
}

TEST_F(Contexts, DestroyAfterItsContextIsGone) {
  auto other = std::make_unique<Context>();
  bwgemmHandle_t handle = nullptr;
  {
    const CurrentContext scope(other->get());
    ASSERT_TRUE(succeeds(bwgemmCreate(&handle)));
    run(handle, {.m = 72, .n = 40, .k = 8193, .output = Dtype::f32});
  }
  other.reset();
  const float one = 1, zero = 0;
  const bwgemmStatus_t status = bwgemmBf16(handle, BWGEMM_OP_N, BWGEMM_OP_N, 8, 8, 8, &one, &one, 8,
                                           &one, 8, &zero, const_cast<float*>(&one), 8);
  EXPECT_NE(status, BWGEMM_STATUS_SUCCESS) << "a call in a destroyed context cannot succeed";
  bwgemmDestroy(handle);  // any status, but no crash and no damage to the current context
}

}  // namespace
}  // namespace bwgemm::test
