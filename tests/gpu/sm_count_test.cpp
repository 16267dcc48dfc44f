// SPDX-License-Identifier: Apache-2.0
// The number of multiprocessors that calls may occupy: stored as given, and results stay right.
#include <gtest/gtest.h>

#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

using SmCount = HandleTest;

TEST_F(SmCount, TargetsAreStored) {
  int stored = -1;
  EXPECT_TRUE(succeeds(bwgemmGetSmCountTarget(handle(), &stored)));
  EXPECT_EQ(stored, 0);
  for (const int target : {1, 7, 100000, 0}) {
    EXPECT_TRUE(succeeds(bwgemmSetSmCountTarget(handle(), target)));
    EXPECT_TRUE(succeeds(bwgemmGetSmCountTarget(handle(), &stored)));
    EXPECT_EQ(stored, target);
  }
}

TEST_F(SmCount, ResultsAreRightOnFewMultiprocessors) {
  const int all = device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  for (const int target : {1, 2, 3, all / 2, all - 1, all, all + 1, 100000}) {
    ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(handle(), target)));
    GemmCase gemm{.m = small_scale() ? 264 : 776,
                  .n = small_scale() ? 136 : 1032,
                  .k = 136,
                  .beta = 1,
                  .ld_multiple = 8,
                  .fill = Fill::integers};
    SCOPED_TRACE("target " + std::to_string(target));
    run(handle(), gemm);
    gemm.transa = gemm.transb = BWGEMM_OP_T;
    gemm.output = Dtype::f32;
    run(handle(), gemm);
    run(handle(), {.m = 72,
                   .n = 40,
                   .k = 4096,
                   .output = Dtype::f32,
                   .ld_multiple = 8,
                   .fill = Fill::integers});
    run(handle(), {.m = 131, .n = 67, .k = 77, .a_displacement = 1, .fill = Fill::integers});
  }
}

}  // namespace
}  // namespace bwgemm::test
