// SPDX-License-Identifier: Apache-2.0
// Every row of the kernel table, forced: problems at the edges of its own tile and ring, both
// output types, beta 0 and 1. A row that no problem reaches fails. Memcheck.* is the same with two
// small problems per row, for compute-sanitizer.
#include "kernels/rows.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

#include "kernels/shape.h"
#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

// Sets BWGEMM_FORCE_KERNEL for handles created in its scope.
class ForcedKernel {
 public:
  explicit ForcedKernel(const char* kernel) { setenv("BWGEMM_FORCE_KERNEL", kernel, 1); }
  ~ForcedKernel() { unsetenv("BWGEMM_FORCE_KERNEL"); }
  ForcedKernel(const ForcedKernel&) = delete;
};

const KernelConfig* row_named(std::string_view kernel) {
  for (const KernelConfig& row : kernel_rows)
    if (kernel_name(row).view() == kernel) return &row;
  return nullptr;
}

// Majors of the canonical problem, whose operands are swapped: its A is the caller's B.
bwgemmOperation_t transa_of(Major canonical_b) {
  return canonical_b == Major::k ? BWGEMM_OP_T : BWGEMM_OP_N;
}
bwgemmOperation_t transb_of(Major canonical_a) {
  return canonical_a == Major::k ? BWGEMM_OP_N : BWGEMM_OP_T;
}

std::vector<Major> majors(Major declared) {
  if (declared != Major::any) return {declared};
  return {Major::k, Major::mn};
}

std::vector<Dtype> inputs(Input declared) {
  switch (declared) {
    case Input::bf16: return {Dtype::bf16};
    case Input::f16: return {Dtype::f16};
    case Input::any16: return {Dtype::bf16, Dtype::f16};
  }
  return {};
}

// Problem sizes in the row's own terms: edges of a tile, of a cluster, and of the ring.
struct Edges {
  std::vector<std::int64_t> m, n, k;  // canonical
};

Edges edges(const KernelConfig& row) {
  const int tile_n = row.tile.n != 0 ? row.tile.n : 256;
  const KernelShape shape =
      kernel_shape(row, tile_n, row.input == Input::f16 ? Dtype::f16 : Dtype::bf16);
  const std::int64_t tm = row.tile.m, tn = tile_n, tk = row.tile.k;
  const std::int64_t ring = tk * (shape.stages > 0 ? shape.stages : 4);
  const std::int64_t cm = shape.cluster_tile_m > 0 ? shape.cluster_tile_m : tm;
  return {{1, tm - 1, tm, tm + 1, cm + tm / 2, 2 * cm + 8},
          {1, 33, tn - 1, tn, tn + 1, 2 * tn + 40, 96},
          {1, 8, tk - 1, tk, tk + 1, ring - tk, ring, ring + 1, 2 * ring + 8, 3 * ring}};
}

class RowTest : public GpuTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const char* kernel = bwgemmKernelName(GetParam());
    ASSERT_NE(kernel, nullptr);
    row_ = row_named(kernel);
    ASSERT_NE(row_, nullptr) << kernel << " is not in kernel_rows";
    const Arch arch = device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 9
                          ? Arch::sm90
                          : Arch::sm100;
    if (row_->arch != arch) GTEST_SKIP() << kernel << " is for another architecture";
    const ForcedKernel forced(kernel);
    handle_ = std::make_unique<Handle>();
  }
  void TearDown() override {
    handle_.reset();
    GpuTest::TearDown();
  }

  const KernelConfig& row() const { return *row_; }
  bwgemmHandle_t handle() const { return handle_->get(); }

  // TMA kernels serve rows of the output that end at 16 bytes of either output type.
  std::int64_t columns(std::int64_t n) const {
    return row().family == Family::direct ? n : (n + 7) / 8 * 8;
  }

  // The i-th problem of the row: sizes move on at different rates, so that edges meet.
  GemmCase problem(std::size_t i, Major a, Major b, Dtype input) const {
    const Edges at = edges(row());
    GemmCase gemm;
    gemm.transa = transa_of(b);
    gemm.transb = transb_of(a);
    gemm.n = at.m[(i + i / at.m.size()) % at.m.size()];
    gemm.m = columns(at.n[(2 * i + i / at.n.size()) % at.n.size()]);
    gemm.k = at.k[(3 * i + i / at.k.size()) % at.k.size()];
    gemm.input = input;
    gemm.output = input;
    gemm.ld_multiple = 8;
    gemm.seed = i + 1;
    return gemm;
  }

  // Runs it for both outputs and beta 0 (over NaN) and 1; returns the number of calls served.
  int run_all(GemmCase gemm) {
    int served = 0;
    for (const bool to_f32 : {false, true})
      for (const float beta : {0.0f, 1.0f}) {
        gemm.output = to_f32 ? Dtype::f32 : gemm.input;
        gemm.beta = beta;
        gemm.alpha = beta == 0 ? 1 : -0.5f;
        gemm.fill_c = beta == 0 ? Fill::poison : Fill::normal;
        Operands operands(gemm);
        const bwgemmStatus_t status = call(handle(), gemm, operands);
        EXPECT_TRUE(succeeds(status)) << gemm;
        if (status != BWGEMM_STATUS_SUCCESS) continue;
        ++served;
        operands.expect_result();
      }
    return served;
  }

 private:
  const KernelConfig* row_ = nullptr;
  std::unique_ptr<Handle> handle_;
};

std::string kernel_of(const ::testing::TestParamInfo<int>& info) {
  const char* kernel = bwgemmKernelName(info.param);
  return kernel != nullptr ? kernel : "none";
}

using Rows = RowTest;

TEST_P(Rows, EdgesOfItsTileAndRing) {
  const std::size_t problems = small_scale() ? 2 : 14;
  int served = 0;
  for (const Major a : majors(row().a))
    for (const Major b : majors(row().b))
      for (const Dtype input : inputs(row().input))
        for (std::size_t i = 0; i < problems; ++i) served += run_all(problem(i, a, b, input));
  EXPECT_GT(served, 0) << "no problem of this test reaches the row";
}

TEST_P(Rows, ExactOnIntegersOverSeveralTiles) {
  const Edges at = edges(row());
  for (const Major a : majors(row().a))
    for (const Major b : majors(row().b)) {
      GemmCase gemm = problem(0, a, b, inputs(row().input).front());
      gemm.n = small_scale() ? at.m.back() : 5 * at.m.back();
      gemm.m = columns(small_scale() ? at.n.back() : 7 * at.n.back() + 8);
      gemm.k = at.k.back() + 40;
      gemm.fill = Fill::integers;
      run(handle(), gemm);
    }
}

TEST_P(Rows, BatchesAndBroadcast) {
  GemmCase gemm =
      problem(3, majors(row().a).back(), majors(row().b).back(), inputs(row().input).front());
  gemm.batch = 3;
  gemm.beta = 1;
  gemm.stride_extra = 64;
  run(handle(), gemm);
  gemm.repeat_a = true;
  run(handle(), gemm);
  gemm.repeat_a = false, gemm.repeat_b = true;
  run(handle(), gemm);
}

// Scalars that the kernel finds zero itself: neither sums nor, with beta zero, C may be looked at.
TEST_P(Rows, AlphaIsZeroOnTheDevice) {
  const DeviceMemory scalars(2 * sizeof(float));
  ASSERT_TRUE(succeeds(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE)));
  for (const float beta : {-0.5f, 0.0f}) {
    GemmCase gemm =
        problem(4, majors(row().a).front(), majors(row().b).front(), inputs(row().input).front());
    gemm.k = 80;
    gemm.alpha = 0;
    gemm.beta = beta;
    gemm.fill_c = beta == 0 ? Fill::poison : Fill::normal;
    const float values[2] = {gemm.alpha, gemm.beta};
    check(driver().memcpy_htod(scalars.address(), values, sizeof values), "cuMemcpyHtoD");
    Operands operands(gemm);
    EXPECT_TRUE(
        succeeds(call(handle(), gemm, operands, scalars.as<float>(), scalars.as<float>() + 1)));
    operands.expect_result();
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Rows, ::testing::Range(0, bwgemmKernelCount()), kernel_of);

class Memcheck : public RowTest {};

TEST_P(Memcheck, TwoSmallProblems) {
  const Edges at = edges(row());
  GemmCase gemm =
      problem(0, majors(row().a).front(), majors(row().b).front(), inputs(row().input).front());
  gemm.n = at.m[3], gemm.m = columns(at.n[4]),
  gemm.k = at.k[4];  // one more than a tile in all directions
  EXPECT_GT(run_all(gemm), 0);
  gemm = problem(0, majors(row().a).back(), majors(row().b).back(), inputs(row().input).back());
  gemm.n = 40, gemm.m = 72, gemm.k = at.k[8];
  gemm.batch = 2;
  EXPECT_GT(run_all(gemm), 0);
}

INSTANTIATE_TEST_SUITE_P(, Memcheck, ::testing::Range(0, bwgemmKernelCount()), kernel_of);

}  // namespace
}  // namespace bwgemm::test
