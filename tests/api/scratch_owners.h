// SPDX-License-Identifier: Apache-2.0
// Which scratch memory calls get, over the test double: a kernel is forced that splits k, and its
// parameters tell where it adds up.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "support/fake_gemm.h"
#include "support/variable.h"

namespace bwgemm::test {

inline void begin(const Stream& stream, CUstreamCaptureMode mode) {
  check(driver().stream_begin_capture(stream.get(), mode), "cuStreamBeginCapture");
}

// Ends a capture that must be valid.
inline std::unique_ptr<Graph> end(const Stream& stream) {
  CUgraph captured = nullptr;
  EXPECT_EQ(driver().stream_end_capture(stream.get(), &captured), CUDA_SUCCESS)
      << "the capture was invalidated";
  return captured != nullptr ? std::make_unique<Graph>(captured) : nullptr;
}

struct Scratch {
  const float* partials;
  const std::uint32_t* arrivals;
  bool operator==(const Scratch&) const = default;
};

class ScratchOwners : public FakeHandleTest {
 protected:
  void SetUp() override {
    const Variable forced("BWGEMM_FORCE_KERNEL", "bwgemm_sm90_b16_64x64x32_direct");
    FakeHandleTest::SetUp();
  }
  // Scratch of a split call on the handle's stream now.
  Scratch used() {
    fake_cuda().reset();
    EXPECT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS)
        << bwgemmGetLastErrorString();
    const FakeLaunch& launch = only_launch();
    EXPECT_GT(launch.params.splits, 1) << "the problem is not split: " << launch.kernel;
    EXPECT_NE(launch.params.arrivals, nullptr);
    return {launch.params.partials, launch.params.arrivals};
  }
  Scratch used_on(CUstream stream) {
    EXPECT_EQ(bwgemmSetStream(handle(), stream), BWGEMM_STATUS_SUCCESS);
    return used();
  }

  // Bytes of the partial sums of the last such launch.
  static std::size_t partials_bytes() {
    const auto& params = fake_cuda().launch(0)->params;
    return params.splits > 1 ? static_cast<std::size_t>(params.splits) * 64 * 64 * 4 : 0;
  }
  // Whether the byte lies in memory of the driver.
  static bool is_allocated(const float* memory, std::size_t byte) {
    return driver().memset_d16(reinterpret_cast<CUdeviceptr>(memory) + byte, 0, 1) == CUDA_SUCCESS;
  }

  // Floats and counters of one such launch, which no two owners may share any of.
  static void expect_apart(const std::vector<Scratch>& owners) {
    const FakeLaunch& launch = *fake_cuda().launch(0);
    const std::int64_t tiles = 1;  // 64 x 64
    const std::int64_t floats = launch.params.splits * tiles * 64 * 64;
    for (std::size_t i = 0; i < owners.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_GE(std::abs(owners[i].partials - owners[j].partials), floats) << i << " and " << j;
        EXPECT_GE(std::abs(owners[i].arrivals - owners[j].arrivals), tiles) << i << " and " << j;
      }
  }
};

}  // namespace bwgemm::test
