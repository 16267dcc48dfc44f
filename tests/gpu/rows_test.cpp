// SPDX-License-Identifier: Apache-2.0
// Every row of the kernel table, forced, on the problems of row_problems.h. Which of them depends
// on the device: silicon runs all of them for every row. A virtual GPU is slow but adversarial: it
// runs the covering set of every row once, and the edges of one row per class under two schedules
// (BWGEMM_TEST_SCALE=small), or the edges of every row under eight (product, for the nightly).
// Memcheck.* is two small problems per row, for compute-sanitizer.
#include <bit>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <tuple>

#include "families/variants.h"
#include "gpu/fused_problems.h"
#include "gpu/line_problems.h"
#include "gpu/row_classes.h"
#include "gpu/row_problems.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

enum class Scale { all, small, product };

Scale scale() {
  if (small_scale()) return Scale::small;
  const char* value = std::getenv("BWGEMM_TEST_SCALE");
  return value != nullptr && std::string_view(value) == "product" ? Scale::product : Scale::all;
}

// The virtual GPU's judges find a missing fence or wait under any schedule, so further schedules
// find little (kernels_on_vgpu/mutate/REPORT.md).
constexpr int edge_schedules = 2;  // of representatives
constexpr int product_schedules = 8;
// Whether the last split of a tile to arrive is the first one, which takes another way, is chance.
constexpr int last_split_schedules = 7;

const KernelConfig* row_named(std::string_view kernel) {
  for (const KernelConfig& row : kernel_variants)
    if (kernel_name(row).view() == kernel) return &row;
  return nullptr;
}

class RowTest : public GpuTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const char* kernel = bwgemmKernelName(GetParam());
    ASSERT_NE(kernel, nullptr);
    row_ = row_named(kernel);
    ASSERT_NE(row_, nullptr) << kernel << " is not in kernel_variants";
    const Arch arch = device_arch();
    if (row_->arch != arch) GTEST_SKIP() << kernel << " is for another architecture";
    scalars_ = std::make_unique<DeviceMemory>(2 * sizeof(float));
    find_memory();
  }
  void TearDown() override {
    handles_.clear();
    scalars_.reset();
    GpuTest::TearDown();
  }

  const KernelConfig& row() const { return *row_; }
  Memory memory() const { return memory_; }

  // Runs the problem, each time from the same memory; true if the row serves it.
  bool run(const RowProblem& problem, int times) {
    SCOPED_TRACE(name());
    const bwgemmHandle_t handle = prepared(problem);
    if (problem.fusing) return run_fused(handle, problem, times);
    Operands operands(problem.gemm);
    for (int i = 0; i < times && !HasFailure(); ++i) {
      if (i > 0) operands.device_c().upload();
      const bwgemmStatus_t status = call_with(handle, problem, operands);
      if (i == 0 && status == BWGEMM_STATUS_NOT_SUPPORTED) return false;
      EXPECT_TRUE(succeeds(status)) << problem.gemm;
      operands.expect_result();
    }
    return true;
  }

  bool run_fused(bwgemmHandle_t handle, const RowProblem& problem, int times) const {
    const MatmulCase matmul{problem.gemm, *problem.fusing};
    MatmulOperands operands(matmul);
    for (int i = 0; i < times && !HasFailure(); ++i) {
      if (i > 0) operands.restore();
      const float* const on_device = scalars_->as<float>();
      const bwgemmStatus_t status =
          problem.device_scalars
              ? operands.call(handle, on_device,
                              sm90::parts_of(*row_).takes_matrices ? on_device + 1 : nullptr)
              : operands.call(handle);
      if (i == 0 && status == BWGEMM_STATUS_NOT_SUPPORTED) return false;
      EXPECT_TRUE(succeeds(status)) << matmul;
      operands.expect_result();
    }
    return true;
  }

  // The same, for a problem that the row has to serve: cut to one tile if it must be.
  void expect_run(RowProblem problem, int times) {
    if (run(problem, times)) return;
    if (problem.gemm.batch > 1) {  // some rows need batches that are whole units apart
      problem.gemm.repeat_a = problem.gemm.repeat_b = true;
      if (run(problem, times)) return;
    }
    cut_to_one_tile(problem.gemm);
    EXPECT_TRUE(run(problem, times))
        << "not served: " << problem.gemm << ": " << bwgemmGetLastErrorString();
  }

  // The problem with other types of C and other scalars.
  std::vector<RowProblem> outputs(const RowProblem& problem) const {
    std::vector<RowProblem> all;
    for (const bool to_f32 : {false, true})
      for (const float beta : {0.0f, 1.0f}) {
        if (beta != 0 && !sm90::parts_of(*row_).takes_matrices) continue;
        RowProblem& other = all.emplace_back(problem);
        other.gemm.output = to_f32 ? Dtype::f32 : other.gemm.input;
        other.gemm.beta = beta;
        other.gemm.alpha = beta == 0 ? 1 : -0.5f;
        other.gemm.fill_c = beta == 0 ? Fill::poison : Fill::normal;
      }
    return all;
  }

 private:
  std::string name() const { return std::string(kernel_name(*row_).view()); }

  // A handle forces the same of all its calls.
  bwgemmHandle_t handle_for(const RowProblem& problem) {
    std::unique_ptr<Handle>& handle = handles_[{problem.splits, problem.tile_n, problem.raster}];
    if (handle == nullptr) {
      const auto number = [](int value) { return value > 0 ? std::to_string(value) : ""; };
      const Variable kernel("BWGEMM_FORCE_KERNEL", name());
      const Variable splits("BWGEMM_FORCE_SPLITS", number(forced_splits(*row_, problem.splits)));
      const Variable sums("BWGEMM_FORCE_SUMS",
                          problem.splits == Splits::in_cluster ? "cluster" : "memory");
      const Variable tile_n("BWGEMM_FORCE_TILE_N", number(problem.tile_n));
      const Variable raster("BWGEMM_FORCE_RASTER", std::string(bwgemm::name(problem.raster)));
      handle = std::make_unique<Handle>();
    }
    return handle->get();
  }

  bwgemmHandle_t prepared(const RowProblem& problem) {
    const bwgemmHandle_t handle = handle_for(problem);
    const int target = problem.clusters * row_->cluster.size();
    EXPECT_TRUE(succeeds(bwgemmSetSmCountTarget(handle, target)));
    // Kernels overlap as far as they may, the harder way to get right. Half of them let the next
    // one start when they have multiplied, half as short ones do by themselves: when they have
    // loaded. Which half follows no period, as what problems differ in does: a sequence of Thue and
    // Morse.
    const bool multiplies_first = std::popcount(prepared_++) % 2 == 0;
    EXPECT_TRUE(succeeds(bwgemmSetProgrammaticLaunch(handle, multiplies_first ? 1 : -1)));
    EXPECT_TRUE(succeeds(bwgemmSetPointerMode(
        handle, problem.device_scalars ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST)));
    if (problem.device_scalars) {
      const float values[2] = {problem.gemm.alpha, problem.gemm.beta};
      check(driver().memcpy_htod(scalars_->address(), values, sizeof values), "cuMemcpyHtoD");
      synchronize();
    }
    return handle;
  }

  bwgemmStatus_t call_with(bwgemmHandle_t handle, const RowProblem& problem,
                           const Operands& operands) const {
    if (!problem.device_scalars) return call(handle, problem.gemm, operands);
    return call(handle, problem.gemm, operands, scalars_->as<float>(), scalars_->as<float>() + 1);
  }

  // The least that the row asks of its operands.
  void find_memory() {
    for (const Memory memory : {Memory::any, Memory::operand_lines, Memory::lines, Memory::units}) {
      memory_ = memory;
      RowProblem probe{gemm_of(*row_, 1, 9, 16, majors(row_->a).front(), majors(row_->b).front())};
      probe.gemm.input = probe.gemm.output = inputs(row_->mma).front();
      probe.gemm.ld_multiple = memory == Memory::any ? 1 : 8;
      probe.gemm.a_displacement = memory == Memory::any ? 1 : 0;
      probe.gemm.c_displacement = memory == Memory::operand_lines ? 1 : 0;
      if (memory == Memory::units) probe.gemm.m = probe.gemm.n = 8;
      // Some rows ask less of a C that they only write.
      if (sm90::parts_of(*row_).takes_matrices) {
        probe.gemm.beta = 1;
        probe.gemm.fill_c = Fill::normal;
      }
      if (run(probe, 1)) return;
      cut_to_one_tile(probe.gemm);
      if (run(probe, 1)) return;
    }
    FAIL() << name() << " serves no small problem: " << bwgemmGetLastErrorString();
  }

  void cut_to_one_tile(GemmCase& gemm) const {
    const std::int64_t tile_n = row_->tile.n != 0 ? row_->tile.n : gemm.m;
    const bool is_by_columns = row_->swaps_ab;
    gemm.m = std::min<std::int64_t>(gemm.m, is_by_columns ? row_->tile.m : tile_n);
    gemm.n = std::min<std::int64_t>(gemm.n, is_by_columns ? tile_n : row_->tile.m);
  }

  const KernelConfig* row_ = nullptr;
  Memory memory_ = Memory::any;
  unsigned prepared_ = 0;  // problems
  std::map<std::tuple<Splits, int, Raster>, std::unique_ptr<Handle>> handles_;
  std::unique_ptr<DeviceMemory> scalars_;
};

std::string kernel_of(const ::testing::TestParamInfo<int>& info) {
  const char* kernel = bwgemmKernelName(info.param);
  return kernel != nullptr ? kernel : "none";
}

using Rows = RowTest;

TEST_P(Rows, CoveringSet) {
  if (scale() == Scale::product) GTEST_SKIP() << "not what this scale is for";
  for (const RowProblem& problem : covering_problems(row(), memory())) {
    const bool has_a_last_split = problem.splits != Splits::none && problem.fusing;
    expect_run(problem, scale() == Scale::small && has_a_last_split ? last_split_schedules : 1);
  }
}

TEST_P(Rows, FusedOperations) {
  if (scale() == Scale::product) GTEST_SKIP() << "not what this scale is for";
  for (const RowProblem& problem : fused_problems(row())) expect_run(problem, 1);
}

TEST_P(Rows, EdgesOfItsTileAndRing) {
  if (scale() == Scale::small && !is_representative(row()))
    GTEST_SKIP() << "another row of its class stands for it on a slow device";
  for (const RowProblem& problem : edge_problems(row(), memory())) {
    if (scale() != Scale::all) {
      expect_run(problem, scale() == Scale::small ? edge_schedules : product_schedules);
      continue;
    }
    for (const RowProblem& other : outputs(problem)) expect_run(other, 1);
  }
}

TEST_P(Rows, ExactOnIntegersOverManyTiles) {
  if (scale() != Scale::all) GTEST_SKIP() << "too large for a slow device";
  for (RowProblem problem : large_problems(row(), memory())) {
    problem.gemm.fill = Fill::integers;
    expect_run(problem, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Rows, ::testing::Range(0, bwgemmKernelCount()), kernel_of);

class Memcheck : public RowTest {};

TEST_P(Memcheck, TwoSmallProblems) {
  if (scale() != Scale::all) GTEST_SKIP() << "for compute-sanitizer";
  for (const RowProblem& problem : small_problems(row(), memory()))
    for (const RowProblem& other : outputs(problem)) expect_run(other, 1);
  for (const RowProblem& problem : line_problems(row())) expect_run(problem, 1);
}

INSTANTIATE_TEST_SUITE_P(, Memcheck, ::testing::Range(0, bwgemmKernelCount()), kernel_of);

}  // namespace
}  // namespace bwgemm::test
