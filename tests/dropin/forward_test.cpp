// SPDX-License-Identifier: Apache-2.0
// What goes to cuBLAS: it reaches cuBLAS as the program said it, once, and nothing is launched.
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "dropin/lt_preloaded.h"

namespace bwgemm::test {
namespace {

constexpr float one = 1, zero = 0;

class DropinForward : public Recorded {
 protected:
  // Returns what cuBLAS returned.
  cublasStatus_t expect_forwarded(const CublasCall& call, const std::string& function) {
    const std::int64_t before = fakeCublasLast().count;
    fake_cuda().reset();
    const cublasStatus_t status = call.run(function);
    EXPECT_EQ(fake_cuda().launches(), 0) << function;
    const FakeProduct seen = fakeCublasLast();
    EXPECT_EQ(seen.count, before + 1) << function;
    if (seen.count == before + 1) expect_arguments(call, function, seen);
    return status;
  }

  static void expect_arguments(const CublasCall& call, const std::string& function,
                               const FakeProduct& seen) {
    EXPECT_EQ(seen.function, function);
    EXPECT_EQ(seen.transa, call.transa);
    EXPECT_EQ(seen.transb, call.transb);
    EXPECT_EQ(seen.m, call.m);
    EXPECT_EQ(seen.n, call.n);
    EXPECT_EQ(seen.k, call.k);
    EXPECT_EQ(seen.lda, call.lda);
    EXPECT_EQ(seen.ldb, call.ldb);
    EXPECT_EQ(seen.ldc, call.ldc);
    EXPECT_EQ(seen.A, call.a);
    EXPECT_EQ(seen.B, call.b);
    EXPECT_EQ(seen.C, call.c);
    EXPECT_TRUE(call.alpha == nullptr || seen.alpha == call.alpha);
    EXPECT_TRUE(call.beta == nullptr || seen.beta == call.beta);
    EXPECT_EQ(seen.batch, CublasCall::is_batched(function) ? call.batch : 1);
    if (function.find("Strided") != function.npos) {
      EXPECT_EQ(seen.strideA, call.stride_a);
      EXPECT_EQ(seen.strideB, call.stride_b);
      EXPECT_EQ(seen.strideC, call.stride_c);
    }
    if (function.find("Hgemm") != function.npos) return;
    EXPECT_EQ(seen.Atype, call.a_type);
    EXPECT_EQ(seen.Btype, call.b_type);
    EXPECT_EQ(seen.Ctype, call.c_type);
    if (function.find("Sgemm") != function.npos) return;
    EXPECT_EQ(seen.compute, call.compute);
    EXPECT_EQ(seen.algo, call.algo);
  }

  // By every function that does not fix what is changed.
  void expect_forwarded_by_ex(const std::function<void(CublasCall&)>& change) {
    CublasCall made = call();
    change(made);
    for (const char* function :
         {"cublasGemmEx", "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx"})
      for (const char* form : {"", "_64"}) expect_forwarded(made, std::string(function) + form);
  }
  void expect_forwarded_by_all(const std::function<void(CublasCall&)>& change) {
    CublasCall made = call();
    change(made);
    for (const std::string& function : product_functions)
      for (const char* form : {"", "_64"}) expect_forwarded(made, function + form);
  }
};

TEST_F(DropinForward, OtherTypes) {
  constexpr auto r_8i = static_cast<cudaDataType>(3), r_64f = static_cast<cudaDataType>(1);
  for (const cudaDataType type : {CUDA_R_32F, r_8i, r_64f})
    expect_forwarded_by_ex([=](CublasCall& call) { call.a_type = call.b_type = type; });
  expect_forwarded_by_ex([](CublasCall& call) { call.b_type = CUDA_R_16BF; });
  expect_forwarded_by_ex([](CublasCall& call) { call.c_type = CUDA_R_16BF; });
  CublasCall made = call();
  made.a_type = made.b_type = made.c_type = CUDA_R_32F;
  expect_forwarded(made, "cublasSgemmEx");
}

TEST_F(DropinForward, OtherComputeTypes) {
  for (const int compute : {65, 69, 70, 72, 74, 75, 77, 78, 79, 0, 2})
    expect_forwarded_by_ex(
        [=](CublasCall& call) { call.compute = static_cast<cublasComputeType_t>(compute); });
  expect_forwarded_by_ex([](CublasCall& call) {
    call.compute = CUBLAS_COMPUTE_16F;
    call.c_type = CUDA_R_32F;
  });
  expect_forwarded_by_ex([](CublasCall& call) {
    call.compute = CUBLAS_COMPUTE_16F;
    call.a_type = call.b_type = call.c_type = CUDA_R_16BF;
  });
}

TEST_F(DropinForward, ExplicitAlgos) {
  for (const int algo : {0, 1, 23, 100, 115, 999})
    expect_forwarded_by_ex(
        [=](CublasCall& call) { call.algo = static_cast<cublasGemmAlgo_t>(algo); });
}

TEST_F(DropinForward, MathModes) {
  constexpr int no_reduced = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  for (const int mode : {2, 2 | no_reduced, 4, 8, 32}) {
    ASSERT_EQ(cublasSetMathMode(handle(), static_cast<cublasMath_t>(mode)), CUBLAS_STATUS_SUCCESS);
    expect_forwarded_by_all([](CublasCall&) {});
  }
  for (const int mode : {0, 1, 3, no_reduced, 1 | no_reduced, 3 | no_reduced}) {
    cublasSetMathMode(handle(), static_cast<cublasMath_t>(mode));
    const std::int64_t before = fakeCublasLast().count;
    call().run("cublasGemmEx");
    EXPECT_EQ(fakeCublasLast().count, before) << mode;
  }
}

TEST_F(DropinForward, HalfScalarsOnTheDevice) {
  cublasSetPointerMode_v2(handle(), CUBLAS_POINTER_MODE_DEVICE);
  CublasCall made = call();
  made.alpha = made.beta = reinterpret_cast<const void*>(0x7f0030000000);
  expect_forwarded(made, "cublasHgemm");
  expect_forwarded(made, "cublasHgemmStridedBatched_64");
  made.compute = CUBLAS_COMPUTE_16F;
  expect_forwarded(made, "cublasGemmEx");
}

TEST_F(DropinForward, NothingToCompute) {
  expect_forwarded_by_all([](CublasCall& call) { call.m = 0; });
  expect_forwarded_by_all([](CublasCall& call) { call.n = 0; });
  CublasCall made = call();
  made.batch = 0;
  expect_forwarded(made, "cublasGemmBatchedEx");
  expect_forwarded(made, "cublasHgemmStridedBatched");
}

TEST_F(DropinForward, NullScalars) {
  expect_forwarded_by_all([](CublasCall& call) { call.passes_null_scalars = true; });
  expect_forwarded_by_all([](CublasCall& call) {
    call.passes_null_scalars = true;
    call.alpha = &one;
  });
}

TEST_F(DropinForward, WhatBwgemmRefuses) {
  CublasCall made = call();
  made.lda = 191;  // less than the rows of A
  EXPECT_EQ(expect_forwarded(made, "cublasGemmEx"), 7) << "cuBLAS's own status";
  made = call();
  made.k = -1;
  EXPECT_EQ(expect_forwarded(made, "cublasGemmEx_64"), 7);
  made = call();
  made.transa = static_cast<cublasOperation_t>(3);
  expect_forwarded(made, "cublasGemmEx");
  made = call();
  made.a = static_cast<const std::byte*>(made.a) + 1;
  expect_forwarded(made, "cublasGemmEx");
  made = call();
  made.stride_c = 0;
  expect_forwarded(made, "cublasGemmStridedBatchedEx");
  made = call();
  made.stride_a = -1;
  expect_forwarded(made, "cublasHgemmStridedBatched");
}

TEST_F(DropinForward, BroadcastAndLargeStridesAreServed) {
  CublasCall made = call();
  made.stride_a = 0;
  made.stride_c = std::int64_t{1} << 32;  // times the batch and the element beyond 32 bits
  made.run("cublasGemmStridedBatchedEx");
  EXPECT_EQ(fakeCublasLast().count, 0);
  EXPECT_EQ(fake_cuda().launches(), 1);
}

TEST_F(DropinForward, NoHandle) {
  CublasCall made = call();
  made.handle = nullptr;
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_NOT_INITIALIZED);
  made.handle = reinterpret_cast<cublasHandle_t>(&made);
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasDestroy_v2(made.handle), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSetStream_v2(made.handle, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSetWorkspace_v2(made.handle, nullptr, 0), CUBLAS_STATUS_NOT_INITIALIZED);
  destroy_handle();
  made.handle = call().handle;
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(fake_cuda().launches(), 0);
}

TEST_F(DropinForward, DestroyedHandle) {
  cublasHandle_t gone = nullptr;
  ASSERT_EQ(cublasCreate_v2(&gone), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasDestroy_v2(gone), CUBLAS_STATUS_SUCCESS);
  CublasCall made = call();
  made.handle = gone;
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(fake_cuda().launches(), 0);
}

// cuBLAS made the handle without this library's seeing it.
TEST_F(DropinForward, HandleMadePastTheLibrary) {
  void* const real = dlopen("libcublas.so.13", RTLD_NOLOAD | RTLD_LAZY);
  ASSERT_NE(real, nullptr);
  const auto create = reinterpret_cast<decltype(&cublasCreate_v2)>(dlsym(real, "cublasCreate_v2"));
  ASSERT_NE(create, &cublasCreate_v2);
  CublasCall made = call();
  ASSERT_EQ(create(&made.handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(expect_forwarded(made, "cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasDestroy_v2(made.handle), CUBLAS_STATUS_SUCCESS);
}

TEST_F(DropinForward, WhatCublasCallsItselfIsItsOwn) {
  fakeCublasCallsOut(1);
  CublasCall made = call();
  made.algo = static_cast<cublasGemmAlgo_t>(0);  // the double replaces it by the default
  EXPECT_EQ(made.run("cublasGemmStridedBatchedEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_STREQ(fakeCublasLast().function, "cublasGemmEx");
  EXPECT_EQ(fake_cuda().launches(), 0) << "the library served a call that cuBLAS made";
}

TEST_F(DropinForward, ADriverThatRefusesTheLaunch) {
  call().run("cublasGemmEx");  // loads the kernel
  fake_cuda().fail_entry("cuLaunchKernelEx", CUDA_ERROR_UNKNOWN);
  CublasCall made = call();
  made.beta = &one;
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLast().count, 1) << "nothing was written: cuBLAS can do it";
  const DeviceMemory workspace(32 << 20);
  cublasSetWorkspace_v2(handle(), workspace.as(), 32 << 20);
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(fakeCublasLast().count, 1) << "C was perhaps added to already";
  made.beta = &zero;
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLast().count, 2) << "C is only written: cuBLAS can do it";
  fake_cuda().reset();
}

TEST_F(DropinForward, ADriverThatDoesNotLoadKernels) {
  const Context fresh;  // where none is loaded
  const CurrentContext current(fresh.get());
  CublasCall made = call();
  made.beta = &one;
  ASSERT_EQ(cublasCreate_v2(&made.handle), CUBLAS_STATUS_SUCCESS);
  fake_cuda().fail_entry("cuLibraryLoadData", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLast().count, 1);
  // With workspace, the kernel may be that of a later part of the call.
  const DeviceMemory workspace(32 << 20);
  cublasSetWorkspace_v2(made.handle, workspace.as(), 32 << 20);
  for (const CUresult failure : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_SOURCE}) {
    fake_cuda().fail_entry("cuLibraryLoadData", failure);
    const cublasStatus_t status = made.run("cublasGemmEx");
    const bool is_memory = failure == CUDA_ERROR_OUT_OF_MEMORY;
    EXPECT_EQ(status, is_memory ? BWGEMM_STATUS_ALLOC_FAILED : BWGEMM_STATUS_INTERNAL_ERROR);
    EXPECT_EQ(fakeCublasLast().count, 1) << "C was perhaps added to already";
  }
  made.beta = &zero;
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLast().count, 2);
  fake_cuda().reset();
  cublasDestroy_v2(made.handle);
}

}  // namespace
}  // namespace bwgemm::test
