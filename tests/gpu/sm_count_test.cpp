// SPDX-License-Identifier: Apache-2.0
// The number of multiprocessors that calls may occupy: stored as given, results stay right, and no
// call can occupy more. How many it can is read off a captured call, which need not run: a kernel
// occupies no more multiprocessors than it has CTAs, and a call no more than one of its kernels, if
// each waits for the end of the one before. bwgemm_bench --trace --sm-count counts those that a
// kernel was on.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "families/variants.h"
#include "gpu/row_problems.h"
#include "support/captured_kernels.h"
#include "support/matmul_call.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

class SmCount : public HandleTest {
 protected:
  static int all() { return device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT); }
};

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
  for (const int target : {1, 2, 3, all() / 2, all() - 1, all(), all() + 1, 100000}) {
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

// Calls that are captured and never run: their operands hold nothing.
class SmLimit : public SmCount {
 protected:
  void SetUp() override {
    SmCount::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) operands_ = std::make_unique<DeviceMemory>(3 * bytes);
  }
  void TearDown() override {
    operands_.reset();
    SmCount::TearDown();
  }

  MatmulCall call_of(const GemmCase& gemm) const {
    MatmulCall call;
    bwgemmMatmulDesc_t& desc = call.desc;
    desc.transa = gemm.transa, desc.transb = gemm.transb;
    desc.m = desc.ldc = desc.ldd = gemm.m, desc.n = gemm.n, desc.k = gemm.k;
    desc.lda = gemm.transa == BWGEMM_OP_N ? gemm.m : gemm.k;
    desc.ldb = gemm.transb == BWGEMM_OP_N ? gemm.k : gemm.n;
    desc.batchCount = gemm.batch;
    desc.strideA = gemm.m * gemm.k, desc.strideB = gemm.k * gemm.n, desc.strideD = gemm.m * gemm.n;
    for (const std::int64_t elements : {desc.strideA, desc.strideB, desc.strideD})
      EXPECT_LE(2 * gemm.batch * elements + 64, std::int64_t{bytes}) << gemm;
    call.a = operands_->as<char>() + 2 * gemm.a_displacement;
    call.b = operands_->as<char>() + bytes + 2 * gemm.b_displacement;
    call.c = call.d = operands_->as<char>() + 2 * bytes;
    return call;
  }

  static CapturedKernels captured(bwgemmHandle_t handle, const MatmulCall& call,
                                  bwgemmStatus_t& status) {
    const Stream stream;
    EXPECT_TRUE(succeeds(bwgemmSetStream(handle, stream.get())));
    check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
    status = matmul(handle, call);
    CUgraph graph = nullptr;
    check(driver().stream_end_capture(stream.get(), &graph), "cuStreamEndCapture");
    EXPECT_TRUE(succeeds(bwgemmSetStream(handle, nullptr)));
    const CapturedKernels kernels = captured_kernels(graph);
    check(driver().graph_destroy(graph), "cuGraphDestroy");
    return kernels;
  }
  static CapturedKernels captured(bwgemmHandle_t handle, const MatmulCall& call) {
    bwgemmStatus_t status{};
    const CapturedKernels kernels = captured(handle, call, status);
    EXPECT_TRUE(succeeds(status));
    return kernels;
  }

  // 0: there is none.
  static bool is_limit(int target) { return target != 0 && target < all(); }
  static void expect_within(const CapturedKernels& captured, int target) {
    EXPECT_TRUE(captured.is_chain);
    if (!is_limit(target)) return;
    for (const CapturedKernel& kernel : captured.kernels)
      EXPECT_LE(kernel.ctas, target) << kernel.name;
    EXPECT_FALSE(captured.may_run_at_once);
  }

  static std::vector<int> targets() { return {1, 2, 3, all() / 2, all() - 1, all(), 0}; }

 private:
  static constexpr std::size_t bytes = std::size_t{128} << 20;
  std::unique_ptr<DeviceMemory> operands_;
};

// More tiles than there are CTAs of any kernel.
GemmCase large_problem(const KernelConfig& row) {
  const bool has_few_rows = row.family == Family::dot, has_few_columns = row.load == Load::units;
  const std::int64_t m = has_few_columns ? 65536 : 4096;
  return gemm_of(row, has_few_rows ? row.tile.m : m, has_few_rows ? 65536 : 6144, 256,
                 majors(row.a).front(), majors(row.b).front());
}

// Those whose clusters cannot be held back, or have more CTAs than the target, are refused.
TEST_F(SmLimit, OfEveryKernel) {
  const Arch arch = device_arch();
  for (const KernelConfig& row : kernel_variants) {
    if (row.arch != arch) continue;
    const std::string name(kernel_name(row).view());
    const Variable kernel("BWGEMM_FORCE_KERNEL", name);
    const Handle forced;
    const MatmulCall call = call_of(large_problem(row));
    for (const int target : targets()) {
      SCOPED_TRACE(name + ", target " + std::to_string(target));
      ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(forced.get(), target)));
      bwgemmStatus_t status{};
      const CapturedKernels captured = SmLimit::captured(forced.get(), call, status);
      const bool can_limit = row.choices.schedule == Schedule::persistent;
      if (is_limit(target) && (!can_limit || target < row.cluster.size())) {
        EXPECT_EQ(status, BWGEMM_STATUS_NOT_SUPPORTED);
        continue;
      }
      ASSERT_TRUE(succeeds(status));
      ASSERT_EQ(captured.kernels.size(), 1u);
      EXPECT_EQ(captured.kernels.front().name, name);
      expect_within(captured, target);
      // Of many clusters those that fit may be fewer.
      if (!is_limit(target) || target > all() / 2) continue;
      EXPECT_EQ(captured.kernels.front().ctas, target / row.cluster.size() * row.cluster.size());
    }
  }
}

// Splits of k are as many units of work as the tiles, or the CTAs of a cluster.
TEST_F(SmLimit, OfSplits) {
  for (const char* const sums : {"memory", "cluster"})
    for (const int splits : {2, 5, 40}) {
      const Variable forced_splits("BWGEMM_FORCE_SPLITS", std::to_string(splits));
      const Variable place("BWGEMM_FORCE_SUMS", sums);
      const Handle forced;
      for (const std::int64_t m : {1, 8, 64, 520})
        for (const int target : targets()) {
          SCOPED_TRACE(std::string(sums) + ", " + std::to_string(splits) + " splits of " +
                       std::to_string(m) + " rows, target " + std::to_string(target));
          ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(forced.get(), target)));
          const GemmCase gemm{.transa = BWGEMM_OP_T, .m = 640, .n = m, .k = 40000};
          expect_within(captured(forced.get(), call_of(gemm)), target);
        }
    }
}

// Kernels in front of the product and behind it, which must not run beside it.
TEST_F(SmLimit, OfCopiesAndSums) {
  const Variable operands("BWGEMM_FORCE_OPERANDS", "copied");
  for (const int overlaps : {0, 1})
    for (const std::int64_t batch : {1, 3}) {
      const Handle forced;
      ASSERT_TRUE(succeeds(bwgemmSetProgrammaticLaunch(forced.get(), overlaps)));
      MatmulCall call = call_of({.transa = BWGEMM_OP_T,
                                 .m = 1024,
                                 .n = 12288,
                                 .k = 264,
                                 .a_displacement = 1,
                                 .b_displacement = 1,
                                 .batch = batch});
      call.desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_D_COLUMNS;
      const DeviceMemory gradient(batch * call.desc.n * 4);
      call.desc.biasGradient = gradient.as<>(), call.desc.strideBiasGradient = call.desc.n;
      for (const int target : targets()) {
        SCOPED_TRACE("target " + std::to_string(target) + ", overlaps " + std::to_string(overlaps));
        ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(forced.get(), target)));
        const CapturedKernels captured = SmLimit::captured(forced.get(), call);
        const auto is_there = [&](std::string_view end) {
          return std::ranges::any_of(captured.kernels, [&](const CapturedKernel& kernel) {
            return kernel.name.ends_with(end);
          });
        };
        EXPECT_TRUE(is_there("_copy") && is_there("_sums"));
        expect_within(captured, target);
      }
    }
}

// Copies of one part must not run beside the product of the part before.
TEST_F(SmLimit, OfCopiesInParts) {
  const Variable operands("BWGEMM_FORCE_OPERANDS", "copied");
  const Handle forced;
  const DeviceMemory workspace(8 << 20);
  ASSERT_TRUE(succeeds(bwgemmSetWorkspace(forced.get(), workspace.as<>(), 8 << 20)));
  ASSERT_TRUE(succeeds(bwgemmSetProgrammaticLaunch(forced.get(), 1)));
  const MatmulCall call =
      call_of({.transa = BWGEMM_OP_T, .m = 4096, .n = 512, .k = 2056, .a_displacement = 1});
  for (const int target : targets())
    for (int repeated = 0; repeated < 2; ++repeated) {
      SCOPED_TRACE("target " + std::to_string(target));
      ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(forced.get(), target)));
      const CapturedKernels captured = SmLimit::captured(forced.get(), call);
      EXPECT_GE(captured.kernels.size(), 4u);
      expect_within(captured, target);
    }
}

}  // namespace
}  // namespace bwgemm::test
