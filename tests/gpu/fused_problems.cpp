// SPDX-License-Identifier: Apache-2.0
#include "gpu/fused_problems.h"

#include <algorithm>

#include "kernels/rows.h"
#include "kernels/shape.h"

namespace bwgemm::test {
namespace {

constexpr int unit = 8;  // elements that always fill 16 bytes

// One tile of a cluster, less some columns and a unit of depth, in the kernel's own terms.
RowProblem one_tile(const KernelConfig& row, Dtype input, bool to_f32) {
  const int tile_n = row.tile.n != 0 ? row.tile.n : 32;
  const KernelShape shape = kernel_shape(row, tile_n, input);
  const std::int64_t m = std::max(shape.cluster_tile_m, row.tile.m);
  const std::int64_t n = std::max(shape.cluster_tile_n, tile_n);
  // Rows of D end at 16 bytes; columns, of which some tiles have few, may end anywhere.
  const std::int64_t columns =
      row.output == Output::columns ? n - 1 : std::max<std::int64_t>(n - unit, unit);
  RowProblem problem{
      gemm_of(row, m, columns, row.tile.k - unit, majors(row.a).front(), majors(row.b).front())};
  if (row.tile.n == 0) problem.tile_n = tile_n;
  GemmCase& gemm = problem.gemm;
  gemm.input = input;
  gemm.output = to_f32 ? Dtype::f32 : input;
  gemm.ld_multiple = unit;
  gemm.alpha = 0x1p-4f;
  gemm.fill = Fill::integers;
  problem.clusters = row.choices.schedule == Schedule::persistent ? 1 : 0;
  problem.fusing.emplace();
  return problem;
}

// Every operation, but a gate's, and every type of operand.
std::vector<RowProblem> operations(const KernelConfig& row, Dtype input) {
  std::vector<RowProblem> problems;
  const auto add = [&](bool to_f32, bwgemmActivation_t activation) -> RowProblem& {
    RowProblem& problem = problems.emplace_back(one_tile(row, input, to_f32));
    problem.fusing->activation = activation;
    return problem;
  };
  const auto add_bias = [](RowProblem& problem, Bias bias, Dtype type) {
    problem.fusing->bias = bias;
    problem.fusing->bias_type = type;
  };
  const auto add_aux = [](RowProblem& problem, bwgemmAuxMode_t mode, Dtype type) {
    problem.fusing->aux = mode;
    problem.fusing->aux_type = type;
  };
  const auto add_c = [](RowProblem& problem, Dtype type) {
    problem.gemm.beta = -0.5f;
    problem.fusing->c_apart = true;
    problem.fusing->c = type;
  };
  RowProblem& silu = add(false, BWGEMM_ACTIVATION_SILU);
  silu.fusing->row_scale = silu.fusing->column_scale = true;
  silu.gemm.beta = 2;  // C is D
  add_bias(silu, Bias::along_m, Dtype::f32);
  add_aux(silu, BWGEMM_AUX_STORE, Dtype::f32);
  RowProblem& relu = add(true, BWGEMM_ACTIVATION_RELU);
  relu.gemm.beta = 2;
  add_bias(relu, Bias::along_n, input);
  add_aux(relu, BWGEMM_AUX_STORE, input);
  RowProblem& erf = add(false, BWGEMM_ACTIVATION_GELU_ERF);
  add_bias(erf, Bias::along_m, input);
  add_c(erf, Dtype::f32);
  RowProblem& silu_slope = add(true, BWGEMM_ACTIVATION_GELU_TANH);
  add_bias(silu_slope, Bias::along_n, Dtype::f32);
  add_aux(silu_slope, BWGEMM_AUX_DERIVATIVE, Dtype::f32);
  add_c(silu_slope, input);
  // No matrices but D: what Hopper's kernels do on all accumulators at once, of a whole tile and of
  // one that is not.
  const auto add_vectors = [&](bool to_f32, bwgemmActivation_t activation, Bias bias,
                               Dtype type) -> RowProblem& {
    RowProblem& problem = add(to_f32, activation);
    std::int64_t& columns = row.output == Output::columns ? problem.gemm.n : problem.gemm.m;
    if (row.family == Family::cooperative) columns += row.tile.n * row.cluster.n;
    add_bias(problem, bias, type);
    return problem;
  };
  RowProblem& scaled = add_vectors(false, BWGEMM_ACTIVATION_SILU, Bias::along_m, Dtype::f32);
  scaled.fusing->row_scale = scaled.fusing->column_scale = true;
  add_vectors(true, BWGEMM_ACTIVATION_GELU_ERF, Bias::along_n, input);
  add_vectors(false, BWGEMM_ACTIVATION_RELU, Bias::along_m, input);
  add_vectors(true, BWGEMM_ACTIVATION_NONE, Bias::along_n, Dtype::f32);
  add_aux(add(false, BWGEMM_ACTIVATION_RELU), BWGEMM_AUX_DERIVATIVE, input);
  add_aux(add(true, BWGEMM_ACTIVATION_GELU_ERF), BWGEMM_AUX_DERIVATIVE, input);
  return problems;
}

}  // namespace

std::vector<RowProblem> fused_problems(const KernelConfig& row) {
  std::vector<RowProblem> problems;
  for (const Dtype input : inputs(row.input)) {
    for (const RowProblem& problem : operations(row, input)) problems.push_back(problem);
    if (row.family != Family::dot) continue;
    RowProblem& tall = problems.emplace_back(one_tile(row, input, false));  // seen transposed
    tall.gemm.m = 3, tall.gemm.n = 40;
    tall.gemm.transa = BWGEMM_OP_N;
    tall.gemm.transb = row.b == Major::k ? BWGEMM_OP_N : BWGEMM_OP_T;
    tall.fusing->row_scale = tall.fusing->column_scale = true;
  }
  const bool can_gate =
      row.family == Family::direct || (row.family == Family::cooperative && sm90::can_gate(row));
  for (int i = 0; can_gate && i < 4; ++i) {
    const bool to_f32 = i % 2 != 0, has_vectors = i / 2 != 0;
    RowProblem& problem = problems.emplace_back(one_tile(row, inputs(row.input).front(), to_f32));
    problem.gemm.m = (problem.gemm.m + 15) / 16 * 16;  // whole groups of x and y
    problem.fusing->gate = to_f32 ? BWGEMM_GATE_STACKED : BWGEMM_GATE_INTERLEAVED;
    problem.fusing->activation =
        to_f32 || has_vectors ? BWGEMM_ACTIVATION_SILU : BWGEMM_ACTIVATION_RELU;
    if (!has_vectors) continue;
    problem.fusing->bias = Bias::along_m;
    problem.fusing->row_scale = to_f32;
  }
  for (std::size_t i = 0; i < problems.size(); ++i) problems[i].gemm.seed = i + 1;
  return problems;
}

}  // namespace bwgemm::test
