// SPDX-License-Identifier: Apache-2.0
// Which kernels start during the tail of the one before them, over the test double.
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "support/fake_gemm.h"
#include "support/matmul_call.h"
#include "support/subprocess.h"
#include "support/variable.h"

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
      const NextStart by_itself =
          size == short_size ? NextStart::when_loaded : NextStart::when_gone;
      EXPECT_EQ(only_launch().params.next_start, always ? NextStart::when_multiplied : by_itself)
          << size;
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

TEST_F(EarlyStart, IsAsTheEnvironmentSaysInNewHandles) {
  const std::pair<const char*, int> settings[] = {{"0", 0}, {"1", 1}, {"auto", -1}, {"", -1}};
  for (const auto& [value, wanted] : settings) {
    const Variable variable("BWGEMM_PROGRAMMATIC_LAUNCH", value);
    bwgemmHandle_t other = nullptr;
    ASSERT_EQ(bwgemmCreate(&other), BWGEMM_STATUS_SUCCESS);
    int setting = 7;
    EXPECT_EQ(bwgemmGetProgrammaticLaunch(other, &setting), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(setting, wanted) << value;
    EXPECT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);
  }
}

TEST_F(EarlyStart, IsForNoneOnBlackwellUnlessTheProgramSaysSo) {
  const ProcessResult result =
      run_self("EarlyStartProbe.DISABLED_OnBlackwell", {{"FAKE_CUDA_DEVICE", "b200"}});
  EXPECT_TRUE(result.passed()) << result.output;
}

using EarlyStartProbe = EarlyStart;
TEST_F(EarlyStartProbe, DISABLED_OnBlackwell) {
  EXPECT_EQ(starts({long_size, short_size}), (std::vector<bool>{false, false}));
  ASSERT_EQ(bwgemmSetProgrammaticLaunch(handle(), 1), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(starts({long_size, short_size}, true), (std::vector<bool>{true, true}));
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
