// SPDX-License-Identifier: Apache-2.0
// The kernels for one row, forced: every alignment, strides between elements, ends of k inside
// whatever is loaded at once, columns that end inside a tile, splits in memory and in clusters,
// batches.
// What lies beside the operands is NaN: an element too many would show.
#include <gtest/gtest.h>
#include <limits>

#include "families/variants.h"
#include "gpu/row_problems.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

class Vectors : public GpuTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (device_arch() != Arch::sm90) GTEST_SKIP() << "compute capability 9.0 alone has this kernel";
    for (const KernelConfig& row : kernel_variants)
      if (row.family == Family::dot && dot::is_of_vectors(row) && row.tile.n == GetParam())
        row_ = &row;
    ASSERT_NE(row_, nullptr);
  }

  GemmCase problem(std::int64_t n, std::int64_t k, Major a = Major::k) const {
    GemmCase gemm = gemm_of(*row_, 1, n, k, a, Major::k);
    gemm.ld_multiple = 8;
    gemm.seed = static_cast<unsigned>(k);
    return gemm;
  }
  // As many splits as are asked for, in clusters if that can be.
  std::unique_ptr<Handle> forced(int splits, const char* sums = "memory") const {
    const Variable kernel("BWGEMM_FORCE_KERNEL", kernel_name(*row_).c_str());
    const Variable forced_splits("BWGEMM_FORCE_SPLITS", std::to_string(splits).c_str());
    const Variable place("BWGEMM_FORCE_SUMS", sums);
    return std::make_unique<Handle>();
  }
  std::int64_t step() const { return row_->tile.k; }
  static std::int64_t several_columns(int i) { return 1 + i % (2 * GetParam() + 1); }

 private:
  const KernelConfig* row_ = nullptr;
};

constexpr std::int64_t ends[] = {1, 7, 8, 9, 255, 2040, 2047, 2048, 2049, 2056, 8191, 8192, 8200};

TEST_P(Vectors, EveryAlignmentAndEveryEnd) {
  const auto handle = forced(1);
  int i = 0;
  for (const std::int64_t k : ends)
    for (int a = 0; a < 8; ++a, ++i) {
      if (small_scale() && (i + a) % 3 != 0) continue;
      GemmCase gemm = problem(several_columns(i), k);
      gemm.a_displacement = i % 2 == 0 ? a : 0;
      gemm.b_displacement = i % 4 < 2 ? a : 0;
      gemm.nothing_behind = i % 5 == 0;
      gemm.fill = Fill::integers;
      gemm.input = i % 2 == 0 ? Dtype::bf16 : Dtype::f16;
      gemm.output = i % 4 < 2 ? gemm.input : Dtype::f32;
      gemm.beta = i % 3 == 1 ? -0.5f : 0.0f;
      if (gemm.beta == 0) gemm.fill_c = Fill::poison;
      run(handle->get(), gemm);
    }
}

TEST_P(Vectors, ElementsApart) {
  for (const int splits : {1, 3}) {
    const auto handle = forced(splits, "cluster");
    for (const std::int64_t k : {300, 6001})
      for (const int extra : {0, 3}) {
        GemmCase gemm = problem(GetParam() + 1, k, Major::mn);
        gemm.ld_multiple = 1;
        gemm.lda_extra = gemm.ldb_extra = extra;
        gemm.fill = Fill::integers;
        run(handle->get(), gemm);
      }
  }
}

TEST_P(Vectors, SplitsInClustersAndInMemoryGiveTheSameBits) {
  for (const int splits : {2, 5, 8, 9, 16})
    for (const int displacement : {0, 1}) {
      GemmCase gemm = problem(GetParam() + 1, splits * step() - 13);
      gemm.b_displacement = displacement;
      gemm.output = Dtype::f32;
      gemm.beta = splits == 5 ? 1.0f : 0.0f;
      Operands operands(gemm);
      std::vector<std::byte> first;
      for (const char* sums : {"cluster", "memory"}) {
        const auto handle = forced(splits, sums);
        run(handle->get(), gemm);
        operands.device_c().upload();
        EXPECT_TRUE(succeeds(call(handle->get(), gemm, operands)));
        const std::vector<std::byte> bytes = operands.device_c().download().bytes();
        if (first.empty()) first = bytes;
        EXPECT_EQ(bytes, first) << splits << ' ' << sums;
      }
    }
}

TEST_P(Vectors, ManySplits) {
  constexpr int splits = 61;
  GemmCase gemm = problem(GetParam(), splits * step() - 9);
  gemm.output = Dtype::f32;
  gemm.fill = Fill::integers;
  run(forced(splits)->get(), gemm);
}

// More units than CTAs, whose sums are in the same place one after the other.
TEST_P(Vectors, BatchesInTurn) {
  for (const int splits : {1, 3}) {
    const auto handle = forced(splits);
    ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(handle->get(), splits)));
    for (const int stride_extra : {0, 64, 5}) {
      GemmCase gemm = problem(GetParam() + 1, splits * step() - 1000);
      gemm.batch = 5;
      gemm.stride_extra = stride_extra;
      gemm.beta = 1;
      run(handle->get(), gemm);
      gemm.repeat_a = true;
      run(handle->get(), gemm);
      gemm.repeat_a = false, gemm.repeat_b = true;
      run(handle->get(), gemm);
    }
  }
}

TEST_P(Vectors, BatchesInClusters) {
  GemmCase gemm = problem(GetParam() + 1, 2 * step() - 10);
  gemm.batch = 3;
  run(forced(2, "cluster")->get(), gemm);
}

TEST_P(Vectors, ScalarsThatAreNoNumbersOrNothing) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const int splits : {1, 2}) {
    const auto handle = forced(splits, "cluster");
    for (const float alpha : {infinity, std::nanf(""), 0.0f})
      for (const float beta : {0.0f, 1.0f, infinity}) {
        GemmCase gemm = problem(1, splits * step());
        gemm.alpha = alpha;
        gemm.beta = beta;
        gemm.fill = Fill::integers;
        if (beta == 0) gemm.fill_c = Fill::poison;
        run(handle->get(), gemm);
      }
    GemmCase empty = problem(1, 0);
    empty.fill_c = Fill::poison;
    run(handle->get(), empty);
  }
}

TEST_P(Vectors, TwoRowsAndColumnsAreRefused) {
  GemmCase gemm = problem(2, 64);
  gemm.m = gemm.n = 2;
  Operands operands(gemm);
  EXPECT_EQ(call(forced(1)->get(), gemm, operands), BWGEMM_STATUS_NOT_SUPPORTED);
}

INSTANTIATE_TEST_SUITE_P(Columns, Vectors, ::testing::Values(1, 4, 8),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace bwgemm::test
