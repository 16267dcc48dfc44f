// SPDX-License-Identifier: Apache-2.0
// alpha and beta in device memory: read by the kernel when it runs, decided on before anything else
// is read.
#include <gtest/gtest.h>

#include "support/flushed_denormals.h"
#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

class DeviceScalars : public HandleTest {
 protected:
  void SetUp() override {
    HandleTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    memory_ = std::make_unique<DeviceMemory>(2 * sizeof(float));
    ASSERT_TRUE(succeeds(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE)));
  }
  void TearDown() override {
    if (!IsSkipped()) synchronize();
    memory_.reset();
    HandleTest::TearDown();
  }

  const float* alpha() const { return memory_->as<float>(); }
  const float* beta() const { return memory_->as<float>() + 1; }
  void set(float alpha, float beta) {
    const float values[2] = {alpha, beta};
    check(driver().memcpy_htod(memory_->address(), values, sizeof values), "cuMemcpyHtoD");
    synchronize();
  }

  void run_with_device_scalars(const GemmCase& gemm) {
    Operands operands(gemm);
    set(gemm.alpha, gemm.beta);
    EXPECT_TRUE(succeeds(call(handle(), gemm, operands, alpha(), beta()))) << gemm;
    operands.expect_result(" (device scalars)");
  }

 private:
  std::unique_ptr<DeviceMemory> memory_;
};

// What TMA can load, what it cannot, and what is split over k.
std::vector<GemmCase> scaled_problems() {
  const std::int64_t deep = small_scale() ? 1023 : 8191;
  return {{.m = 136, .n = 72, .k = 200, .ld_multiple = 8},
          {.m = 37, .n = 29, .k = 51, .output = Dtype::f32, .a_displacement = 1},
          {.m = 40, .n = 24, .k = deep, .input = Dtype::f16, .output = Dtype::f16},
          {.m = 304, .n = 520, .k = 64, .ld_multiple = 8, .batch = 2}};
}

TEST_F(DeviceScalars, EveryCombination) {
  for (GemmCase gemm : scaled_problems())
    for (const float alpha : {1.0f, 0.0f, -0.5f})
      for (const float beta : {0.0f, 1.0f, -0.5f}) {
        gemm.alpha = alpha, gemm.beta = beta;
        run_with_device_scalars(gemm);
      }
}

TEST_F(DeviceScalars, ZeroBetaDoesNotReadC) {
  for (GemmCase gemm : scaled_problems()) {
    gemm.fill_c = Fill::poison;
    run_with_device_scalars(gemm);
    gemm.alpha = 0;
    run_with_device_scalars(gemm);
  }
}

TEST_F(DeviceScalars, ZeroAlphaDoesNotReadAAndB) {
  for (GemmCase gemm : scaled_problems()) {
    gemm.alpha = 0;
    gemm.fill = Fill::poison;  // A, B and C
    Operands operands(gemm);
    set(0, 0);
    EXPECT_TRUE(succeeds(call(handle(), gemm, operands, alpha(), beta()))) << gemm;
    operands.expect_result();
  }
}

TEST_F(DeviceScalars, UnmappedOperandsBehindAZeroAlpha) {
  const UnmappedMemory nowhere;
  for (GemmCase gemm : scaled_problems()) {
    if (gemm.batch > 1) continue;
    gemm.alpha = 0, gemm.beta = -0.5f;
    Operands operands(gemm);
    set(gemm.alpha, gemm.beta);
    EXPECT_TRUE(succeeds(
        bwgemmGemmEx(handle(), BWGEMM_OP_N, BWGEMM_OP_N, gemm.m, gemm.n, gemm.k, alpha(),
                     nowhere.pointer(), c_type(gemm.input), operands.a().ld(), nowhere.pointer(),
                     c_type(gemm.input), operands.b().ld(), beta(), operands.c_pointer(),
                     c_type(gemm.output), operands.c_before().ld(), BWGEMM_COMPUTE_32F, -1)))
        << gemm;
    operands.expect_result(" (unmapped A and B)");
  }
}

TEST_F(DeviceScalars, KZeroReadsNeitherAlphaTimesNothingNorAB) {
  GemmCase gemm{.m = 70, .n = 30, .k = 0, .beta = 1};
  run_with_device_scalars(gemm);
}

// Operands so large that a denormal part of them is no denormal.
TEST_F(DeviceScalars, DenormalOnesAreNoZeros) {
  constexpr std::int64_t size = 64;
  constexpr float tiny = 1e-40f, large = 0x1p60f, large_c = 0x1p120f;
  Matrix factor(Dtype::bf16, size, size, size), c(Dtype::f32, size, size, size);
  for (std::int64_t column = 0; column < size; ++column)
    for (std::int64_t row = 0; row < size; ++row)
      factor.set(row, column, large), c.set(row, column, large_c);
  const GuardedBuffer a(factor), b(factor);
  const float expected = std::fma(tiny, large_c, tiny * (size * large * large));
  set(tiny, tiny);
  for (const bool is_on_device : {true, false}) {
    ASSERT_TRUE(succeeds(bwgemmSetPointerMode(
        handle(), is_on_device ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST)));
    GuardedBuffer d(c);
    bwgemmStatus_t status = BWGEMM_STATUS_SUCCESS;
    {
      const FlushedDenormals flushed;
      status = bwgemmGemmEx(handle(), BWGEMM_OP_N, BWGEMM_OP_N, size, size, size,
                            is_on_device ? alpha() : &tiny, a.pointer(), BWGEMM_R_16BF, size,
                            b.pointer(), BWGEMM_R_16BF, size, is_on_device ? beta() : &tiny,
                            d.pointer(), BWGEMM_R_32F, size, BWGEMM_COMPUTE_32F, -1);
    }
    EXPECT_TRUE(succeeds(status));
    const Matrix& seen = d.download();
    EXPECT_EQ(seen.get(0, 0), expected) << is_on_device;
    EXPECT_EQ(seen.get(size - 1, size - 1), expected) << is_on_device;
  }
}

TEST_F(DeviceScalars, NanScalarsPropagate) {
  GemmCase gemm{.m = 64, .n = 64, .k = 64, .ld_multiple = 8};
  Operands operands(gemm);
  set(NAN, 0);
  EXPECT_TRUE(succeeds(call(handle(), gemm, operands, alpha(), beta())));
  const Matrix& d = operands.device_c().download();
  EXPECT_TRUE(std::isnan(d.get(0, 0)));
  EXPECT_TRUE(std::isnan(d.get(63, 63)));
}

// Written by work of the same stream, after the call that is to use them was made.
TEST_F(DeviceScalars, AreReadInStreamOrder) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  GemmCase gemm{.m = 128, .n = 64, .k = 256, .alpha = -0.5f, .beta = 1, .ld_multiple = 8};
  Operands operands(gemm);
  set(NAN, NAN);
  const float values[2] = {gemm.alpha, gemm.beta};
  check(driver().memcpy_htod_async(reinterpret_cast<CUdeviceptr>(alpha()), values, sizeof values,
                                   stream.get()),
        "cuMemcpyHtoDAsync");
  EXPECT_TRUE(succeeds(call(handle(), gemm, operands, alpha(), beta())));
  stream.synchronize();
  operands.expect_result();
}

TEST_F(DeviceScalars, AReplayedGraphReadsThemAnew) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  for (const GemmCase& shape : scaled_problems()) {
    GemmCase gemm = shape;
    Operands operands(gemm);
    set(1, 0);
    check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
          "cuStreamBeginCapture");
    EXPECT_TRUE(succeeds(call(handle(), gemm, operands, alpha(), beta()))) << gemm;
    CUgraph captured = nullptr;
    check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
    const Graph graph(captured);
    for (const auto& [new_alpha, new_beta] : {std::pair{1.0f, 0.0f}, std::pair{0.0f, 1.0f},
                                              std::pair{-0.5f, 1.0f}, std::pair{0.0f, 0.0f}}) {
      GemmCase now = gemm;
      now.alpha = new_alpha, now.beta = new_beta;
      Operands fresh(now);  // same data; judged by the scalars of this replay
      operands.device_c().upload();
      set(new_alpha, new_beta);
      graph.launch(stream.get());
      stream.synchronize();
      const Matrix& d = operands.device_c().download();
      for (std::int64_t batch = 0; batch < gemm.batch; ++batch) {
        const Product exact = product({&fresh.a(), false, batch}, {&fresh.b(), false, batch});
        for (std::size_t i = 0; i < exact.sum.size(); ++i) {
          const auto row = static_cast<std::int64_t>(i) / gemm.n,
                     column = static_cast<std::int64_t>(i) % gemm.n;
          const Allowed allowed =
              allowed_result(exact.sum[i], exact.magnitude[i], gemm.k, new_alpha, new_beta,
                             fresh.c_before().get(row, column, batch), gemm.output);
          ASSERT_TRUE(is_allowed(d.get(row, column, batch), allowed))
              << now << " row " << row << " column " << column << ": " << d.get(row, column, batch);
        }
      }
    }
  }
}

TEST_F(DeviceScalars, ModeIsStoredAndCanBeChangedBack) {
  bwgemmPointerMode_t mode = BWGEMM_POINTER_MODE_HOST;
  EXPECT_TRUE(succeeds(bwgemmGetPointerMode(handle(), &mode)));
  EXPECT_EQ(mode, BWGEMM_POINTER_MODE_DEVICE);
  ASSERT_TRUE(succeeds(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_HOST)));
  run(handle(), {.m = 65, .n = 33, .k = 64, .alpha = -0.5f, .beta = 1});
}

}  // namespace
}  // namespace bwgemm::test
