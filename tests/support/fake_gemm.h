// SPDX-License-Identifier: Apache-2.0
// Calls of the library over the test double: GemmArguments with defaults that are legal, passed to
// any of the entries, and the fixture of all tests that use the double.
#pragma once

#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "bwgemm/bwgemm.h"
#include "support/driver.h"
#include "support/fake_cuda.h"

namespace bwgemm::test {

// Looks like device memory to the library, which never reads it.
inline void* device_pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}
inline const void* moved(const void* pointer, std::uintptr_t bytes) {
  return device_pointer(reinterpret_cast<std::uintptr_t>(pointer) + bytes);
}

struct GemmArguments {
  bwgemmOperation_t transa = BWGEMM_OP_T, transb = BWGEMM_OP_N;
  std::int64_t m = 256, n = 256, k = 256;
  const void* alpha = &one;
  const void* a = device_pointer(0x7f0000000000);
  bwgemmDataType_t a_type = BWGEMM_R_16BF;
  std::int64_t lda = 256, stride_a = 65536;
  const void* b = device_pointer(0x7f0010000000);
  bwgemmDataType_t b_type = BWGEMM_R_16BF;
  std::int64_t ldb = 256, stride_b = 65536;
  const void* beta = &zero;
  void* c = device_pointer(0x7f0020000000);
  bwgemmDataType_t c_type = BWGEMM_R_16BF;
  std::int64_t ldc = 256, stride_c = 65536;
  std::int64_t batch_count = 3;
  bwgemmComputeType_t compute_type = BWGEMM_COMPUTE_32F;
  int algo = -1;
  std::size_t* workspace_size = nullptr;
  char* text = nullptr;
  std::size_t text_size = 0;

  static constexpr float zero = 0, one = 1;

  // A deep problem with a small result that TMA cannot load, nor copies of it, as lines of B are
  // too short: split over k, whatever other kernels there are.
  static GemmArguments split() {
    GemmArguments gemm;
    gemm.transb = BWGEMM_OP_T;
    gemm.m = gemm.ldc = 64;
    gemm.n = gemm.ldb = 7;
    gemm.k = gemm.lda = 16383;
    gemm.stride_a = gemm.stride_b = 64 * 16383;
    return gemm;
  }
  // One that TMA cannot load, but copies of A and B, which save more than they cost.
  static GemmArguments copied() {
    GemmArguments gemm;
    gemm.m = gemm.n = gemm.ldc = 1024;
    gemm.k = gemm.lda = gemm.ldb = 1033;
    gemm.stride_a = gemm.stride_b = 1024 * 1033;
    gemm.stride_c = 1024 * 1024;
    return gemm;
  }
  // One that TMA cannot load, too small for copies.
  static GemmArguments unaligned() {
    GemmArguments gemm;
    gemm.m = 61, gemm.n = 35, gemm.k = 77;
    gemm.lda = gemm.ldb = 79;
    gemm.ldc = 63;
    return gemm;
  }
};

inline bwgemmStatus_t gemm_ex(bwgemmHandle_t handle, const GemmArguments& g) {
  return bwgemmGemmEx(handle, g.transa, g.transb, g.m, g.n, g.k, g.alpha, g.a, g.a_type, g.lda, g.b,
                      g.b_type, g.ldb, g.beta, g.c, g.c_type, g.ldc, g.compute_type, g.algo);
}

inline bwgemmStatus_t gemm_batched(bwgemmHandle_t handle, const GemmArguments& g) {
  return bwgemmGemmStridedBatchedEx(handle, g.transa, g.transb, g.m, g.n, g.k, g.alpha, g.a,
                                    g.a_type, g.lda, g.stride_a, g.b, g.b_type, g.ldb, g.stride_b,
                                    g.beta, g.c, g.c_type, g.ldc, g.stride_c, g.batch_count,
                                    g.compute_type, g.algo);
}

inline bwgemmStatus_t gemm_bf16(bwgemmHandle_t handle, const GemmArguments& g) {
  return bwgemmBf16(handle, g.transa, g.transb, g.m, g.n, g.k, static_cast<const float*>(g.alpha),
                    g.a, g.lda, g.b, g.ldb, static_cast<const float*>(g.beta), g.c, g.ldc);
}

inline bwgemmStatus_t gemm_f16(bwgemmHandle_t handle, const GemmArguments& g) {
  return bwgemmF16(handle, g.transa, g.transb, g.m, g.n, g.k, static_cast<const float*>(g.alpha),
                   g.a, g.lda, g.b, g.ldb, static_cast<const float*>(g.beta), g.c, g.ldc);
}

inline bwgemmStatus_t workspace_size(bwgemmHandle_t handle, const GemmArguments& g) {
  return bwgemmGetWorkspaceSize(handle, g.transa, g.transb, g.m, g.n, g.k, g.alpha, g.a, g.a_type,
                                g.lda, g.b, g.b_type, g.ldb, g.beta, g.c, g.c_type, g.ldc,
                                g.compute_type, g.algo, g.workspace_size);
}

inline bwgemmStatus_t explain(bwgemmHandle_t handle, const GemmArguments& g) {
  return bwgemmExplain(handle, g.transa, g.transb, g.m, g.n, g.k, g.alpha, g.a, g.a_type, g.lda,
                       g.b, g.b_type, g.ldb, g.beta, g.c, g.c_type, g.ldc, g.compute_type, g.algo,
                       g.text, g.text_size);
}

struct GemmEntry {
  const char* name;
  bwgemmStatus_t (*call)(bwgemmHandle_t, const GemmArguments&);
  bool has_types, has_batch, launches;
};

inline constexpr std::array gemm_entries = {
    GemmEntry{"bwgemmGemmEx", gemm_ex, true, false, true},
    GemmEntry{"bwgemmGemmStridedBatchedEx", gemm_batched, true, true, true},
    GemmEntry{"bwgemmBf16", gemm_bf16, false, false, true},
    GemmEntry{"bwgemmF16", gemm_f16, false, false, true},
    GemmEntry{"bwgemmGetWorkspaceSize", workspace_size, true, false, false},
    GemmEntry{"bwgemmExplain", explain, true, false, false},
};

// Whether the word stands in the text as a word of its own.
inline bool mentions(std::string_view text, std::string_view word) {
  const auto is_part = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if (!(at > 0 && is_part(at - 1)) && !is_part(at + word.size())) return true;
  return false;
}

// Each test starts with the primary context current and a clean log, and ends with nothing left
// alive in the driver and no misuse of it.
class FakeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    check(driver().init(0), "cuInit");
    check(driver().device_primary_ctx_retain(&context_, 0), "cuDevicePrimaryCtxRetain");
    check(driver().ctx_set_current(context_), "cuCtxSetCurrent");
    fake_cuda().reset();
  }

  void TearDown() override {
    EXPECT_EQ(fake_cuda().misuse(0), nullptr) << fake_cuda().misuse(0);
    fake_cuda().reset();
    EXPECT_EQ(current(), context_) << "the caller's context was not restored";
    check(driver().ctx_set_current(nullptr), "cuCtxSetCurrent");
    check(driver().device_primary_ctx_release(0), "cuDevicePrimaryCtxRelease");
    expect_nothing_alive("at the end");
  }

  static CUcontext current() {
    CUcontext context = nullptr;
    check(driver().ctx_get_current(&context), "cuCtxGetCurrent");
    return context;
  }

  static void expect_nothing_alive(const std::string& when, long primary_references = 0) {
    const FakeCuda& fake = fake_cuda();
    EXPECT_EQ(fake.live(Live::memory), 0) << "device memory leaks " << when;
    EXPECT_EQ(fake.live(Live::streams), 0) << "streams leak " << when;
    EXPECT_EQ(fake.live(Live::libraries), 0) << "kernels stay loaded " << when;
    EXPECT_EQ(fake.live(Live::contexts), 0) << "contexts leak " << when;
    EXPECT_EQ(fake.live(Live::graphs), 0) << "graphs leak " << when;
    EXPECT_EQ(fake.live(Live::events), 0) << "events leak " << when;
    EXPECT_EQ(fake.live(Live::primary_references), primary_references)
        << "references to the primary context " << when;
  }

  CUcontext context() const { return context_; }

 private:
  CUcontext context_ = nullptr;
};

// With a handle of the primary context.
class FakeHandleTest : public FakeTest {
 protected:
  void SetUp() override {
    FakeTest::SetUp();
    ASSERT_EQ(bwgemmCreate(&handle_), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    fake_cuda().reset();
  }
  void TearDown() override {
    EXPECT_EQ(bwgemmDestroy(handle_), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    FakeTest::TearDown();
  }
  bwgemmHandle_t handle() const { return handle_; }

 private:
  bwgemmHandle_t handle_ = nullptr;
};

// The launch that a call made: the only one since reset.
inline const FakeLaunch& only_launch() {
  static const FakeLaunch none{};
  EXPECT_EQ(fake_cuda().launches(), 1);
  const FakeLaunch* launch = fake_cuda().launch(0);
  return launch != nullptr ? *launch : none;
}

}  // namespace bwgemm::test
