// SPDX-License-Identifier: Apache-2.0
// Several devices in one process, alike or not: a handle on each, used in turn, at once, and while
// the other is current. What a handle remembers of its device must not reach the other's.
#include <cstdio>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu/exact_cases.h"
#include "support/matmul_case.h"

namespace bwgemm::test {
namespace {

class SeveralDevices : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    int count = 0;
    check(driver().device_get_count(&count), "cuDeviceGetCount");
    if (count < 2) GTEST_SKIP() << "there is one device";
    check(driver().device_primary_ctx_retain(&second_, 1), "cuDevicePrimaryCtxRetain");
    check(driver().ctx_get_current(&first_), "cuCtxGetCurrent");
  }
  void TearDown() override {
    if (second_ != nullptr)
      check(driver().device_primary_ctx_release(1), "cuDevicePrimaryCtxRelease");
    GpuTest::TearDown();
  }
  CUcontext context(int device) const { return device == 0 ? first_ : second_; }

  static int compute_capability(int device) {
    int major = 0;
    check(
        driver().device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
        "cuDeviceGetAttribute");
    return major;
  }

  struct Handles {
    std::unique_ptr<Handle> of[2];
    bwgemmHandle_t operator[](int device) const { return of[device]->get(); }
  };
  Handles a_handle_on_each() const {
    Handles handles;
    for (const int device : {0, 1}) {
      const CurrentContext scope(context(device));
      handles.of[device] = std::make_unique<Handle>();
    }
    return handles;
  }

 private:
  CUcontext first_ = nullptr, second_ = nullptr;
};

MatmulCase fused(const GemmCase& gemm) {
  MatmulCase matmul{gemm, {}};
  matmul.gemm.alpha = 0x1p-5f;
  matmul.gemm.beta = -0.5f;
  matmul.fusing.activation = BWGEMM_ACTIVATION_SILU;
  matmul.fusing.bias = Bias::along_m;
  matmul.fusing.c_apart = true;
  return matmul;
}

TEST_F(SeveralDevices, AHandleOnEachInTurn) {
  const Handles handles = a_handle_on_each();
  for (const GemmCase& gemm : exact_cases)
    for (const int device : {1, 0}) {
      const CurrentContext scope(context(device));
      run(handles[device], gemm);
    }
}

// The second time each call finds what the first one left: plans, tensor maps, memory for sums.
TEST_F(SeveralDevices, WhatOneRemembersIsNotTheOthers) {
  const Handles handles = a_handle_on_each();
  for (const GemmCase& gemm : exact_cases) {
    const MatmulCase matmul = fused(gemm);
    std::unique_ptr<MatmulOperands> operands[2];
    for (const int device : {0, 1}) {
      const CurrentContext scope(context(device));
      operands[device] = std::make_unique<MatmulOperands>(matmul);
    }
    for (int round = 0; round < 3; ++round)
      for (const int device : {round % 2, 1 - round % 2}) {
        const CurrentContext scope(context(device));
        EXPECT_TRUE(succeeds(operands[device]->call(handles[device])));
        operands[device]->expect_result();
        operands[device]->restore();
      }
    for (const int device : {0, 1}) {
      const CurrentContext scope(context(device));
      operands[device].reset();
    }
  }
}

// The handle knows its device, whatever is current.
TEST_F(SeveralDevices, CalledWhileTheOtherIsCurrent) {
  for (const int device : {0, 1}) {
    const CurrentContext scope(context(device));
    const Handle handle;
    for (const GemmCase& gemm : exact_cases) {
      Operands operands(gemm);
      {
        const CurrentContext elsewhere(context(1 - device));
        EXPECT_TRUE(succeeds(call(handle.get(), gemm, operands)));
      }
      operands.expect_result(" on device " + std::to_string(device));
    }
  }
}

TEST_F(SeveralDevices, OneThreadForEach) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, device = thread % 2] {
      const CurrentContext scope(context(device));
      const Stream stream;
      const Handle handle;
      ASSERT_TRUE(succeeds(bwgemmSetStream(handle.get(), stream.get())));
      for (const GemmCase& gemm : exact_cases) run(handle.get(), gemm);
    });
  for (std::thread& one : threads) one.join();
}

// Both threads use both handles.
TEST_F(SeveralDevices, TwoThreadsShareTheHandles) {
  const Handles handles = a_handle_on_each();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2; ++i) {
        const int device = (thread + i) % 2;
        const CurrentContext scope(context(device));
        for (const GemmCase& gemm : exact_cases) run(handles[device], gemm);
      }
    });
  for (std::thread& one : threads) one.join();
}

TEST_F(SeveralDevices, AStreamOfTheOtherIsRefused) {
  const Handles handles = a_handle_on_each();
  for (const int device : {0, 1}) {
    std::unique_ptr<Stream> own, others;
    {
      const CurrentContext scope(context(device));
      own = std::make_unique<Stream>();
    }
    const CurrentContext scope(context(1 - device));
    others = std::make_unique<Stream>();
    ASSERT_TRUE(succeeds(bwgemmSetStream(handles[device], own->get())));
    EXPECT_EQ(bwgemmSetStream(handles[device], others->get()), BWGEMM_STATUS_INVALID_VALUE);
    EXPECT_NE(std::string(bwgemmGetLastErrorString()).find("stream"), std::string::npos)
        << bwgemmGetLastErrorString();
    CUstream stream = nullptr;
    ASSERT_TRUE(succeeds(bwgemmGetStream(handles[device], &stream)));
    EXPECT_EQ(stream, own->get());
    const CurrentContext back(context(device));
    run(handles[device], exact_cases[0]);
    EXPECT_TRUE(succeeds(bwgemmSetStream(handles[device], nullptr)));
  }
}

// What is captured on one does not keep the other from working, nor is it captured too.
TEST_F(SeveralDevices, WhileTheOtherIsCaptured) {
  const Handles handles = a_handle_on_each();
  const GemmCase& gemm = exact_cases[0];
  const CurrentContext first(context(0));
  const Stream stream;
  Operands captured_operands(gemm);
  ASSERT_TRUE(succeeds(bwgemmSetStream(handles[0], stream.get())));
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
  EXPECT_TRUE(succeeds(call(handles[0], gemm, captured_operands)));
  {
    const CurrentContext second(context(1));
    run(handles[1], exact_cases[2]);
  }
  CUgraph captured = nullptr;
  check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
  const Graph graph(captured);
  graph.launch(stream.get());
  captured_operands.expect_result(" of a graph");
  EXPECT_TRUE(succeeds(bwgemmSetStream(handles[0], nullptr)));
}

// A file for both: each entry serves its own kind of device, and what one found is no algo of a
// device of another kind.
TEST_F(SeveralDevices, TunedInOneFile) {
  const std::string file = ::testing::TempDir() + "bwgemm_two_devices.tuning";
  std::remove(file.c_str());
  const Handles handles = a_handle_on_each();
  const float one = 1, zero = 0;
  std::int64_t found[2];
  for (int round = 0; round < 2; ++round)
    for (const int device : {0, 1}) {
      const CurrentContext scope(context(device));
      ASSERT_TRUE(succeeds(bwgemmSetTuningCache(handles[device], file.c_str())));
      Operands operands(exact_cases[0]);
      bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
      desc.m = exact_cases[0].m, desc.n = exact_cases[0].n, desc.k = exact_cases[0].k;
      desc.lda = operands.a().ld(), desc.ldb = operands.b().ld();
      desc.ldc = desc.ldd = operands.c_before().ld();
      const bwgemmAutotuneOptions_t options = {sizeof options, 2, 1, 0, 0};
      void* const d = operands.c_pointer();
      if (round == 0) {
        EXPECT_TRUE(succeeds(bwgemmMatmulAutotune(handles[device], &desc, &one,
                                                  operands.a_pointer(), operands.b_pointer(), &zero,
                                                  d, d, &options, &found[device])));
      } else {
        const bool is_alike = compute_capability(0) == compute_capability(1);
        desc.algo = found[1 - device];
        EXPECT_EQ(bwgemmMatmul(handles[device], &desc, &one, operands.a_pointer(),
                               operands.b_pointer(), &zero, d, d),
                  is_alike ? BWGEMM_STATUS_SUCCESS : BWGEMM_STATUS_NOT_SUPPORTED)
            << bwgemmGetLastErrorString();
        EXPECT_TRUE(succeeds(call(handles[device], exact_cases[0], operands)));
      }
      operands.expect_result(" on device " + std::to_string(device));
    }
  std::remove(file.c_str());
}

}  // namespace
}  // namespace bwgemm::test
