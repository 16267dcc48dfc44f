// SPDX-License-Identifier: Apache-2.0
#include "rules/rejects.h"

namespace bwgemm {
namespace {

constexpr MatrixTexts a_texts = {"A does not start at a multiple of 16 bytes",
                                 "the leading dimension of A is not a multiple of 16 bytes",
                                 "the leading dimension of A reaches 2^40 bytes",
                                 "the batch stride of A is not a multiple of 16 bytes",
                                 "the batch stride of A reaches 2^40 bytes",
                                 "the batch stride of A is smaller than a tensor map allows"};
constexpr MatrixTexts b_texts = {"B does not start at a multiple of 16 bytes",
                                 "the leading dimension of B is not a multiple of 16 bytes",
                                 "the leading dimension of B reaches 2^40 bytes",
                                 "the batch stride of B is not a multiple of 16 bytes",
                                 "the batch stride of B reaches 2^40 bytes",
                                 "the batch stride of B is smaller than a tensor map allows"};

// The direction of D in which elements lie next to each other, and the lines of that direction.
struct OutputExtent {
  Order order;
  std::int64_t contiguous, lines;
};

OutputExtent output_extent(const Problem& problem, const KernelConfig& config) {
  if (config.swaps_ab) return {Order::column, d_rows(problem), problem.n};
  return {Order::row, d_columns(problem), problem.m};
}

// An epilogue that stores rows by TMA moves two neighbours at once.
bool has_pairs(const Matrix& matrix, std::int64_t batch) {
  const std::uintptr_t pair_bytes = 2 * static_cast<std::uintptr_t>(size_bytes(matrix.type));
  return matrix.order == Order::row &&
         reinterpret_cast<std::uintptr_t>(matrix.data) % pair_bytes == 0 && matrix.ld % 2 == 0 &&
         (batch == 1 || matrix.batch_stride % 2 == 0);
}

}  // namespace

constexpr MatrixTexts d_texts = {"D does not start at a multiple of 16 bytes",
                                 "the leading dimension of D is not a multiple of 16 bytes",
                                 "the leading dimension of D reaches 2^40 bytes",
                                 "the batch stride of D is not a multiple of 16 bytes",
                                 "the batch stride of D reaches 2^40 bytes",
                                 "the batch stride of D is smaller than a tensor map allows"};

constexpr Texts as_given = {a_texts,
                            b_texts,
                            "takes A contiguous along k",
                            "takes A contiguous along m",
                            "takes B contiguous along k",
                            "takes B contiguous along n",
                            "m is too large for 32-bit tile coordinates",
                            "n is too large for 32-bit tile coordinates"};
constexpr Texts exchanged = {b_texts,
                             a_texts,
                             as_given.b_along_k,
                             as_given.b_along_n,
                             as_given.a_along_k,
                             as_given.a_along_m,
                             as_given.n_limit,
                             as_given.m_limit};

const char* device_rejects(const DeviceFacts& facts, const KernelConfig& config) {
  if (!is_supported(facts) || config.arch != facts.arch())
    return config.arch == Arch::sm90 ? "needs compute capability 9.0"
                                     : "needs compute capability 10.0 or 10.3";
  if (facts.sm_count < config.cluster.size())
    return "its cluster needs more multiprocessors than the call may use";
  if (facts.largest_cluster < config.cluster.size())
    return "its cluster may find no room in a context with part of the device";
  return nullptr;
}

const char* type_rejects(const Problem& problem, const KernelConfig& config) {
  if (!takes(config.mma, {problem.a.type, problem.b.type})) return facts_of(config.mma).takes;
  const auto is_known = [type = type16(problem)](Dtype one) {
    return one == type || one == Dtype::f32;
  };
  if (!is_known(problem.d.type)) return "D is none of bf16, f16 and f32";
  if (problem.reads_c() && !is_known(problem.c.type))
    return "C is neither of the 16-bit type of the output nor of f32";
  const Epilogue& epilogue = problem.epilogue;
  for (const Vector* bias : {&epilogue.row_bias, &epilogue.column_bias})
    if (bias->data != nullptr && !is_known(bias->type))
      return "a bias is neither of the 16-bit type of the output nor of f32";
  if (epilogue.aux.data != nullptr && !is_known(epilogue.aux.type))
    return "aux is neither of the 16-bit type of the output nor of f32";
  return nullptr;
}

// Judges the problem as it is given: most variants go here.
const char* major_rejects(const Problem& given, const KernelConfig& config, const Texts& texts) {
  const bool is_transposed = sees_transposed(config, given);
  const Major a = is_transposed ? b_major(given) : a_major(given);
  const Major b = is_transposed ? a_major(given) : b_major(given);
  if (config.a != Major::any && config.a != a)
    return config.a == Major::k ? texts.a_along_k : texts.a_along_m;
  if (config.b != Major::any && config.b != b)
    return config.b == Major::k ? texts.b_along_k : texts.b_along_n;
  return nullptr;
}

const char* tile_rejects(const Problem& problem, int tile_m, int tile_n) {
  if (problem.batch > index_limit) return "more than 2^31 - 1 batches";
  const TileCounts tiles = tile_counts(problem, tile_m, tile_n);
  if (tiles.m > index_limit || tiles.n > index_limit || tiles.m * tiles.n > index_limit ||
      tiles.total() > index_limit)
    return "more than 2^31 - 1 tiles";
  return nullptr;
}

const char* size_rejects(const Problem& problem, const KernelConfig& config, int tile_m, int tile_n,
                         const Texts& texts) {
  if (problem.m > index_limit - tile_m) return texts.m_limit;
  if (problem.n > index_limit - tile_n) return texts.n_limit;
  if (problem.k > index_limit - config.tile.k) return "k is too large for 32-bit tile coordinates";
  return nullptr;
}

const char* order_rejects(const Problem& problem, const KernelConfig& config) {
  return problem.d.order == output_extent(problem, config).order ? nullptr
                                                                 : "D is not in row order";
}

const char* output_map_rejects(const Problem& problem, const KernelConfig& config) {
  const OutputExtent output = output_extent(problem, config);
  if (const char* reason = tma_rejects(problem.d, output.lines, problem.batch, d_texts))
    return reason;
  // TMA stores clip at 16-byte units: they write zeros into what follows a row inside its last unit
  // (seen on an H200, 2026-11-21). Loads clip at elements.
  if (output.contiguous * size_bytes(problem.d.type) % tma_alignment_bytes != 0)
    return "rows of D do not end at a multiple of 16 bytes, where TMA stores would";
  return nullptr;
}

const char* fused_matrices_reject(const Problem& problem, const KernelConfig& config) {
  if (!stores_rows_by_tma(config)) return nullptr;
  if (problem.reads_c() && !stages_c(problem, config) && !has_pairs(problem.c, problem.batch))
    return "C is neither laid out as D nor in aligned pairs of columns";
  const Matrix& aux = problem.epilogue.aux;
  return aux.data != nullptr && !has_pairs(aux, problem.batch)
             ? "aux is not in aligned pairs of columns"
             : nullptr;
}

}  // namespace bwgemm
