// SPDX-License-Identifier: Apache-2.0
// Host memory that ends anywhere: what began is undone, what was to be freed is freed.
#include "api/heap.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "support/fake_gemm.h"
#include "support/subprocess.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

class HeapEnds : public FakeTest {
 protected:
  void SetUp() override {
    if (!has_own_heap) GTEST_SKIP() << "sanitizers bring a malloc of their own";
    FakeTest::SetUp();
  }
  void TearDown() override {
    if (!IsSkipped()) FakeTest::TearDown();
  }

  // Runs the body again and again; in the n-th run the n-th allocation finds no memory. Ends when
  // there is none left to fail.
  template <class Body>
  static void everywhere(const Body& body) {
    constexpr long limit = 100000;
    long n = 1;
    for (bool has_failed = true; has_failed && n < limit && !HasFailure(); ++n)
      has_failed = body(n);
    EXPECT_GT(n, 3) << "the body allocates nothing";
    EXPECT_LT(n, limit);
  }
};

// With a tuning cache, whose file is read then.
TEST_F(HeapEnds, InCreate) {
  std::string path = (std::filesystem::temp_directory_path() / "bwgemm_heap_XXXXXX").string();
  close(mkstemp(path.data()));
  std::ofstream(path) << "bwgemm tuning cache 1\na damaged line\n";
  const Variable cache("BWGEMM_TUNING_CACHE", path);
  everywhere([&](long n) {
    bwgemmHandle_t handle = nullptr;
    fail_allocation(n);
    const bwgemmStatus_t status = bwgemmCreate(&handle);
    const bool has_failed = has_failed_allocation();
    fail_allocation(0);
    if (status != BWGEMM_STATUS_SUCCESS) {
      EXPECT_EQ(status, BWGEMM_STATUS_ALLOC_FAILED) << n;
      EXPECT_EQ(handle, nullptr) << n;
    }
    if (handle != nullptr) {
      EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS) << n;
    }
    expect_nothing_alive("where allocation " + std::to_string(n) + " fails", 1);
    return has_failed;
  });
  std::filesystem::remove(path);
}

// The log, which composes lines, is read once in a process.
TEST(HeapEndsLogged, InDestroy) {
  if (!has_own_heap) GTEST_SKIP() << "sanitizers bring a malloc of their own";
  const ProcessResult result =
      run_self("HeapEndsProbe.DISABLED_*",
               {{"BWGEMM_LOG_LEVEL", "trace"}, {"BWGEMM_LOG_FILE", "/dev/null"}});
  EXPECT_TRUE(result.passed()) << result.output;
}

using HeapEndsProbe = HeapEnds;

TEST_F(HeapEndsProbe, DISABLED_InDestroy) {
  everywhere([&](long n) {
    bwgemmHandle_t handle = nullptr;
    EXPECT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(gemm_ex(handle, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
    fake_cuda().reset();
    fail_allocation(n);
    const bwgemmStatus_t status = bwgemmDestroy(handle);
    const bool has_failed = has_failed_allocation();
    fail_allocation(0);
    EXPECT_EQ(status, BWGEMM_STATUS_SUCCESS) << n;
    EXPECT_EQ(fake_cuda().calls("cuCtxSynchronize"), 1) << n;
    expect_nothing_alive("where allocation " + std::to_string(n) + " fails", 1);
    return has_failed;
  });
}

// A warm call allocates only to be logged, and is not to fail for that in the midst of its
// launches.
TEST_F(HeapEndsProbe, DISABLED_InALoggedCall) {
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(gemm_ex(handle, GemmArguments::copied()), BWGEMM_STATUS_SUCCESS);
  everywhere([&](long n) {
    fake_cuda().reset();
    fail_allocation(n);
    const bwgemmStatus_t status = gemm_ex(handle, GemmArguments::copied());
    const bool has_failed = has_failed_allocation();
    fail_allocation(0);
    EXPECT_EQ(status, BWGEMM_STATUS_SUCCESS) << n;
    EXPECT_EQ(fake_cuda().launches(), 2) << n;
    return has_failed;
  });
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

}  // namespace
}  // namespace bwgemm::test
