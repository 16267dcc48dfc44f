// SPDX-License-Identifier: Apache-2.0
// The dot kernels but those of vectors, forced: few rows of D (or few columns) over every alignment
// of the weights, both of their majors and both of the activations', several slabs of activations,
// splits of k, batches. What lies beside the operands is NaN: an element too many would show.
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

#include "families/dot/tiles.h"
#include "families/variants.h"
#include "gpu/row_problems.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

constexpr int alignments = 8;  // elements in 16 bytes

struct DotKind {
  Major weights;
  bool is_of_warps;  // whether each warp has units of its own
};

class Dot : public GpuTest, public ::testing::WithParamInterface<DotKind> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Arch arch = device_arch();
    for (const KernelConfig& row : kernel_variants)
      if (row.arch == arch && row.family == Family::dot && !dot::is_of_vectors(row) &&
          row.b == GetParam().weights && (dot::teams_of(row).warps == 1) == GetParam().is_of_warps)
        row_ = &row;
    ASSERT_NE(row_, nullptr);
    whole_ = forced("1");
    split_ = forced("3");
  }
  void TearDown() override {
    whole_.reset();
    split_.reset();
    GpuTest::TearDown();
  }

  // m x n x k as the kernel sees it. `weights` and `activations` say how the operands lie.
  struct Memory {
    int displacement = 0, ld_extra = 0, ld_multiple = 1;
  };
  GemmCase problem(std::int64_t m, std::int64_t n, std::int64_t k, Major activations,
                   const Memory& memory) const {
    GemmCase gemm = gemm_of(*row_, m, n, k, activations, GetParam().weights);
    gemm.a_displacement = memory.displacement;
    gemm.lda_extra = memory.ld_extra;
    gemm.ld_multiple = memory.ld_multiple;
    return gemm;
  }

  // The same product with the caller's C transposed: the kernel then has few columns to begin with.
  static GemmCase of_few_columns(GemmCase gemm) {
    std::swap(gemm.m, gemm.n);
    std::swap(gemm.lda_extra, gemm.ldb_extra);
    std::swap(gemm.a_displacement, gemm.b_displacement);
    std::swap(gemm.repeat_a, gemm.repeat_b);
    const auto flipped = [](bwgemmOperation_t operation) {
      return operation == BWGEMM_OP_N ? BWGEMM_OP_T : BWGEMM_OP_N;
    };
    const bwgemmOperation_t transa = gemm.transa;
    gemm.transa = flipped(gemm.transb);
    gemm.transb = flipped(transa);
    return gemm;
  }

  bwgemmHandle_t whole() const { return whole_->get(); }
  bwgemmHandle_t split() const { return split_->get(); }
  const KernelConfig& row() const { return *row_; }

  // Expects the product, or a refusal where the row cannot take these weights.
  void run(bwgemmHandle_t handle, const GemmCase& gemm) const {
    const bool has_one_line = gemm.k == 1;  // whose distance to the next is none
    if (row_->b == Major::k || !GetParam().is_of_warps || has_one_line)
      return test::run(handle, gemm);
    const std::int64_t rows = row_->tile.m;
    const bool weights_are_b = gemm.m <= rows && gemm.n > rows;
    Operands operands(gemm);
    const std::int64_t ld = weights_are_b ? operands.b().ld() : operands.a().ld();
    if (dot::line_classes(ld) <= dot::teams_of(*row_).warps) return test::run(handle, gemm);
    if (std::max(gemm.m, gemm.n) <= rows) return;  // either operand may be the weights
    EXPECT_EQ(call(handle, gemm, operands), BWGEMM_STATUS_NOT_SUPPORTED);
  }

  std::unique_ptr<Handle> forced(const char* splits) const {
    const Variable kernel("BWGEMM_FORCE_KERNEL", kernel_name(*row_).c_str());
    const Variable forced_splits("BWGEMM_FORCE_SPLITS", splits);
    return std::make_unique<Handle>();
  }

 private:
  const KernelConfig* row_ = nullptr;
  std::unique_ptr<Handle> whole_, split_;
};

// Every base address against every leading dimension, modulo 16 bytes.
TEST_P(Dot, EveryAlignmentOfTheWeights) {
  constexpr std::int64_t ns[] = {1, 7, 15, 16, 17, 40, 55, 56, 57, 64, 65, 72, 130};
  constexpr std::int64_t ks[] = {1, 7, 8, 9, 31, 33, 120, 127, 128, 129, 257, 520};
  std::size_t i = 0;
  for (int displacement = 0; displacement < alignments; ++displacement)
    for (int ld = 0; ld < alignments; ++ld, ++i) {
      if (small_scale() && (displacement + 3 * ld) % 4 != 0) continue;
      GemmCase gemm = problem(1 + i % 8, ns[(5 * i + i / 13) % std::size(ns)],
                              ks[(7 * i + i / 12) % std::size(ks)],
                              i % 3 == 0 ? Major::mn : Major::k, {displacement, 0, 8});
      const std::int64_t contiguous = gemm.transa == BWGEMM_OP_N ? gemm.m : gemm.k;
      gemm.ld_multiple = 1;
      gemm.lda_extra = (alignments - contiguous % alignments) % alignments + ld;
      gemm.ldb_extra = i % 5;
      gemm.b_displacement = (i / 3) % 5;
      gemm.ldc_extra = i % 3;
      gemm.c_displacement = i % 7;
      gemm.fill = Fill::integers;
      gemm.input = i % 2 == 0 ? Dtype::bf16 : Dtype::f16;
      gemm.output = i % 4 < 2 ? gemm.input : Dtype::f32;
      gemm.beta = i % 3 == 1 ? -0.5f : 0.0f;
      if (gemm.beta == 0) gemm.fill_c = Fill::poison;
      gemm.seed = i + 1;
      run(whole(), gemm);
    }
}

TEST_P(Dot, RowsAndColumns) {
  for (int m = 1; m <= 8; ++m)
    for (const Major activations : {Major::k, Major::mn}) {
      GemmCase gemm = problem(m, 90 + m, 300 + 8 * m, activations, {0, 0, m % 2 == 0 ? 8 : 1});
      gemm.seed = m;
      run(whole(), gemm);
      run(whole(), of_few_columns(gemm));
      gemm.beta = 1;
      gemm.output = Dtype::f32;
      run(whole(), of_few_columns(gemm));
    }
}

// The memory of A and B ends with their last elements, some of them inside 16 bytes. Only a virtual
// GPU and memory checkers see what is read behind it.
TEST_P(Dot, ReadsNothingBehindTheOperands) {
  for (int i = 0; i < 24; ++i) {
    GemmCase gemm = problem(1 + i % 3 * 3, 50 + i, i % 2 == 0 ? 257 + i : 33 + i,
                            i % 3 == 0 ? Major::mn : Major::k, {i % alignments, 0, 1});
    if (i % 4 == 1) gemm.k = 1 + i / 4;
    if (i % 5 == 0) gemm.ld_multiple = 8;
    gemm.b_displacement = i % 7;
    gemm.nothing_behind = true;
    gemm.fill = Fill::integers;
    gemm.seed = i + 1;
    run(i % 6 == 5 ? split() : whole(), gemm);
  }
  GemmCase gemm = problem(3, 70, 3075, Major::k, {1, 0, 1});
  gemm.nothing_behind = true;
  run(split(), gemm);
  run(whole(), of_few_columns(gemm));
  gemm.batch = 3;
  if (!small_scale()) run(whole(), gemm);
}

// More activations than fit at once, aligned and not, and rows of them that end inside a slab.
TEST_P(Dot, SlabsOfActivations) {
  for (const int displacement : {0, 3})
    for (const std::int64_t k : {4096 + 200, 9001}) {
      GemmCase gemm = problem(8, 20, k, Major::k, {displacement, 0, 8});
      run(whole(), gemm);
      gemm.ld_multiple = 1;
      gemm.lda_extra = 1;
      run(whole(), gemm);
    }
}

TEST_P(Dot, SplitsOfK) {
  for (const int extra : {0, 1, 4})
    for (const std::int64_t k : {3072, 4100}) {
      GemmCase gemm = problem(5, 70, k, extra == 4 ? Major::mn : Major::k, {extra, extra, 1});
      gemm.beta = 1;
      run(split(), gemm);
      gemm.fill = Fill::integers;
      gemm.output = Dtype::f32;
      run(split(), gemm);
    }
}

TEST_P(Dot, SplitsAddUpToTheSameBits) {
  GemmCase gemm = problem(3, 200, 4099, Major::k, {1, 0, 1});
  gemm.output = Dtype::f32;
  Operands operands(gemm);
  std::vector<std::byte> first;
  for (int i = 0; i < 3; ++i) {
    operands.device_c().upload();
    EXPECT_TRUE(succeeds(call(split(), gemm, operands)));
    const std::vector<std::byte> bytes = operands.device_c().download().bytes();
    if (i == 0) first = bytes;
    EXPECT_EQ(bytes, first);
  }
}

// One CTA for everything: loads for a unit start during the one before.
TEST_P(Dot, UnitsInTurn) {
  for (const bwgemmHandle_t handle : {whole(), split()})
    ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(handle, 1)));
  // More tiles of one batch than there are warps.
  if (GetParam().is_of_warps) run(whole(), problem(2, 20 * row().tile.n, 40, Major::k, {0, 0, 8}));
  for (const int ld_extra : {0, 1, 2})
    for (const std::int64_t k : {100, 1100, 5000}) {
      GemmCase gemm = problem(8, 150, k, Major::k, {ld_extra, ld_extra, ld_extra == 0 ? 8 : 1});
      gemm.fill = Fill::integers;
      gemm.output = Dtype::f32;
      run(whole(), gemm);
      if (small_scale() && k > 1100) continue;
      gemm.batch = 3;
      run(whole(), gemm);
      gemm.repeat_b = true;
      gemm.n = 3;
      run(split(), gemm);
    }
}

TEST_P(Dot, Batches) {
  for (const int ld_extra : {0, 3})
    for (const int stride_extra : {0, 64, 5}) {
      GemmCase gemm = problem(4, 50, 136, Major::k, {0, ld_extra, ld_extra == 0 ? 8 : 1});
      gemm.batch = 5;
      gemm.stride_extra = stride_extra;
      gemm.beta = 1;
      run(whole(), gemm);
      gemm.repeat_a = true;
      run(whole(), of_few_columns(gemm));
      gemm.repeat_a = false, gemm.repeat_b = true;
      run(whole(), gemm);
      gemm.k = 2500;
      if (!small_scale()) run(split(), gemm);
    }
}

TEST_P(Dot, ScalarsThatAreNoNumbers) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float alpha : {infinity, -infinity, std::nanf(""), 0.0f})
    for (const float beta : {0.0f, 1.0f, infinity, std::nanf("")}) {
      GemmCase gemm = problem(2, 33, 70, Major::k, {1, 0, 1});
      gemm.alpha = alpha;
      gemm.beta = beta;
      gemm.fill = Fill::integers;
      run(whole(), gemm);
    }
}

TEST_P(Dot, NothingToAddUp) {
  for (const std::int64_t k : {0, 70})
    for (const float beta : {0.0f, -0.5f}) {
      GemmCase gemm = problem(7, 75, k, Major::k, {1, 0, 1});
      gemm.alpha = k == 0 ? 1 : 0;
      gemm.beta = beta;
      if (beta == 0) gemm.fill_c = Fill::poison;
      run(whole(), gemm);
    }
}

TEST_P(Dot, NineRowsAreRefused) {
  GemmCase gemm = problem(9, 64, 64, Major::k, {0, 0, 8});
  gemm.m = gemm.n = 9;
  Operands operands(gemm);
  EXPECT_EQ(call(whole(), gemm, operands), BWGEMM_STATUS_NOT_SUPPORTED);
}

// For few rows several threads add runs of one output's splits; for many, one adds more of them
// than it has in flight.
TEST_P(Dot, ManySplits) {
  constexpr int splits = 61;
  const auto handle = forced(std::to_string(splits).c_str());
  for (const int m : {1, 2, 5, 8}) {
    GemmCase gemm = problem(m, 20, std::int64_t{splits} * row().tile.k - 9, Major::k, {0, 0, 8});
    gemm.output = Dtype::f32;
    gemm.fill = Fill::integers;
    gemm.seed = m;
    run(handle->get(), gemm);
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, Dot,
                         ::testing::Values(DotKind{Major::k, false}, DotKind{Major::k, true},
                                           DotKind{Major::mn, false}, DotKind{Major::mn, true}),
                         [](const auto& info) {
                           return std::string(info.param.weights == Major::k ? "K" : "N") +
                                  (info.param.is_of_warps ? "OfWarps" : "");
                         });

}  // namespace
}  // namespace bwgemm::test
