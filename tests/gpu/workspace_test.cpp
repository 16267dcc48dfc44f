// SPDX-License-Identifier: Apache-2.0
// Workspace: the caller's is used within its bounds, none at all is enough for everything, and
// results do not change from run to run.
#include <gtest/gtest.h>

#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

class Workspace : public HandleTest {
 protected:
  static std::vector<GemmCase> problems() {
    const std::int64_t deep = small_scale() ? 2048 : 24576;
    return {{.m = 72, .n = 40, .k = deep, .output = Dtype::f32, .ld_multiple = 8},
            {.m = 64, .n = 64, .k = deep - 1},
            {.m = 129,
             .n = 65,
             .k = (small_scale() ? deep / 2 : deep) + 3,
             .input = Dtype::f16,
             .output = Dtype::f16},
            {.m = 264, .n = 136, .k = 520, .beta = 1, .ld_multiple = 8}};
  }

  std::size_t size_of(const GemmCase& gemm, const Operands& operands) {
    std::size_t size = ~std::size_t{0};
    EXPECT_TRUE(succeeds(bwgemmGetWorkspaceSize(
        handle(), gemm.transa, gemm.transb, gemm.m, gemm.n, gemm.k, &gemm.alpha,
        operands.a_pointer(), c_type(gemm.input), operands.a().ld(), operands.b_pointer(),
        c_type(gemm.input), operands.b().ld(), &gemm.beta, operands.c_pointer(),
        c_type(gemm.output), operands.c_before().ld(), BWGEMM_COMPUTE_32F, -1, &size)));
    return size;
  }
};

TEST_F(Workspace, NewHandlesHaveTheLibrarys) {
  void* workspace = &workspace;
  std::size_t size = 1;
  EXPECT_TRUE(succeeds(bwgemmGetWorkspace(handle(), &workspace, &size)));
  EXPECT_EQ(workspace, nullptr);
  EXPECT_EQ(size, std::size_t{32} << 20);
}

TEST_F(Workspace, NoneIsEnoughForEverything) {
  ASSERT_TRUE(succeeds(bwgemmSetWorkspace(handle(), nullptr, 0)));
  for (const GemmCase& gemm : problems()) {
    run(handle(), gemm);
    GemmCase exact = gemm;
    exact.fill = Fill::integers;
    run(handle(), exact);
  }
}

// Of every size from nothing to more than enough; a guarded buffer shows writes beside it.
TEST_F(Workspace, TheCallersIsUsedWithinItsBounds) {
  for (GemmCase gemm : problems()) {
    gemm.fill = Fill::integers;
    Operands operands(gemm);
    const std::size_t wanted = size_of(gemm, operands);
    ASSERT_LE(wanted, std::size_t{1} << 30) << gemm;
    for (const std::size_t size :
         {std::size_t{256}, wanted / 2 / 256 * 256, wanted, wanted + 4096}) {
      if (size == 0) continue;
      GuardedBuffer buffer(Matrix(Dtype::f32, static_cast<std::int64_t>(size / 4), 1,
                                  static_cast<std::int64_t>(size / 4)));
      ASSERT_TRUE(succeeds(bwgemmSetWorkspace(handle(), buffer.pointer(), size)));
      void* stored = nullptr;
      std::size_t stored_size = 0;
      EXPECT_TRUE(succeeds(bwgemmGetWorkspace(handle(), &stored, &stored_size)));
      EXPECT_EQ(stored, buffer.pointer());
      EXPECT_EQ(stored_size, size);
      for (int i = 0; i < 3; ++i) {
        operands.device_c().upload();
        ASSERT_TRUE(succeeds(call(handle(), gemm, operands))) << gemm << " size " << size;
      }
      operands.expect_result(" with a workspace of " + std::to_string(size));
      buffer.download();
      EXPECT_EQ(buffer.damage(), "") << gemm << " size " << size;
      ASSERT_TRUE(succeeds(bwgemmSetWorkspace(handle(), nullptr, 0)));
    }
  }
}

TEST_F(Workspace, RepeatedRunsAreEqualBitForBit) {
  for (const GemmCase& gemm : problems()) {
    Operands operands(gemm);
    ASSERT_TRUE(succeeds(call(handle(), gemm, operands)));
    operands.expect_result();
    const std::vector<std::byte> first = operands.device_c().download().bytes();
    for (int i = 0; i < (small_scale() ? 2 : 20); ++i) {
      operands.device_c().upload();
      ASSERT_TRUE(succeeds(call(handle(), gemm, operands)));
      ASSERT_EQ(operands.device_c().download().bytes(), first) << gemm << " run " << i;
    }
    const Handle other;
    operands.device_c().upload();
    ASSERT_TRUE(succeeds(call(other.get(), gemm, operands)));
    EXPECT_EQ(operands.device_c().download().bytes(), first) << gemm << " with another handle";
  }
}

TEST_F(Workspace, TheSizeDependsOnNoPointerContents) {
  const float alpha = 1, beta = 0;
  std::size_t size = ~std::size_t{0};
  EXPECT_TRUE(succeeds(bwgemmGetWorkspaceSize(
      handle(), BWGEMM_OP_T, BWGEMM_OP_N, 0, 64, 64, &alpha, nullptr, BWGEMM_R_16BF, 64, nullptr,
      BWGEMM_R_16BF, 64, &beta, nullptr, BWGEMM_R_16BF, 64, BWGEMM_COMPUTE_32F, -1, &size)));
  EXPECT_EQ(size, 0u) << "an empty result needs no workspace";
}

}  // namespace
}  // namespace bwgemm::test
