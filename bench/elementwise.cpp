// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

#include <algorithm>
#include <stdexcept>

namespace bwgemm::bench {

namespace {

Curve curve_of(bwgemmActivation_t activation) {
  switch (activation) {
    case BWGEMM_ACTIVATION_SILU: return Curve::silu;
    case BWGEMM_ACTIVATION_GELU_ERF: return Curve::gelu_erf;
    case BWGEMM_ACTIVATION_GELU_TANH: return Curve::gelu_tanh;
    default: throw std::runtime_error("the elementwise kernel lacks the activation");
  }
}

Pairing pairing_of(bwgemmGate_t gate) {
  switch (gate) {
    case BWGEMM_GATE_INTERLEAVED: return Pairing::interleaved;
    case BWGEMM_GATE_STACKED: return Pairing::stacked;
    default: return Pairing::none;
  }
}

// The product as a GEMM before the kernel writes it: dense, each column at a multiple of 16 bytes.
BenchMatrix room_for(const BenchProblem& problem) {
  constexpr std::int64_t granule = 8;
  const std::int64_t ld = (problem.m + granule - 1) / granule * granule;
  return {.type = problem.a.type,
          .rows = problem.m,
          .columns = problem.n,
          .ld = ld,
          .stride = ld * problem.n};
}

// Whether each column is a multiple of 16 bytes behind a base that is one.
bool is_aligned(const BenchMatrix& matrix, std::int64_t elements) {
  return matrix.displace % 16 == 0 && matrix.ld % elements == 0 && matrix.stride % elements == 0;
}

}  // namespace

std::optional<SplitEpilogue> split_for_cublaslt(const BenchProblem& problem) {
  const BenchEpilogue& epilogue = problem.epilogue;
  SplitEpilogue split{.gemm = problem, .is_apart = false, .needs_room = false};
  if (is_fused_by_cublaslt(epilogue)) {
    // Its relu has a derivative by a mask of bits, which is another problem.
    if (epilogue.derivative && epilogue.activation == BWGEMM_ACTIVATION_RELU) return std::nullopt;
    return split;
  }
  if (problem.c.type != problem.a.type) return std::nullopt;
  split.is_apart = true;
  split.gemm.epilogue = {.bias = epilogue.bias};
  split.needs_room = epilogue.gate != BWGEMM_GATE_NONE;
  if (split.needs_room) split.gemm.c = room_for(problem);
  return split;
}

Elementwise::Elementwise(const Gpu& gpu, const BenchProblem& problem, const SplitEpilogue& split)
    : gpu_(gpu),
      code_(Code::elementwise(gpu)),
      function_(code_.function(
          problem.a.type == BWGEMM_R_16BF ? "elementwise_bf16" : "elementwise_f16", 0)) {
  constexpr std::int64_t in_vector = 8;
  const BenchMatrix &product = split.gemm.c, &result = problem.c;
  const std::int64_t columns = problem.n * problem.batch;
  if (split.needs_room)
    room_ = std::make_unique<DeviceBuffer>(
        static_cast<std::size_t>(product.span(problem.batch) * size_bytes(product.type)));
  params_.curve = curve_of(problem.epilogue.activation);
  params_.pairing = pairing_of(problem.epilogue.gate);
  params_.product_lines = {product.ld, product.stride};
  params_.result_lines = {result.ld, result.stride};
  params_.to_second = problem.m / 2;
  const bool halves_are_aligned =
      params_.pairing != Pairing::stacked || params_.to_second % in_vector == 0;
  params_.is_vector = is_aligned(product, in_vector) && is_aligned(result, in_vector) &&
                      result.rows % in_vector == 0 && halves_are_aligned;
  const std::int64_t per_line = result.rows / (params_.is_vector ? in_vector : 1);
  const std::int64_t pieces = per_line * columns;
  if (pieces >= std::int64_t{1} << 31)
    throw std::runtime_error("the matrix is too large for the elementwise kernel");
  const auto is_dense = [](const BenchMatrix& matrix) {
    return matrix.stride == matrix.ld * matrix.columns;
  };
  const bool batches_touch = is_dense(product) && is_dense(result);
  const bool lines_touch = batches_touch && result.ld == result.rows &&
                           product.ld == product.rows && params_.pairing != Pairing::stacked;
  params_.pieces = static_cast<std::uint32_t>(pieces);
  params_.pieces_per_line = static_cast<std::uint32_t>(lines_touch ? pieces : per_line);
  params_.lines = batches_touch ? 1 : static_cast<std::uint32_t>(problem.n);
}

void Elementwise::run(void* d) const {
  ElementwiseParams params = params_;
  params.product = product(d);
  params.result = d;
  void* parameters[] = {&params};
  const unsigned needed = (params.pieces + elementwise_threads - 1) / elementwise_threads;
  const unsigned resident = static_cast<unsigned>(gpu_.sm_count() * elementwise_ctas_per_sm);
  launch(gpu_, function_, {std::min(needed, resident), elementwise_threads}, parameters);
}

}  // namespace bwgemm::bench
