// SPDX-License-Identifier: Apache-2.0
// A handle over the test double with a stream of its own for captures, and what calls asked of the
// driver.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string_view>

#include "support/fake_gemm.h"

namespace bwgemm::test {

class CapturingTest : public FakeHandleTest {
 protected:
  void TearDown() override {
    EXPECT_EQ(bwgemmSetStream(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
    stream_.reset();
    FakeHandleTest::TearDown();
  }

  void begin_capture() {
    if (stream_ == nullptr) stream_ = std::make_unique<Stream>();
    ASSERT_EQ(bwgemmSetStream(handle(), stream_->get()), BWGEMM_STATUS_SUCCESS);
    check(driver().stream_begin_capture(stream_->get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  }
  std::unique_ptr<Graph> end_capture() {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver().stream_end_capture(stream_->get(), &graph), CUDA_SUCCESS)
        << "the capture was invalidated";
    return graph != nullptr ? std::make_unique<Graph>(graph) : nullptr;
  }
  CUstream stream() const { return stream_->get(); }

  static void expect_nothing_is_made(const char* when) {
    for (const char* entry : {"cuLibraryLoadData", "cuMemAlloc", "cuStreamCreate"})
      EXPECT_EQ(fake_cuda().calls(entry), 0) << when << ": " << entry;
  }

  // The number of the call of the entry that was the n-th since reset.
  static long call_of(std::string_view entry, int n) {
    for (long call = 1; call <= fake_cuda().calls(nullptr); ++call)
      if (fake_cuda().call_name(call) == entry && --n == 0) return call;
    ADD_FAILURE() << entry << " was not called so often";
    return 0;
  }

 private:
  std::unique_ptr<Stream> stream_;
};

}  // namespace bwgemm::test
