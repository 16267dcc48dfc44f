// SPDX-License-Identifier: Apache-2.0
// bwgemm.hpp over the test double: each member reaches its C function with its arguments, in order;
// ownership; and how errors come back.
#include <gtest/gtest.h>
#include <thread>
#include <type_traits>

#include "bwgemm/bwgemm.hpp"
#include "support/error_of.h"
#include "support/fake_gemm.h"

// As CUDA's headers define them, which these tests do without.
struct alignas(2) __half {
  unsigned short bits;
};
struct alignas(2) __nv_bfloat16 {
  unsigned short bits;
};

namespace bwgemm::test {
namespace {

static_assert(!std::is_copy_constructible_v<bwgemm::Handle>);
static_assert(std::is_nothrow_move_constructible_v<bwgemm::Handle>);
static_assert(std::is_nothrow_move_assignable_v<bwgemm::Handle>);
static_assert(sizeof(bwgemm::Handle) == sizeof(bwgemmHandle_t));
static_assert(DataType<float>::value == BWGEMM_R_32F && DataType<__half>::value == BWGEMM_R_16F &&
              DataType<__nv_bfloat16>::value == BWGEMM_R_16BF);

Gemm example() {
  static __nv_bfloat16* const base = static_cast<__nv_bfloat16*>(device_pointer(0x7f0000000000));
  Gemm gemm;
  gemm.m = 256, gemm.n = 128, gemm.k = 512;
  gemm.a = input(base, 520, BWGEMM_OP_T);
  gemm.b = input(base + (1 << 24), 512);
  gemm.c = output(base + (2 << 24), 264);
  return gemm;
}

// The launch of the last call as the kernels got it: everything of it that the arguments decide.
const FakeLaunch& last_launch() {
  return *fake_cuda().launch(fake_cuda().launches() - 1);
}

// The launches are the same, padding included: KernelParams is filled from zero.
void expect_same_launch(const FakeLaunch& one, const FakeLaunch& two) {
  EXPECT_STREQ(one.kernel, two.kernel);
  EXPECT_EQ(one.grid, two.grid);
  EXPECT_EQ(one.stream, two.stream);
  EXPECT_EQ(std::memcmp(&one.params, &two.params, sizeof one.params), 0);
}

using Wrapper = FakeTest;

TEST_F(Wrapper, AHandleEndsWithItsScope) {
  {
    const bwgemm::Handle handle;
    handle.gemm(example());
    EXPECT_EQ(fake_cuda().live(Live::libraries), 1);
  }
  EXPECT_EQ(fake_cuda().live(Live::libraries), 0);
}

TEST_F(Wrapper, OwnershipMoves) {
  bwgemm::Handle one;
  const bwgemmHandle_t raw = one.get();
  bwgemm::Handle two(std::move(one));
  EXPECT_EQ(two.get(), raw);
  EXPECT_FALSE(one);
  EXPECT_EQ(one.try_gemm(example()), BWGEMM_STATUS_NOT_INITIALIZED);

  bwgemm::Handle three(nullptr);
  three = std::move(two);
  EXPECT_EQ(three.get(), raw);
  bwgemm::Handle& itself = three;
  three = std::move(itself);
  EXPECT_EQ(three.get(), raw);

  bwgemm::Handle four;
  const bwgemmHandle_t replaced = four.get();
  four = std::move(three);
  EXPECT_EQ(bwgemmDestroy(replaced), BWGEMM_STATUS_NOT_INITIALIZED) << "it was not destroyed";
  EXPECT_EQ(four.release(), raw);
  EXPECT_FALSE(four);
  const bwgemm::Handle adopted(raw);
  EXPECT_EQ(adopted.sm_count_target(), 0);
}

TEST_F(Wrapper, DestroyTellsTheStatusAndLetsGo) {
  bwgemm::Handle handle;
  handle.gemm(example());
  fake_cuda().fail_entry("cuCtxSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(error_of<Error>([&] { handle.destroy(); }).status(), BWGEMM_STATUS_EXECUTION_FAILED);
  EXPECT_FALSE(handle);
  EXPECT_EQ(handle.try_destroy(), BWGEMM_STATUS_SUCCESS);
}

TEST_F(Wrapper, CreateMayFail) {
  StatusHandle handle;
  ASSERT_EQ(handle.try_create(), BWGEMM_STATUS_SUCCESS);
  const bwgemmHandle_t first = handle.get();
  fake_cuda().fail_entry("cuDeviceGetAttribute", CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(handle.try_create(), BWGEMM_STATUS_INTERNAL_ERROR);
  EXPECT_EQ(handle.get(), first) << "a failed try_create() replaced the handle";
  const Error error = error_of<Error>([] { const bwgemm::Handle another; });
  EXPECT_EQ(error.status(), BWGEMM_STATUS_INTERNAL_ERROR);
  EXPECT_NE(std::string(error.what()).find("bwgemmCreate"), std::string::npos) << error.what();
  fake_cuda().reset();
  ASSERT_EQ(handle.try_create(), BWGEMM_STATUS_SUCCESS);
  EXPECT_NE(handle.get(), first);
  EXPECT_EQ(bwgemmDestroy(first), BWGEMM_STATUS_NOT_INITIALIZED) << "the first was not destroyed";
}

TEST_F(Wrapper, Settings) {
  bwgemm::Handle handle;
  CUstream stream = nullptr;
  check(driver().stream_create(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  handle.set_stream(stream);
  EXPECT_EQ(handle.stream(), stream);
  handle.set_workspace(device_pointer(0x7f0040000000), 4096);
  EXPECT_EQ(handle.workspace().data, device_pointer(0x7f0040000000));
  EXPECT_EQ(handle.workspace().size, 4096u);
  handle.set_pointer_mode(BWGEMM_POINTER_MODE_DEVICE);
  EXPECT_EQ(handle.pointer_mode(), BWGEMM_POINTER_MODE_DEVICE);
  handle.set_sm_count_target(7);
  EXPECT_EQ(handle.sm_count_target(), 7);
  handle.set_determinism(BWGEMM_DETERMINISM_BITWISE);
  EXPECT_EQ(handle.determinism(), BWGEMM_DETERMINISM_BITWISE);
  EXPECT_EQ(handle.tune_mode(), BWGEMM_TUNE_OFF);
  handle.set_tune_mode(BWGEMM_TUNE_FROZEN);
  EXPECT_EQ(handle.tune_mode(), BWGEMM_TUNE_FROZEN);
  handle.set_tune_mode(BWGEMM_TUNE_OFF);
  EXPECT_EQ(handle.programmatic_launch(), -1);
  handle.set_programmatic_launch(1);
  EXPECT_EQ(handle.programmatic_launch(), 1);
  handle.set_programmatic_launch(0);
  EXPECT_EQ(handle.programmatic_launch(), 0);
  handle.destroy();
  check(driver().stream_destroy(stream), "cuStreamDestroy");
}

TEST_F(Wrapper, AGemmIsTheSameLaunchAsInC) {
  const bwgemm::Handle handle;
  const float alpha = 2, beta = 3;
  Gemm g = example();
  g.alpha = alpha, g.beta = beta;
  handle.gemm(g);
  const FakeLaunch wrapped = last_launch();
  ASSERT_EQ(bwgemmGemmEx(handle.get(), BWGEMM_OP_T, BWGEMM_OP_N, 256, 128, 512, &alpha, g.a.data,
                         BWGEMM_R_16BF, 520, g.b.data, BWGEMM_R_16BF, 512, &beta, g.c.data,
                         BWGEMM_R_16BF, 264, BWGEMM_COMPUTE_32F, -1),
            BWGEMM_STATUS_SUCCESS);
  expect_same_launch(wrapped, last_launch());

  handle.bf16(BWGEMM_OP_T, BWGEMM_OP_N, 256, 128, 512, 2, g.a.data, 520, g.b.data, 512, &beta,
              g.c.data, 264);
  expect_same_launch(wrapped, last_launch());

  g.a.type = g.b.type = g.c.type = BWGEMM_R_16F;
  handle.gemm(g);
  const FakeLaunch half = last_launch();
  handle.f16(BWGEMM_OP_T, BWGEMM_OP_N, 256, 128, 512, &alpha, g.a.data, 520, g.b.data, 512, 3.0,
             g.c.data, 264);
  expect_same_launch(half, last_launch());
  EXPECT_EQ(fake_cuda().launches(), 5);
}

TEST_F(Wrapper, ABatchIsTheSameLaunchAsInC) {
  const bwgemm::Handle handle;
  const float one = 1, zero = 0;
  Gemm g = example();
  g.a.stride = 1 << 20, g.b.stride = 0, g.c.stride = 1 << 18, g.batch_count = 3;
  handle.gemm(g);
  const FakeLaunch wrapped = last_launch();
  ASSERT_EQ(bwgemmGemmStridedBatchedEx(handle.get(), BWGEMM_OP_T, BWGEMM_OP_N, 256, 128, 512, &one,
                                       g.a.data, BWGEMM_R_16BF, 520, 1 << 20, g.b.data,
                                       BWGEMM_R_16BF, 512, 0, &zero, g.c.data, BWGEMM_R_16BF, 264,
                                       1 << 18, 3, BWGEMM_COMPUTE_32F, -1),
            BWGEMM_STATUS_SUCCESS);
  expect_same_launch(wrapped, last_launch());
  g.batch_count = 0;
  handle.gemm(g);
  EXPECT_EQ(fake_cuda().launches(), 2) << "an empty batch was launched";
}

TEST_F(Wrapper, AMatmulIsTheGemmItIsMadeOf) {
  const bwgemm::Handle handle;
  Gemm gemm = example();
  gemm.beta = 2, gemm.alpha = 3, gemm.batch_count = 3;
  gemm.a.stride = 512 * 260, gemm.b.stride = 512 * 128, gemm.c.stride = 264 * 130;
  handle.gemm(gemm);
  const FakeLaunch by_gemm = last_launch();
  bwgemm::Matmul matmul(gemm);
  handle.matmul(matmul);
  expect_same_launch(last_launch(), by_gemm);
  EXPECT_EQ(handle.workspace_size(matmul), handle.workspace_size(gemm));
  EXPECT_EQ(handle.explain(matmul).find("with  "), std::string::npos);
  matmul.desc.activation = BWGEMM_ACTIVATION_RELU;
  handle.preload(&matmul.desc);
  handle.matmul(matmul);
  EXPECT_TRUE(last_launch().params.fused.has(operation::any));
  EXPECT_NE(handle.explain(matmul).find("relu"), std::string::npos);
  matmul.desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_D_COLUMNS;
  matmul.desc.biasGradient = device_pointer(0x7f0070000000);
  matmul.desc.strideBiasGradient = matmul.desc.n;
  handle.matmul(matmul);
  EXPECT_EQ(last_launch().bias_gradient.to, matmul.desc.biasGradient);
  matmul.desc.activation = 99;
  const auto error = error_of<Error>([&] { handle.matmul(matmul); });
  EXPECT_EQ(error.status(), BWGEMM_STATUS_INVALID_VALUE);
}

TEST_F(Wrapper, ArraysOfPointers) {
  const bwgemm::Handle handle;
  Gemm gemm = example();
  gemm.batch_count = 5;
  handle.gemm_of_arrays(gemm);
  EXPECT_TRUE(last_launch().params.is_pointer_array);
  EXPECT_EQ(last_launch().params.batch, 5);
  EXPECT_EQ(last_launch().params.d.data, gemm.c.data);
}

TEST_F(Wrapper, DevicePointersArePassedOn) {
  bwgemm::Handle handle;
  handle.set_pointer_mode(BWGEMM_POINTER_MODE_DEVICE);
  Gemm g = example();
  const auto* scalars = static_cast<const float*>(device_pointer(0x7f0050000000));
  g.alpha = scalars, g.beta = scalars + 1;
  EXPECT_EQ(g.alpha.get(), scalars);
  handle.gemm(g);
  g.beta = nullptr;
  EXPECT_EQ(handle.try_gemm(g), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_TRUE(mentions(bwgemm::last_error(), "beta")) << bwgemm::last_error();
  const Factor copied = Factor(0.5);
  EXPECT_EQ(*Factor(copied).get(), 0.5f);
}

TEST_F(Wrapper, Queries) {
  const bwgemm::Handle handle;
  Gemm g = example();
  g.m = g.n = g.c.ld = 64, g.k = g.a.ld = g.b.ld = 16383;
  const float one = 1, zero = 0;
  std::size_t size = 0;
  ASSERT_EQ(
      bwgemmGetWorkspaceSize(handle.get(), BWGEMM_OP_T, BWGEMM_OP_N, 64, 64, 16383, &one, g.a.data,
                             BWGEMM_R_16BF, 16383, g.b.data, BWGEMM_R_16BF, 16383, &zero, g.c.data,
                             BWGEMM_R_16BF, 64, BWGEMM_COMPUTE_32F, -1, &size),
      BWGEMM_STATUS_SUCCESS);
  EXPECT_GT(size, 0u);
  EXPECT_EQ(handle.workspace_size(g), size);
  const std::string text = handle.explain(g);
  char start[64];
  ASSERT_EQ(try_explain(handle.get(), g, start, sizeof start), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(text.substr(0, 63), start);
  EXPECT_EQ(text.find("Nominal"), std::string::npos);
  EXPECT_NE(bwgemm::explain(g).find("Nominal B200"), std::string::npos);
  const bwgemm::Handle none(nullptr);
  EXPECT_EQ(error_of<Error>([&] { static_cast<void>(none.explain(g)); }).status(),
            BWGEMM_STATUS_NOT_INITIALIZED);
}

// Not overwritten by what happens on the thread afterwards, nor by other threads.
TEST_F(Wrapper, AnErrorKeepsItsText) {
  const bwgemm::Handle handle;
  Gemm g = example();
  g.a.ld = 13;
  const Error error = error_of<Error>([&] { handle.gemm(g); });
  EXPECT_EQ(error.status(), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_TRUE(mentions(error.what(), "lda") && mentions(error.what(), "13")) << error.what();
  const std::string text = error.what();
  EXPECT_EQ(bwgemmSetStream(nullptr, nullptr), BWGEMM_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(error.what(), text);
  EXPECT_NE(bwgemm::last_error(), text);
}

TEST(WrapperWithoutGpu, FreeFunctions) {
  EXPECT_EQ(bwgemm::version(), BWGEMM_VERSION);
  EXPECT_STREQ(build_info(), bwgemmGetBuildInfo());
  EXPECT_STREQ(bwgemm::name(BWGEMM_STATUS_NO_DEVICE), "BWGEMM_STATUS_NO_DEVICE");
  EXPECT_STREQ(sentence(BWGEMM_STATUS_NO_DEVICE), bwgemmStatusString(BWGEMM_STATUS_NO_DEVICE));
  const std::vector<std::string> names = kernel_names();
  ASSERT_EQ(names.size(), static_cast<std::size_t>(kernel_count()));
  EXPECT_EQ(names.back(), bwgemmKernelName(kernel_count() - 1));
  EXPECT_EQ(bwgemm::kernel_name(-1), nullptr);
  bwgemm::check(BWGEMM_STATUS_SUCCESS);
  std::thread([] {  // which has no error text
    EXPECT_STREQ(error_of<Error>([] { bwgemm::check(BWGEMM_STATUS_NOT_SUPPORTED); }).what(),
                 sentence(BWGEMM_STATUS_NOT_SUPPORTED));
  })
      .join();
}

}  // namespace
}  // namespace bwgemm::test
