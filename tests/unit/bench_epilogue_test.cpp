// SPDX-License-Identifier: Apache-2.0
// Epilogues of bwgemm_bench: their names, what they make of a problem and of its call, the way
// through a result file, and the activations they are checked by.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "bench/call.h"
#include "bench/epilogue.h"
#include "bench/problem.h"
#include "bench/row.h"
#include "bench/selection.h"

namespace bwgemm::bench {
namespace {

const std::vector<std::string> names = {
    "none",          "bias",          "residual",       "relu",        "gelu_tanh",  "gelu_erf",
    "silu",          "swiglu",        "geglu",          "drelu",       "dgelu",      "bias_relu",
    "bias_residual", "bias_gelu_erf", "bias_gelu_tanh", "bias_swiglu", "bias_geglu", "bias_silu"};

BenchProblem problem_with(const std::string& epilogue) {
  return parse_problem("m=48,n=80,k=32,transb=T,batch=2,epilogue=" + epilogue, false);
}

TEST(BenchEpilogue, NamesAreReadBack) {
  for (const std::string& name : names) {
    EXPECT_EQ(epilogue_name(parse_epilogue(name, "")), name);
    EXPECT_EQ(parse_epilogue(name, "").any(), name != "none");
  }
  const BenchEpilogue stacked = parse_epilogue("bias_swiglu", "stacked");
  EXPECT_EQ(stacked.gate, BWGEMM_GATE_STACKED);
  EXPECT_EQ(epilogue_name(stacked), "bias_swiglu");
  EXPECT_EQ(gate_name(stacked), "stacked");
  EXPECT_EQ(gate_name(parse_epilogue("geglu", "")), "interleaved");
}

TEST(BenchEpilogue, ShapesWhatIsReadAndWritten) {
  const BenchProblem gated = problem_with("bias_swiglu");
  EXPECT_EQ(gated.m, 80);
  EXPECT_EQ(gated.c.rows, 40);
  EXPECT_EQ(gated.c.ld, 40);
  EXPECT_EQ(gated.c.stride, 40 * 48);
  EXPECT_EQ(gated.bias().rows, 80);
  EXPECT_EQ(gated.bias().stride, 80);
  const BenchProblem residual = problem_with("residual");
  EXPECT_EQ(residual.beta, 1);
  EXPECT_EQ(residual.residual().rows, 80);
  EXPECT_EQ(residual.bias().span(2), 0);
  EXPECT_EQ(residual.aux().span(2), 0);
  EXPECT_EQ(parse_problem("m=8,n=8,k=8,epilogue=residual,beta=0.5", false).beta, 0.5f);
  EXPECT_EQ(problem_with("dgelu").aux().columns, 48);
}

TEST(BenchEpilogue, ResultRowsAreReadBackAsTheSameCall) {
  std::string file;
  for (const std::string& name : names) {
    const std::vector<Cell> cells = problem_cells(problem_with(name));
    if (file.empty()) file = csv_header(cells) + "\n";
    file += csv_row(cells) + "\n";
  }
  const std::vector<Cell> stacked = problem_cells(problem_with("swiglu,gate=stacked"));
  const Table table = Table::parse(file + csv_row(stacked) + "\n", "results.csv");
  for (std::size_t row = 0; row < names.size(); ++row) {
    const BenchProblem read = problem_of_result(table, row), wanted = problem_with(names[row]);
    EXPECT_EQ(read.epilogue, wanted.epilogue);
    EXPECT_EQ(csv_row(problem_cells(read)), csv_row(problem_cells(wanted)));
  }
  EXPECT_EQ(problem_of_result(table, names.size()).epilogue.gate, BWGEMM_GATE_STACKED);
}

TEST(BenchEpilogue, IsWhatTheCallSays) {
  const BenchProblem problem = problem_with("bias_geglu,gate=stacked");
  const Pointers at = nominal_pointers(problem);
  const MatmulCall call = matmul_call(problem, at);
  EXPECT_EQ(call.desc.activation, BWGEMM_ACTIVATION_GELU_TANH);
  EXPECT_EQ(call.desc.gate, BWGEMM_GATE_STACKED);
  EXPECT_EQ(call.desc.bias, at.bias);
  EXPECT_EQ(call.desc.biasDim, BWGEMM_DIM_M);
  EXPECT_EQ(call.desc.strideBias, 80);
  EXPECT_EQ(call.desc.ldd, 40);
  EXPECT_EQ(call.beta, nullptr);
  const BenchProblem residual = problem_with("residual");
  const Pointers with_c = nominal_pointers(residual);
  EXPECT_EQ(matmul_call(residual, with_c).c, with_c.residual);
  EXPECT_NE(with_c.residual, with_c.c);
  const BenchProblem derivative = problem_with("dgelu");
  EXPECT_EQ(matmul_call(derivative, nominal_pointers(derivative)).desc.auxMode,
            BWGEMM_AUX_DERIVATIVE);
}

TEST(BenchEpilogue, SelectionSeesIt) {
  for (const std::string& name : names) {
    const std::string text = explain_nominally(problem_with(name));
    EXPECT_EQ(text.find("\nwith ") != std::string::npos, name != "none") << text;
    EXPECT_EQ(chosen(problem_with(name), NominalDevice::h200).variant.kernel, chosen_kernel(text))
        << name;
  }
}

TEST(BenchEpilogue, ActivationsAndTheirSlopes) {
  EXPECT_EQ(activated(BWGEMM_ACTIVATION_RELU, -2).value, 0);
  EXPECT_EQ(activated(BWGEMM_ACTIVATION_RELU, 2).value, 2);
  EXPECT_NEAR(activated(BWGEMM_ACTIVATION_GELU_ERF, 1).value, 0.841344746, 1e-9);
  EXPECT_NEAR(activated(BWGEMM_ACTIVATION_GELU_TANH, 1).value, 0.841191991, 1e-9);
  EXPECT_NEAR(activated(BWGEMM_ACTIVATION_SILU, 1).value, 0.731058579, 1e-9);
  for (const bwgemmActivation_t activation : {BWGEMM_ACTIVATION_RELU, BWGEMM_ACTIVATION_GELU_TANH,
                                              BWGEMM_ACTIVATION_GELU_ERF, BWGEMM_ACTIVATION_SILU})
    for (const double x : {-3.0, -0.7, 0.4, 2.5}) {
      constexpr double step = 1e-6;
      const double slope =
          (activated(activation, x + step).value - activated(activation, x - step).value) /
          (2 * step);
      EXPECT_NEAR(activated(activation, x).slope, slope, 1e-8) << activation << " at " << x;
    }
}

}  // namespace
}  // namespace bwgemm::bench
