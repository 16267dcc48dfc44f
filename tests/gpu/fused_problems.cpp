// SPDX-License-Identifier: Apache-2.0
#include "gpu/fused_problems.h"

#include <algorithm>

#include "families/facts.h"
#include "families/variants.h"
#include "gpu/row_measures.h"

namespace bwgemm::test {
namespace {

// One tile of a cluster, less some columns and a unit of depth, in the kernel's own terms.
RowProblem one_tile(const KernelConfig& row, Dtype input, bool to_f32, Major b, int tile_n) {
  const KernelShape shape = kernel_shape(row, tile_n, input);
  const std::int64_t m = std::max(shape.cluster_tile_m, row.tile.m);
  const std::int64_t n = std::max(shape.cluster_tile_n, tile_n);
  // Rows of D end at 16 bytes; columns, of which some tiles have few, may end anywhere.
  const std::int64_t columns = row.swaps_ab ? n - 1 : std::max<std::int64_t>(n - unit, unit);
  RowProblem problem{gemm_of(row, m, columns, row.tile.k - unit, majors(row.a).front(), b)};
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
RowProblem one_tile(const KernelConfig& row, Dtype input, bool to_f32) {
  return one_tile(row, input, to_f32, majors(row.b).front(), row.tile.n != 0 ? row.tile.n : 32);
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
    std::int64_t& columns = row.swaps_ab ? problem.gemm.n : problem.gemm.m;
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
  if (row.ping_pong)  // three tiles for each warpgroup: biases of one are read before the next ones
                      // come
    for (const Bias bias : {Bias::along_m, Bias::along_n}) {
      RowProblem& several = add_vectors(false, BWGEMM_ACTIVATION_GELU_TANH, bias, Dtype::f32);
      several.gemm.m += row.tile.n;
      several.gemm.n += row.tile.m;
    }
  if (input != inputs(row.mma).front()) return problems;  // curves see floats alone
  for (const bwgemmActivation_t activation : {BWGEMM_ACTIVATION_SIGMOID, BWGEMM_ACTIVATION_CLAMP}) {
    add_vectors(false, activation, Bias::along_m, Dtype::f32);
    add_c(add(true, activation), Dtype::f32);
    add_aux(add(false, activation), BWGEMM_AUX_DERIVATIVE, Dtype::f32);
  }
  return problems;
}

}  // namespace

bool can_gate(const KernelConfig& row) {
  switch (row.family) {
    case Family::direct: return true;
    case Family::dot:
    case Family::warp:
    case Family::stationary: return false;
    case Family::cooperative: return sm90::parts_of(row).gates != sm90::Gates::none;
    case Family::pair:
    case Family::single: return sm100::can_gate(row);
  }
  return false;
}

namespace {

// The narrowest that a gate allows.
int gated_tile(const KernelConfig& row, Major b) {
  if (row.tile.n != 0) return row.tile.n;
  int tile_n = sm100::tile_n_step;
  while (sm100::tile_n_invalid_because(row, tile_n, b, true) != nullptr)
    tile_n += sm100::tile_n_step;
  return tile_n;
}

// Tiles of no whole boxes, with and without a gate.
std::vector<RowProblem> rests_of_boxes(const KernelConfig& row, Dtype input) {
  std::vector<RowProblem> problems;
  if (!uses_tensor_memory(row) || row.swaps_ab) return problems;
  for (const bool to_f32 : {false, true})
    for (const bool has_gate : {false, true}) {
      const int tile_n = 48 * (has_gate ? 2 : 1);
      if (sm100::tile_n_invalid_because(row, tile_n, Major::k, has_gate) != nullptr) continue;
      RowProblem& problem = problems.emplace_back(one_tile(row, input, to_f32, Major::k, tile_n));
      Fusing& fusing = *problem.fusing;
      fusing.bias = Bias::along_m;
      fusing.activation = BWGEMM_ACTIVATION_SILU;
      fusing.aux = BWGEMM_AUX_STORE;
      fusing.aux_type = to_f32 ? input : Dtype::f32;
      if (!has_gate) continue;
      fusing.gate = to_f32 ? BWGEMM_GATE_STACKED : BWGEMM_GATE_INTERLEAVED;
      problem.clusters = 0;
      problem.gemm.m = (problem.gemm.m + 15) / 16 * 16 + tile_n / 2;  // whole groups of x and y
    }
  return problems;
}

// Both arrangements, both types of D, with vectors and without. Where the kernel takes any B and
// stores aux too, so do these; the second of their tiles ends inside of x and of y.
std::vector<RowProblem> gates(const KernelConfig& row) {
  std::vector<RowProblem> problems;
  const Dtype input = inputs(row.mma).front();
  for (int i = 0; i < 4; ++i) {
    const bool to_f32 = i % 2 != 0, has_vectors = i / 2 != 0;
    const bool is_mn = uses_tensor_memory(row) && to_f32 != has_vectors;
    const Major b = is_mn ? Major::mn : majors(row.b).front();
    RowProblem& problem =
        problems.emplace_back(one_tile(row, input, to_f32, b, gated_tile(row, b)));
    problem.gemm.m = (problem.gemm.m + 15) / 16 * 16;  // whole groups of x and y
    if (row.family == Family::cooperative && i == 1)
      problem.gemm.k = (row.stages + 1) * row.tile.k - 8;  // slots are waited for
    Fusing& fusing = *problem.fusing;
    fusing.gate = to_f32 ? BWGEMM_GATE_STACKED : BWGEMM_GATE_INTERLEAVED;
    fusing.activation = to_f32 || has_vectors ? BWGEMM_ACTIVATION_SILU : BWGEMM_ACTIVATION_RELU;
    if (has_vectors) {
      fusing.bias = Bias::along_m;
      fusing.row_scale = to_f32;
    }
    if (!uses_tensor_memory(row)) {
      if (!to_f32) {
        RowProblem retyped = problem;
        retyped.gemm.input = retyped.gemm.output = inputs(row.mma).back();
        problems.push_back(retyped);
      }
      continue;
    }
    problem.clusters = 0;  // one has x of the columns that end inside of another's y
    problem.gemm.m += problem.tile_n / 2;
    if (row.store == Store::elements && b == Major::k) problem.gemm.m -= 2;
    if (!has_vectors) continue;
    fusing.aux = BWGEMM_AUX_STORE;
    fusing.aux_type = to_f32 ? input : Dtype::f32;
  }
  if (row.family == Family::cooperative && stores_rows_by_tma(row) && !row.ping_pong) {
    // Two whole tiles, whose output may be an odd number of boxes, and splits of k of a third.
    RowProblem tail = problems.front();
    tail.gemm.n = 3 * row.tile.m * row.cluster.m - 8;
    tail.gemm.k = 8 * row.tile.k - 8;
    tail.splits = Splits::in_memory;
    tail.clusters = 2;
    problems.push_back(tail);
  }
  if (!uses_tensor_memory(row) || !sm100::has_loaders(row)) return problems;
  for (std::size_t i = 0, count = problems.size(); i < count; ++i) {  // B is loaded by threads
    GemmCase& gemm = problems.emplace_back(RowProblem(problems[i])).gemm;
    gemm.m -= 2;
    gemm.ld_multiple = 1;
    gemm.lda_extra = 3;
    gemm.a_displacement = 1;
  }
  return problems;
}

}  // namespace

std::vector<RowProblem> fused_problems(const KernelConfig& row) {
  std::vector<RowProblem> problems;
  for (const Dtype input : inputs(row.mma)) {
    for (const RowProblem& problem : operations(row, input)) problems.push_back(problem);
    for (const RowProblem& problem : rests_of_boxes(row, input)) problems.push_back(problem);
    if (row.family != Family::dot) continue;
    RowProblem& tall = problems.emplace_back(one_tile(row, input, false));  // seen transposed
    tall.gemm.m = std::min(3, row.tile.m), tall.gemm.n = 40;
    tall.gemm.transa = BWGEMM_OP_N;
    tall.gemm.transb = row.b == Major::k ? BWGEMM_OP_N : BWGEMM_OP_T;
    tall.fusing->row_scale = tall.fusing->column_scale = true;
  }
  if (can_gate(row))
    for (const RowProblem& problem : gates(row)) problems.push_back(problem);
  for (std::size_t i = 0; i < problems.size(); ++i) problems[i].gemm.seed = i + 1;
  if (!sm90::parts_of(row).takes_matrices)
    for (RowProblem& problem : problems) {
      problem.gemm.beta = 0;
      problem.fusing->c_apart = false;
      problem.fusing->aux = BWGEMM_AUX_NONE;
    }
  return problems;
}

}  // namespace bwgemm::test
