// SPDX-License-Identifier: Apache-2.0
// Calls of cublasLtMatmul that go to cuBLASLt: they reach it as the program said them, once, and
// nothing is launched.
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "dropin/lt_preloaded.h"

namespace bwgemm::test {
namespace {

class DropinLtForward : public Recorded {
 protected:
  static inline void* const memory = reinterpret_cast<void*>(0x7f0040000000);

  static cublasStatus_t expect_forwarded(const LtCall& call, const std::string& what = "") {
    const std::int64_t before = fakeCublasLtLast().count;
    fake_cuda().reset();
    const cublasStatus_t status = call.run();
    EXPECT_EQ(fake_cuda().launches(), 0) << what;
    EXPECT_EQ(fakeCublasLtLast().count, before + 1) << what;
    call.expect_seen(fakeCublasLtLast());
    return status;
  }
  void expect_forwarded_with(const std::function<void(LtCall&)>& change,
                             const std::string& what = "") {
    LtCall call(lt());
    change(call);
    expect_forwarded(call, what);
  }
};

TEST_F(DropinLtForward, OtherTypes) {
  constexpr auto r_8i = static_cast<cudaDataType>(3), fp8 = static_cast<cudaDataType>(28);
  for (const cudaDataType type : {CUDA_R_32F, r_8i, fp8})
    expect_forwarded_with([=](LtCall& call) { call.set_types(type, CUDA_R_16BF); });
  expect_forwarded_with([](LtCall& call) { call.set_types(CUDA_R_16BF, CUDA_R_16F); });
  expect_forwarded_with(
      [](LtCall& call) { call.set(call.b_layout, CUBLASLT_MATRIX_LAYOUT_TYPE, CUDA_R_16F); });
  expect_forwarded_with(
      [=](LtCall& call) { call.set(call.c_layout, CUBLASLT_MATRIX_LAYOUT_TYPE, fp8); });
}

TEST_F(DropinLtForward, OtherComputeTypes) {
  for (const int compute : {64, 65, 69, 70, 72, 78, 79, 0})
    expect_forwarded_with(
        [=](LtCall& call) { call.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute); });
  expect_forwarded_with(
      [](LtCall& call) { call.set(CUBLASLT_MATMUL_DESC_SCALE_TYPE, CUDA_R_16F); });
}

// Each that this library does not serve, by its number, with a value of the attribute's size.
TEST_F(DropinLtForward, AttributesOfTheDescriptor) {
  for (const int number :
       {5, 6, 14, 16, 17, 18, 19, 20, 21, 23, 24, 31, 32, 33, 34, 35, 36, 37, 38})
    expect_forwarded_with(
        [=](LtCall& call) {
          const bool is_wide =
              number == 14 || (number >= 17 && number <= 24) || number == 36 || number == 38;
          if (is_wide)
            call.set(number, std::int64_t{256});
          else
            call.set(number, 1);
        },
        std::to_string(number));
  expect_forwarded_with([](LtCall& call) { call.set(25, std::int8_t{1}); }, "fast accumulation");
}

TEST_F(DropinLtForward, AttributesThatAreNotKnown) {
  expect_forwarded_with([](LtCall& call) { call.set(39, std::int64_t{256}); });
  expect_forwarded_with([](LtCall& call) { call.set(41, 0); }, "its default is not 0");
  expect_forwarded_with([](LtCall& call) { call.set(call.d_layout, 9, std::int64_t{256}); });
  expect_forwarded_with([](LtCall& call) { call.set(call.b_layout, 13, 1); });
}

// Those that a call served a moment ago had not.
TEST_F(DropinLtForward, AttributesThatAppear) {
  LtCall call(lt());
  for (int turn = 0; turn < 2; ++turn) {
    fake_cuda().reset();
    EXPECT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(fake_cuda().launches(), 1);
    call.set(17, std::int64_t{256});
    expect_forwarded(call, "a scale of A");
    call.set(17, std::int64_t{0});
    call.set(call.d_layout, 12, 1);
    expect_forwarded(call, "behind the memory that is known");
    call.set(call.d_layout, 12, 0);
    call.set_epilogue(130);
    expect_forwarded(call, "an epilogue with a mask");
    call.set_epilogue(CUBLASLT_EPILOGUE_DEFAULT);
  }
}

TEST_F(DropinLtForward, Layouts) {
  for (const int order : {2, 3, 4})
    expect_forwarded_with(
        [=](LtCall& call) { call.set(call.a_layout, CUBLASLT_MATRIX_LAYOUT_ORDER, order); });
  expect_forwarded_with([](LtCall& call) { call.set(call.c_layout, 7, std::int64_t{4096}); },
                        "plane");
  for (const char letter : {'a', 'b', 'c', 'd'})
    expect_forwarded_with(
        [=](LtCall& call) {
          call.set(letter == 'a'   ? call.a_layout
                   : letter == 'b' ? call.b_layout
                   : letter == 'c' ? call.c_layout
                                   : call.d_layout,
                   8, 1);
        },
        "arrays of pointers");
}

TEST_F(DropinLtForward, SizesThatDoNotFit) {
  for (const int attribute : {CUBLASLT_MATRIX_LAYOUT_ROWS, CUBLASLT_MATRIX_LAYOUT_COLS})
    for (int matrix = 0; matrix < 4; ++matrix)
      expect_forwarded_with(
          [=](LtCall& call) {
            cublasLtMatrixLayout_t const layouts[] = {call.a_layout, call.b_layout, call.c_layout,
                                                      call.d_layout};
            call.set(layouts[matrix], attribute, std::uint64_t{100});
          },
          std::to_string(matrix));
  for (int matrix = 0; matrix < 4; ++matrix)
    expect_forwarded_with([=](LtCall& call) {
      cublasLtMatrixLayout_t const layouts[] = {call.a_layout, call.b_layout, call.c_layout,
                                                call.d_layout};
      call.set(layouts[matrix], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 2);
    });
}

TEST_F(DropinLtForward, NothingToCompute) {
  for (const auto& [m, n, k] : {std::tuple(0, 128, 192), {256, 0, 192}, {256, 128, 0}}) {
    const LtCall call(lt(), m, n, k);
    expect_forwarded(call);
  }
  expect_forwarded_with([](LtCall& call) { call.set_batch(0, 0, 0, 0); });
}

TEST_F(DropinLtForward, PointerModesWithVectors) {
  for (const int mode : {2, 3, 4})
    expect_forwarded_with([=](LtCall& call) {
      call.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, mode);
      call.alpha = memory;
    });
}

TEST_F(DropinLtForward, EpiloguesWithMasksOfBits) {
  for (const std::uint32_t epilogue : {130U, 134U, 136U, 152U, 0U, 3U, 1024U})
    expect_forwarded_with(
        [=](LtCall& call) {
          call.set_epilogue(epilogue);
          call.set_bias(memory);
          call.set_aux(memory, 256);
        },
        std::to_string(epilogue));
}

TEST_F(DropinLtForward, EpiloguesThatLackAPointer) {
  for (const std::uint32_t epilogue : {4U, 6U, 36U, 256U, 512U})
    expect_forwarded_with([=](LtCall& call) { call.set_epilogue(epilogue); });
  for (const std::uint32_t epilogue : {160U, 192U})
    expect_forwarded_with([=](LtCall& call) {
      call.set_epilogue(epilogue);
      call.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{256});
    });
  expect_forwarded_with([](LtCall& call) {
    call.set_epilogue(164);
    call.set_aux(memory, 256);
  });
}

// Which sums cuBLASLt forms then, it does not say.
TEST_F(DropinLtForward, SumsOfAnOperandBesideAnAlpha) {
  const float two = 2;
  for (const std::uint32_t epilogue : {256U, 512U}) {
    expect_forwarded_with([&](LtCall& call) {
      call.set_epilogue(epilogue);
      call.set_bias(memory);
      call.alpha = &two;
    });
    expect_forwarded_with([&](LtCall& call) {
      call.set_epilogue(epilogue);
      call.set_bias(memory);
      call.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, 1);
      call.alpha = call.beta = memory;
    });
  }
}

TEST_F(DropinLtForward, AuxOfRows) {
  expect_forwarded_with([](LtCall& call) {
    for (cublasLtMatrixLayout_t const layout : {call.c_layout, call.d_layout}) {
      call.set(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
      call.set(layout, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{128});
    }
    call.set_epilogue(CUBLASLT_EPILOGUE_GELU_AUX);
    call.set_aux(memory, 256);
  });
}

TEST_F(DropinLtForward, NullObjectsAndScalars) {
  expect_forwarded_with([](LtCall& call) { call.alpha = nullptr; });
  expect_forwarded_with([](LtCall& call) { call.beta = nullptr; });
  expect_forwarded_with([](LtCall& call) { call.a_layout = nullptr; });
  expect_forwarded_with([](LtCall& call) { call.d_layout = nullptr; });
  LtCall call(lt());
  const cublasLtMatmulDesc_t desc = std::exchange(call.desc, nullptr);
  EXPECT_EQ(expect_forwarded(call), 7) << "cuBLASLt's own status";
  call.desc = desc;
}

TEST_F(DropinLtForward, WhatBwgemmRefuses) {
  expect_forwarded_with(
      [](LtCall& call) { call.set(call.a_layout, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{191}); });
  expect_forwarded_with([](LtCall& call) { call.a = static_cast<const std::byte*>(call.a) + 1; });
  expect_forwarded_with([](LtCall& call) { call.set_batch(2, 0, 0, 0); });
  expect_forwarded_with([](LtCall& call) {  // the sums of one batch would overwrite the other's
    call.set_batch(2, 256 * 192, 128 * 192, 256 * 128);
    call.set_epilogue(CUBLASLT_EPILOGUE_BGRADA);
    call.set_bias(memory);
  });
}

TEST_F(DropinLtForward, Handles) {
  LtCall call(nullptr);
  EXPECT_EQ(call.run(), CUBLAS_STATUS_NOT_INITIALIZED) << "cuBLASLt's own";
  call.handle = reinterpret_cast<cublasLtHandle_t>(&call);
  EXPECT_EQ(call.run(), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasLtDestroy(call.handle), CUBLAS_STATUS_NOT_INITIALIZED);
  ASSERT_EQ(cublasLtCreate(&call.handle), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasLtDestroy(call.handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.run(), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(fake_cuda().launches(), 0);
}

// Once as a part of a product that went to cuBLAS, and once of a function that nobody stands in
// front of.
TEST_F(DropinLtForward, WhatCublasCallsItselfIsItsOwn) {
  fakeCublasCallsLt(1);
  CublasCall made = call();
  made.algo = static_cast<cublasGemmAlgo_t>(3);
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLtLast().count, 1);
  EXPECT_EQ(fakeCublasMultiplyByLt(handle()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLtLast().count, 2);
  EXPECT_EQ(fake_cuda().launches(), 0) << "the library served a call that cuBLAS made";
}

// The default stream is that of the context which is current at the call.
TEST_F(DropinLtForward, DefaultStreamOfAnotherContext) {
  const Context other;
  const LtCall call(lt());
  {
    const CurrentContext current(other.get());
    expect_forwarded(call);
  }
  EXPECT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fake_cuda().launches(), 1);
}

TEST_F(DropinLtForward, ADriverThatRefusesTheLaunch) {
  LtCall call(lt());
  call.run();  // loads the kernel
  call.beta = &call.one;
  fake_cuda().fail_entry("cuLaunchKernelEx", CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLtLast().count, 1) << "nothing was written: cuBLASLt can do it";
  const DeviceMemory workspace(32 << 20);
  const cublasLtMatmulAlgo_t splitting{{1, 4}};
  call.algo = &splitting;
  call.workspace = workspace.as();
  call.workspace_size = 32 << 20;
  fake_cuda().fail_entry("cuLaunchKernelEx", CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(call.run(), CUBLAS_STATUS_EXECUTION_FAILED) << "C may have been added to";
  EXPECT_EQ(fakeCublasLtLast().count, 1);
  call.c = reinterpret_cast<void*>(0x7f0030000000);
  EXPECT_EQ(call.run(), CUBLAS_STATUS_SUCCESS) << "D is only written";
  EXPECT_EQ(fakeCublasLtLast().count, 2);
}

}  // namespace
}  // namespace bwgemm::test
