// SPDX-License-Identifier: Apache-2.0
// What is fused to a product: every operation, on the kernel that serves everything and, forced, on
// one kernel of every kind. Results are judged against float64, and those of exact sums bit by bit
// against those of the first kernel.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <tuple>

#include "families/variants.h"
#include "gpu/fused_problems.h"
#include "gpu/mixed_operands.h"
#include "gpu/row_problems.h"
#include "support/matmul_case.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

constexpr bwgemmActivation_t activations[] = {
    BWGEMM_ACTIVATION_NONE,     BWGEMM_ACTIVATION_RELU, BWGEMM_ACTIVATION_GELU_TANH,
    BWGEMM_ACTIVATION_GELU_ERF, BWGEMM_ACTIVATION_SILU, BWGEMM_ACTIVATION_SIGMOID,
    BWGEMM_ACTIVATION_CLAMP};

// Sums between about -8 and 8.
MatmulCase exact_case(Dtype input, std::uint64_t seed) {
  MatmulCase matmul;
  GemmCase& gemm = matmul.gemm;
  gemm.transa = BWGEMM_OP_T;  // K-major in the kernels' terms, like N of B
  gemm.m = 80, gemm.n = 72, gemm.k = 40;
  gemm.input = gemm.output = input;
  gemm.ld_multiple = 8;
  gemm.alpha = 0x1p-4f;
  gemm.fill = Fill::integers;
  gemm.seed = seed;
  return matmul;
}

// All that any kernel of tensor maps can do without a gate.
std::vector<MatmulCase> fused_cases(Dtype input) {
  std::vector<MatmulCase> cases;
  auto add = [&]() -> MatmulCase& {
    return cases.emplace_back(exact_case(input, cases.size() + 1));
  };
  for (const bwgemmActivation_t activation : activations) {
    MatmulCase& forward = add();
    forward.fusing.activation = activation;
    forward.fusing.bias = activation % 2 == 0 ? Bias::along_m : Bias::along_n;
    forward.fusing.bias_type = activation % 3 == 0 ? Dtype::f32 : input;
    forward.gemm.output = activation % 4 == 1 ? Dtype::f32 : input;
    if (activation == BWGEMM_ACTIVATION_NONE) continue;
    MatmulCase& backward = add();
    backward.fusing.activation = activation;
    backward.fusing.aux = BWGEMM_AUX_DERIVATIVE;
    backward.fusing.aux_type = activation % 2 == 0 ? Dtype::f32 : input;
    backward.fusing.aux_extra = 8;
  }
  MatmulCase& scaled = add();
  scaled.fusing.row_scale = scaled.fusing.column_scale = true;
  scaled.fusing.activation = BWGEMM_ACTIVATION_SILU;
  scaled.fusing.aux = BWGEMM_AUX_STORE;
  scaled.fusing.aux_type = input;
  scaled.gemm.beta = -0.5f;  // C is D
  scaled.gemm.m = 136;
  MatmulCase& residual = add();
  residual.gemm.beta = 2;
  residual.gemm.batch = 2;
  residual.fusing.c_apart = true;
  residual.fusing.c = Dtype::f32;
  residual.fusing.bias = Bias::along_m;
  residual.fusing.aux = BWGEMM_AUX_STORE;
  MatmulCase& apart = add();
  apart.gemm.beta = 1;
  apart.gemm.output = Dtype::f32;
  apart.gemm.n = 200;
  apart.fusing.c_apart = true;
  apart.fusing.c = input;
  apart.fusing.activation = BWGEMM_ACTIVATION_RELU;
  MatmulCase& staged = add();
  staged.gemm.beta = 1;
  staged.fusing.c_apart = true;
  staged.fusing.c = input;
  staged.fusing.row_scale = true;
  // Where C cancels the product, a bias that is added first is lost to rounding.
  for (const Bias bias : {Bias::along_m, Bias::along_n}) {
    MatmulCase& order = add();
    order.gemm.k = 1;
    order.gemm.alpha = 0x1p24f;
    order.gemm.beta = -0x1p24f;
    order.gemm.output = Dtype::f32;
    order.fusing.bias = bias;
  }
  return cases;
}

std::vector<MatmulCase> gated_cases(Dtype input) {
  std::vector<MatmulCase> cases;
  for (const bwgemmGate_t gate : {BWGEMM_GATE_INTERLEAVED, BWGEMM_GATE_STACKED})
    for (const bool to_f32 : {false, true}) {
      MatmulCase& matmul = cases.emplace_back(exact_case(input, cases.size() + 50));
      matmul.gemm.output = to_f32 ? Dtype::f32 : input;
      matmul.gemm.m = to_f32 ? 272 : 144;  // D has half of it, in whole units of 16 bytes
      matmul.gemm.batch = to_f32 ? 1 : 2;
      matmul.gemm.k = 72;
      matmul.fusing.gate = gate;
      matmul.fusing.activation = to_f32 ? BWGEMM_ACTIVATION_GELU_ERF : BWGEMM_ACTIVATION_SILU;
      matmul.fusing.bias = Bias::along_m;
      matmul.fusing.row_scale = to_f32;
      matmul.fusing.column_scale = true;
      MatmulCase bare = matmul;
      bare.fusing.bias = Bias::none;
      bare.fusing.row_scale = bare.fusing.column_scale = false;
      cases.push_back(bare);
    }
  return cases;
}

// What only the kernel that serves everything must do.
std::vector<MatmulCase> odd_cases() {
  std::vector<MatmulCase> cases;
  auto add = [&]() -> MatmulCase& {
    MatmulCase& matmul = cases.emplace_back(exact_case(Dtype::f16, cases.size() + 80));
    matmul.gemm.ld_multiple = 1;
    matmul.gemm.m = 66, matmul.gemm.n = 33, matmul.gemm.k = 21;
    matmul.gemm.lda_extra = 1, matmul.gemm.ldb_extra = 2, matmul.gemm.ldc_extra = 3;
    matmul.gemm.a_displacement = 3, matmul.gemm.c_displacement = 1;
    return matmul;
  };
  for (const bwgemmGate_t gate : {BWGEMM_GATE_INTERLEAVED, BWGEMM_GATE_STACKED})
    for (const bwgemmOperation_t transa : {BWGEMM_OP_N, BWGEMM_OP_T}) {
      MatmulCase& gated = add();
      gated.gemm.transa = transa;
      gated.gemm.m = 134;
      gated.fusing.gate = gate;
      gated.fusing.activation = BWGEMM_ACTIVATION_GELU_TANH;
      gated.fusing.aux = BWGEMM_AUX_STORE;
      gated.fusing.aux_type = Dtype::f16;
      gated.fusing.aux_displacement = 1;
      gated.fusing.bias = Bias::along_n;
    }
  MatmulCase& wide = add();  // in whole accesses along m and n
  wide.gemm.m = 72, wide.gemm.n = 80, wide.gemm.k = 100;
  wide.gemm.lda_extra = wide.gemm.ldb_extra = 0;
  wide.gemm.a_displacement = 0;
  wide.gemm.transa = BWGEMM_OP_N, wide.gemm.transb = BWGEMM_OP_T;
  MatmulCase& one_step = add();  // of k, and a next one would begin anywhere
  one_step.gemm.m = 66, one_step.gemm.n = 33, one_step.gemm.k = 1;
  one_step.gemm.ld_multiple = 1, one_step.gemm.lda_extra = 1, one_step.gemm.ldb_extra = 0;
  one_step.gemm.a_displacement = one_step.gemm.b_displacement = 0;
  one_step.gemm.transa = BWGEMM_OP_N, one_step.gemm.transb = BWGEMM_OP_T;
  MatmulCase& rows = add();
  rows.gemm.beta = -1;
  rows.fusing.c_apart = rows.fusing.c_in_rows = true;
  rows.fusing.c_displacement = 1;
  rows.fusing.bias = Bias::along_m;
  MatmulCase& pointers = add();
  pointers.gemm.batch = 3;
  pointers.gemm.beta = 1;
  pointers.fusing.pointer_array = true;
  MatmulCase& across = add();  // operands lie along m and n
  across.gemm.batch = 2;
  across.gemm.transa = BWGEMM_OP_N, across.gemm.transb = BWGEMM_OP_T;
  across.fusing.pointer_array = true;
  MatmulCase& all = add();
  all.gemm.batch = 2;
  all.gemm.repeat_b = true;
  all.gemm.beta = 0.5f;
  all.fusing = pointers.fusing;
  all.fusing.c_apart = true;
  all.fusing.activation = BWGEMM_ACTIVATION_SILU;
  all.fusing.aux = BWGEMM_AUX_DERIVATIVE;
  all.fusing.aux_type = Dtype::f16;
  MatmulCase& nothing = add();
  nothing.gemm.k = 0;
  nothing.gemm.beta = 1;
  nothing.fusing.bias = Bias::along_n;
  nothing.fusing.activation = BWGEMM_ACTIVATION_GELU_ERF;
  MatmulCase& no_pointers = add();
  no_pointers.gemm.k = 0;
  no_pointers.gemm.batch = 3;
  no_pointers.gemm.beta = 1;
  no_pointers.fusing.pointer_array = true;
  MatmulCase& zero = add();
  zero.gemm.alpha = 0;
  zero.fusing.bias = Bias::along_m;
  MatmulCase& split = add();
  split.gemm.k = 2000;
  split.gemm.alpha = 0x1p-7f;
  split.fusing.activation = BWGEMM_ACTIVATION_GELU_ERF;
  return cases;
}

std::vector<MatmulCase> mixed_cases() {
  std::vector<MatmulCase> cases;
  for (const GemmCase& gemm : mixed_operands()) cases.emplace_back().gemm = gemm;
  return cases;
}

class Matmul : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    arch_ = device_arch();
  }

  std::vector<std::string> all_of(Family family) const {
    std::vector<std::string> names;
    for (const KernelConfig& row : kernel_variants)
      if (row.arch == arch_ && row.family == family) names.emplace_back(kernel_name(row).view());
    return names;
  }
  std::string direct() const { return all_of(Family::direct).front(); }

  // What the code of an epilogue depends on.
  static auto kind(const KernelConfig& row) {
    const bool is_sm90 = row.family == Family::cooperative;
    const sm90::StagedBoxes boxes = is_sm90 ? sm90::staged_boxes(row) : sm90::StagedBoxes{};
    return std::tuple(row.family, row.store, row.swaps_ab, row.cluster.m, row.cluster.n,
                      is_sm90 ? sm90::warpgroups_of(row).rows : row.tile.m, boxes.patch_columns,
                      can_gate(row), boxes.lines, sm90::parts_of(row).takes_matrices);
  }

  // One row for each kind of epilogue, with operands as the cases have them.
  std::vector<KernelConfig> kinds() const {
    std::vector<KernelConfig> rows;
    for (const KernelConfig& row : kernel_variants) {
      const bool is_other =
          row.family == Family::direct || row.family == Family::dot || row.load == Load::units;
      if (row.arch != arch_ || is_other || row.choices != Sm100Choices{} || row.a == Major::mn ||
          row.b == Major::mn)
        continue;
      const auto is_alike = [&](const KernelConfig& other) { return kind(row) == kind(other); };
      const auto known = std::find_if(rows.begin(), rows.end(), is_alike);
      if (known == rows.end())
        rows.push_back(row);
      else if (row.tile.m * row.tile.n < known->tile.m * known->tile.n)
        *known = row;
    }
    return rows;
  }

  Arch arch_ = Arch::sm90;
};

// Runs the case, if the handle's kernel serves it.
bool is_served(bwgemmHandle_t handle, MatmulOperands& operands) {
  const bwgemmStatus_t status = operands.call(handle);
  if (status == BWGEMM_STATUS_NOT_SUPPORTED) return false;
  EXPECT_TRUE(succeeds(status));
  operands.expect_result();
  return true;
}

TEST_F(Matmul, DirectServesEverything) {
  const Variable kernel("BWGEMM_FORCE_KERNEL", direct());
  const Handle handle;
  for (const auto& cases :
       {fused_cases(Dtype::bf16), gated_cases(Dtype::f16), odd_cases(), mixed_cases()})
    for (const MatmulCase& matmul : cases) {
      MatmulOperands operands(matmul);
      EXPECT_TRUE(is_served(handle.get(), operands)) << matmul << bwgemmGetLastErrorString();
    }
}

// All but gates, arrays of pointers among them.
TEST_F(Matmul, WarpServesEverythingWithoutGates) {
  for (const std::string& name : all_of(Family::warp)) {
    SCOPED_TRACE(name);
    const Variable kernel("BWGEMM_FORCE_KERNEL", name);
    const Handle handle;
    MatmulCase nearly_a_step = exact_case(Dtype::bf16, 70);
    nearly_a_step.gemm.k = 31;
    for (const auto& cases : {fused_cases(Dtype::bf16), fused_cases(Dtype::f16), odd_cases(),
                              std::vector<MatmulCase>{nearly_a_step}})
      for (const MatmulCase& matmul : cases) {
        if (matmul.fusing.gate != BWGEMM_GATE_NONE) continue;
        MatmulOperands operands(matmul);
        EXPECT_TRUE(is_served(handle.get(), operands)) << matmul << bwgemmGetLastErrorString();
      }
  }
}

// Arrays of pointers among them. Kernels of few columns serve none of these.
TEST_F(Matmul, StationaryServesWhatRunsAlongK) {
  for (const KernelConfig& row : kernel_variants) {
    if (row.arch != arch_ || row.family != Family::stationary || row.load == Load::units) continue;
    const std::string name(kernel_name(row).view());
    SCOPED_TRACE(name);
    const Variable kernel("BWGEMM_FORCE_KERNEL", name);
    const Handle handle;
    int served = 0;
    for (const auto& cases : {fused_cases(Dtype::bf16), odd_cases()})
      for (const MatmulCase& matmul : cases) {
        MatmulOperands operands(matmul);
        served += is_served(handle.get(), operands);
      }
    EXPECT_GT(served, 0);
  }
}

TEST_F(Matmul, EveryKindOfKernelGivesTheSameBits) {
  std::map<Dtype, std::vector<std::vector<std::byte>>> of_direct;  // of each case, by inputs' type
  for (const KernelConfig& row : kinds()) {
    const std::string name(kernel_name(row).view());
    SCOPED_TRACE(name);
    const Dtype input = inputs(row.mma).front();
    std::vector<MatmulCase> cases = fused_cases(input);
    for (const MatmulCase& gated : gated_cases(input)) cases.push_back(gated);
    const auto handle_of = [](const std::string& forced) {
      const Variable kernel("BWGEMM_FORCE_KERNEL", forced);
      const Variable splits("BWGEMM_FORCE_SPLITS", "1");
      return std::make_unique<Handle>();
    };
    std::vector<std::vector<std::byte>>& expected = of_direct[input];
    if (expected.empty()) {
      const std::unique_ptr<Handle> handle = handle_of(direct());
      for (const MatmulCase& matmul : cases) {
        MatmulOperands operands(matmul);
        ASSERT_TRUE(is_served(handle->get(), operands))
            << direct() << ' ' << matmul << ' ' << bwgemmGetLastErrorString();
        expected.push_back(operands.bytes_of_d());
      }
    }
    const std::unique_ptr<Handle> handle = handle_of(name);
    int served = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      MatmulOperands operands(cases[i]);
      if (!is_served(handle->get(), operands)) continue;
      ++served;
      EXPECT_EQ(expected[i], operands.bytes_of_d()) << cases[i];
    }
    const auto can_serve = [&](const MatmulCase& matmul) {
      const Fusing& fusing = matmul.fusing;
      const bool has_matrices = matmul.gemm.beta != 0 || fusing.aux != BWGEMM_AUX_NONE;
      return (fusing.gate == BWGEMM_GATE_NONE || can_gate(row)) &&
             (!has_matrices || sm90::parts_of(row).takes_matrices);
    };
    EXPECT_GE(served, std::count_if(cases.begin(), cases.end(), can_serve));
  }
}

// Unforced, with a B of either direction; D ends inside of a tile.
TEST_F(Matmul, LargeGatesRunOnTheTensorCoresOfTheArchitecture) {
  const Handle handle;
  for (const bwgemmGate_t gate : {BWGEMM_GATE_INTERLEAVED, BWGEMM_GATE_STACKED})
    for (const bwgemmOperation_t transa : {BWGEMM_OP_T, BWGEMM_OP_N}) {
      if (arch_ == Arch::sm90 && transa == BWGEMM_OP_N) continue;
      MatmulCase matmul = exact_case(Dtype::bf16, 200);
      matmul.gemm.m = 2000, matmul.gemm.n = 520, matmul.gemm.k = 72;
      matmul.gemm.transa = transa;
      matmul.fusing.gate = gate;
      matmul.fusing.activation = BWGEMM_ACTIVATION_SILU;
      MatmulOperands operands(matmul);
      const std::string kernel = operands.kernel(handle.get());
      for (const Family without : {Family::direct, Family::dot, Family::warp})
        EXPECT_FALSE(kernel.ends_with(name(without))) << kernel << ' ' << matmul;
      EXPECT_TRUE(is_served(handle.get(), operands)) << matmul << bwgemmGetLastErrorString();
    }
}

// Sums of all splits, then the gate.
TEST_F(Matmul, GatesOfSplitSumsGiveTheSameBits) {
  for (const KernelConfig& row : kinds()) {
    if (!can_gate(row) || row.ping_pong) continue;
    const std::string name(kernel_name(row).view());
    SCOPED_TRACE(name);
    const Variable kernel("BWGEMM_FORCE_KERNEL", name);
    std::unique_ptr<Handle> handles[2];
    for (int i = 0; i < 2; ++i) {
      const Variable splits("BWGEMM_FORCE_SPLITS", i == 0 ? "1" : "3");
      handles[i] = std::make_unique<Handle>();
    }
    for (MatmulCase matmul : gated_cases(inputs(row.mma).front())) {
      matmul.gemm.k = 12 * row.tile.k + 8;
      matmul.gemm.alpha = 0x1p-7f;
      MatmulOperands operands(matmul);
      std::vector<std::byte> bits[2];
      for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(is_served(handles[i]->get(), operands)) << matmul << bwgemmGetLastErrorString();
        bits[i] = operands.bytes_of_d();
        operands.restore();
      }
      EXPECT_EQ(bits[0], bits[1]) << matmul;
    }
  }
}

}  // namespace
}  // namespace bwgemm::test
