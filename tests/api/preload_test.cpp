// SPDX-License-Identifier: Apache-2.0
// After bwgemmPreload the first calls, captured ones too, load and allocate nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "families/helpers.h"
#include "families/variants.h"
#include "support/fake_gemm.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

bwgemmMatmulDesc_t split_desc() {
  return MatmulCall::split().desc;
}

MatmulCall call_of(const bwgemmMatmulDesc_t& desc) {
  MatmulCall call;
  call.desc = desc;
  return call;
}

class Preload : public FakeHandleTest {
 protected:
  // Calls and forgets what the driver was asked before.
  void expect_nothing_is_made(const MatmulCall& call, const char* when) {
    fake_cuda().reset();
    EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    EXPECT_GT(fake_cuda().launches(), 0) << when;
    for (const char* entry : {"cuLibraryLoadData", "cuMemAlloc", "cuStreamCreate"})
      EXPECT_EQ(fake_cuda().calls(entry), 0) << when << ": " << entry;
  }

  void expect_captured_without_allocation(const MatmulCall& call, bool expected) {
    begin_capture();
    fake_cuda().reset();
    EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    EXPECT_EQ(fake_cuda().calls("cuMemAlloc") == 0, expected);
    end_capture();
  }

  void begin_capture() {
    check(driver().stream_begin_capture(stream_.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  }
  void end_capture() {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver().stream_end_capture(stream_.get(), &graph), CUDA_SUCCESS);
    if (graph != nullptr) graphs_.push_back(std::make_unique<Graph>(graph));
  }

  void use_stream() { ASSERT_EQ(bwgemmSetStream(handle(), stream_.get()), BWGEMM_STATUS_SUCCESS); }
  void TearDown() override {
    EXPECT_EQ(bwgemmSetStream(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
    stream_.reset();
    graphs_.clear();
    FakeHandleTest::TearDown();
  }
  struct LateStream {
    std::unique_ptr<Stream> stream;
    CUstream get() {
      if (!stream) stream = std::make_unique<Stream>();
      return stream->get();
    }
    void reset() { stream.reset(); }
  } stream_;
  std::vector<std::unique_ptr<Graph>> graphs_;  // which keep what was captured
};

TEST_F(Preload, MakesTheFirstCallLikeLaterOnes) {
  MatmulCall unaligned;
  unaligned.desc.m = 61, unaligned.desc.n = 35, unaligned.desc.k = 77;
  unaligned.desc.lda = unaligned.desc.ldb = 79, unaligned.desc.ldc = unaligned.desc.ldd = 63;
  for (const bwgemmMatmulDesc_t& desc :
       {MatmulCall().desc, MatmulCall::batched().desc, split_desc(), unaligned.desc,
        MatmulCall::copied().desc, MatmulCall::with_gradient().desc}) {
    fake_cuda().reset();
    ASSERT_EQ(bwgemmPreload(handle(), &desc), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    EXPECT_EQ(fake_cuda().launches(), 0);
    MatmulCall call = call_of(desc);
    expect_nothing_is_made(call, "beta 0");
    call.beta = &MatmulCall::one, call.c = call.d;
    expect_nothing_is_made(call, "beta 1");
  }
}

// C apart from D, in a form that not every kernel can load: some of these take another kernel then.
TEST_F(Preload, ForAnyBetaWhereThereIsAC) {
  int others = 0;
  for (const std::int64_t m : {256, 1024, 2048, 4096})
    for (const std::int64_t k : {32, 64, 128}) {
      MatmulCall call;
      call.desc.m = call.desc.n = call.desc.ldd = m, call.desc.ldc = m + 1;
      call.desc.k = call.desc.lda = call.desc.ldb = k;
      call.beta = nullptr;
      ASSERT_EQ(bwgemmPreload(handle(), &call.desc), BWGEMM_STATUS_SUCCESS)
          << bwgemmGetLastErrorString();
      expect_nothing_is_made(call, "without C");
      const std::string without = only_launch().kernel;
      call.beta = &MatmulCall::one;
      expect_nothing_is_made(call, "with C");
      others += only_launch().kernel != without ? 1 : 0;
    }
  EXPECT_GT(others, 0);
}

TEST_F(Preload, WithDeviceScalars) {
  ASSERT_EQ(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE), BWGEMM_STATUS_SUCCESS);
  const bwgemmMatmulDesc_t desc = split_desc();
  ASSERT_EQ(bwgemmPreload(handle(), &desc), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  MatmulCall call = call_of(desc);
  call.alpha = device_pointer(0x7f0050000000), call.beta = device_pointer(0x7f0050000004);
  call.c = call.d;
  expect_nothing_is_made(call, "device scalars");
}

TEST_F(Preload, ServesTheNextCapture) {
  use_stream();
  const bwgemmMatmulDesc_t desc = split_desc();
  const MatmulCall call = call_of(desc);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(bwgemmPreload(handle(), &desc), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    expect_captured_without_allocation(call, true);
  }
  expect_captured_without_allocation(call, false);
  expect_nothing_is_made(call, "after captures");
}

// However many there are, and however often they were announced.
TEST_F(Preload, ServesAllCallsOfACapture) {
  use_stream();
  std::vector<bwgemmMatmulDesc_t> descs;
  for (const std::int64_t m : {64, 256, 512, 1024}) {
    descs.push_back(split_desc());
    descs.back().m = descs.back().ldc = descs.back().ldd = m;
  }
  const auto preload = [&] {
    for (const bwgemmMatmulDesc_t& desc : descs)
      ASSERT_EQ(bwgemmPreload(handle(), &desc), BWGEMM_STATUS_SUCCESS)
          << bwgemmGetLastErrorString();
  };
  preload();
  const long memory = fake_cuda().live(Live::memory);
  preload();
  EXPECT_EQ(fake_cuda().live(Live::memory), memory);
  begin_capture();
  for (int i = 0; i < 3; ++i)
    for (const bwgemmMatmulDesc_t& desc : descs) {
      expect_nothing_is_made(call_of(desc), "captured");
      EXPECT_GT(only_launch().params.splits, 1);
    }
  end_capture();
}

TEST_F(Preload, InsideACaptureServesItsCalls) {
  use_stream();
  const bwgemmMatmulDesc_t desc = split_desc();
  begin_capture();
  MatmulCall small = call_of(desc);
  small.desc.k = 1023;
  ASSERT_EQ(matmul(handle(), small), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  ASSERT_EQ(bwgemmPreload(handle(), &desc), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  expect_nothing_is_made(call_of(desc), "after a preload in the capture");
  end_capture();
  expect_captured_without_allocation(call_of(desc), true);
}

// Also of a stream whose id it was not asked for before.
TEST_F(Preload, KeepsACaptureValid) {
  const bwgemmMatmulDesc_t desc = split_desc();
  begin_capture();
  use_stream();
  EXPECT_EQ(bwgemmPreload(handle(), &desc), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(bwgemmPreload(handle(), nullptr), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(fake_cuda().calls("cuStreamGetId"), 0) << "which would invalidate it on a GPU";
  end_capture();
}

TEST_F(Preload, OfEverything) {
  use_stream();
  ASSERT_EQ(bwgemmPreload(handle(), nullptr), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  auto kernels = static_cast<long>(helpers.size());
  for (const KernelConfig& config : kernel_variants) kernels += config.arch == Arch::sm90 ? 1 : 0;
  EXPECT_EQ(fake_cuda().live(Live::libraries), kernels) << "an H200";
  EXPECT_EQ(fake_cuda().launches(), 0);
  for (const bwgemmMatmulDesc_t& desc : {MatmulCall().desc, split_desc(), MatmulCall::copied().desc,
                                         MatmulCall::with_gradient().desc})
    expect_nothing_is_made(call_of(desc), "after everything");
  expect_captured_without_allocation(call_of(split_desc()), true);
}

TEST_F(Preload, AllocatesNoPartialSumsBesideTheCallersWorkspace) {
  const bwgemmMatmulDesc_t plain = MatmulCall().desc;
  ASSERT_EQ(bwgemmPreload(handle(), &plain), BWGEMM_STATUS_SUCCESS);
  const long before = fake_cuda().live(Live::memory);
  bwgemmMatmulDesc_t desc = split_desc();
  desc.workspace = made_up(0x7f0060000000), desc.workspaceSize = std::size_t{16} << 20;
  EXPECT_EQ(bwgemmPreload(handle(), &desc), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(fake_cuda().live(Live::memory), before);
}

TEST_F(Preload, RefusesWhatBwgemmMatmulWould) {
  bwgemmMatmulDesc_t desc = MatmulCall().desc;
  desc.activation = 99;
  EXPECT_EQ(bwgemmPreload(handle(), &desc), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "activation")) << bwgemmGetLastErrorString();
  EXPECT_THAT(bwgemmGetLastErrorString(), ::testing::HasSubstr("bwgemmPreload"));
  desc = MatmulCall().desc;
  desc.structSize = 8;
  EXPECT_EQ(bwgemmPreload(handle(), &desc), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(bwgemmPreload(nullptr, nullptr), BWGEMM_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(fake_cuda().live(Live::libraries), 0);
  desc = MatmulCall().desc;
  desc.m = 0;
  EXPECT_EQ(bwgemmPreload(handle(), &desc), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(fake_cuda().live(Live::libraries), 0) << "there is nothing to load";
}

}  // namespace
}  // namespace bwgemm::test
