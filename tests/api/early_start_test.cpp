// SPDX-License-Identifier: Apache-2.0
// Which kernels start during the tail of the one before them, over the test double.
#include <gtest/gtest.h>
#include <vector>

#include "support/fake_gemm.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

class EarlyStart : public FakeHandleTest {
 protected:
  // Whether each of the calls, of squares of these sizes, may start early.
  std::vector<bool> starts(const std::vector<std::int64_t>& sizes, bool always = false) const {
    std::vector<bool> early;
    for (const std::int64_t size : sizes) {
      fake_cuda().reset();
      MatmulCall call;
      call.desc.m = call.desc.n = call.desc.k = size;
      call.desc.lda = call.desc.ldb = call.desc.ldc = call.desc.ldd = size;
      EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
      early.push_back(only_launch().overlaps);
      EXPECT_EQ(only_launch().params.lets_next_start, always || size == short_size) << size;
    }
    return early;
  }

  static constexpr std::int64_t short_size = 64, long_size = 4096;
};

TEST_F(EarlyStart, IsForAllButLongKernelsBehindShortOnes) {
  EXPECT_EQ(starts({long_size, long_size, short_size, short_size, long_size, long_size}),
            (std::vector<bool>{true, true, true, true, false, true}));
}

TEST_F(EarlyStart, IsForAllOrNoneWhereTheProgramSaysSo) {
  for (const bool all : {true, false}) {
    ASSERT_EQ(bwgemmSetProgrammaticLaunch(handle(), all ? 1 : 0), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(starts({long_size, short_size, long_size}, all), (std::vector<bool>{all, all, all}));
  }
}

// Two kernels beside each other would occupy more multiprocessors than the call may.
TEST_F(EarlyStart, IsForNoneWithATargetOfMultiprocessors) {
  ASSERT_EQ(bwgemmSetSmCountTarget(handle(), 64), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(starts({long_size, short_size}), (std::vector<bool>{false, false}));
  ASSERT_EQ(bwgemmSetSmCountTarget(handle(), 0), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(starts({long_size, short_size}), (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace bwgemm::test
