// SPDX-License-Identifier: Apache-2.0
// The fixture of tests that must run with libbwgemm_cublas.so preloaded: in front of the double of
// cuBLAS, with the primary context of device 0 current and a handle of cuBLAS.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string_view>

#include "dropin/cublas_call.h"
#include "dropin/fake_cublas.h"
#include "support/driver.h"

namespace bwgemm::test {

class Preloaded : public ::testing::Test {
 protected:
  void SetUp() override {
    Dl_info info{};
    ASSERT_NE(dladdr(reinterpret_cast<void*>(&cublasGemmEx), &info), 0);
    ASSERT_NE(std::string_view(info.dli_fname).find("libbwgemm_cublas"), std::string_view::npos)
        << "LD_PRELOAD is not set; cublasGemmEx is that of " << info.dli_fname;
    check(driver().init(0), "cuInit");
    check(driver().device_primary_ctx_retain(&context_, 0), "cuDevicePrimaryCtxRetain");
    check(driver().ctx_set_current(context_), "cuCtxSetCurrent");
    fakeCublasReset();
    ASSERT_EQ(cublasCreate_v2(&handle_), CUBLAS_STATUS_SUCCESS);
  }
  void TearDown() override {
    if (handle_ != nullptr) destroy_handle();
  }

  cublasHandle_t handle() const { return handle_; }
  CublasCall call() const {
    CublasCall made;
    made.handle = handle_;
    return made;
  }
  // A small product with rows that TMA can load.
  CublasCall small() const {
    CublasCall made = call();
    made.m = 40;
    made.n = 24;
    made.k = made.lda = made.ldb = 64;
    made.ldc = 48;
    made.stride_a = 40 * 64;
    made.stride_b = 24 * 64;
    made.stride_c = 24 * 48;
    return made;
  }
  CUcontext context_of_test() const { return context_; }
  // Ends the test's handle before the test does.
  void destroy_handle() {
    EXPECT_EQ(cublasDestroy_v2(handle_), CUBLAS_STATUS_SUCCESS);
    handle_ = nullptr;
  }

 private:
  CUcontext context_ = nullptr;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace bwgemm::test
