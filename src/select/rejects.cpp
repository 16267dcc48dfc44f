// SPDX-License-Identifier: Apache-2.0
// The rules are those of the tensor maps (cuTensorMapEncodeTiled), of the 32-bit tile arithmetic of
// the kernels, and of the types an instruction takes.
#include "select/rejects.h"

#include <cstdint>
#include <limits>

#include "core/tiling.h"
#include "kernels/output_path.h"
#include "kernels/residues.h"
#include "kernels/shape.h"

namespace bwgemm {
namespace {

constexpr std::int64_t index_limit = std::numeric_limits<std::int32_t>::max();

struct MatrixTexts {
  const char *base, *ld, *ld_limit, *batch_stride, *batch_stride_limit, *batch_overlap;
};

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
constexpr MatrixTexts d_texts = {"D does not start at a multiple of 16 bytes",
                                 "the leading dimension of D is not a multiple of 16 bytes",
                                 "the leading dimension of D reaches 2^40 bytes",
                                 "the batch stride of D is not a multiple of 16 bytes",
                                 "the batch stride of D reaches 2^40 bytes",
                                 "the batch stride of D is smaller than a tensor map allows"};

// What a kernel calls A, B, m and n, in the letters of the problem as it was given.
struct Texts {
  MatrixTexts a, b;
  const char *a_along_k, *a_along_m, *b_along_k, *b_along_n, *m_limit, *n_limit;
};

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

// `outer` is the number of rows of a row-order matrix, of columns otherwise.
const char* tma_rejects(const Matrix& matrix, std::int64_t outer, std::int64_t batch,
                        const MatrixTexts& texts) {
  const std::int64_t element_bytes = size_bytes(matrix.type);
  const std::int64_t limit = tma_stride_limit_bytes / element_bytes;
  if (reinterpret_cast<std::uintptr_t>(matrix.data) % tma_alignment_bytes != 0) return texts.base;
  if (matrix.ld >= limit) return texts.ld_limit;
  if (matrix.ld * element_bytes % tma_alignment_bytes != 0) return texts.ld;
  if (batch == 1 || matrix.batch_stride == 0) return nullptr;
  if (matrix.batch_stride >= limit) return texts.batch_stride_limit;
  const std::int64_t batch_bytes = matrix.batch_stride * element_bytes;
  if (batch_bytes % tma_alignment_bytes != 0) return texts.batch_stride;
  return batch_bytes < outer ? texts.batch_overlap : nullptr;
}

bool takes(Input input, Dtype type) {
  switch (input) {
    case Input::any16: return type == Dtype::bf16 || type == Dtype::f16;
  }
  return false;
}

const char* input_text(Input input) {
  switch (input) {
    case Input::any16: return "takes bf16 or f16 inputs";
  }
  return "takes other inputs";
}

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
  if (problem.a.type != problem.b.type) return "A and B differ in type";
  if (!takes(config.input, problem.a.type)) return input_text(config.input);
  if (problem.d.type != problem.a.type && problem.d.type != Dtype::f32)
    return "D has neither the type of A and B nor f32";
  const auto is_known = [&](Dtype type) { return type == problem.a.type || type == Dtype::f32; };
  if (problem.reads_c() && !is_known(problem.c.type))
    return "C has neither the type of A and B nor f32";
  const Epilogue& epilogue = problem.epilogue;
  for (const Vector* bias : {&epilogue.row_bias, &epilogue.column_bias})
    if (bias->data != nullptr && !is_known(bias->type))
      return "a bias has neither the type of A and B nor f32";
  if (epilogue.aux.data != nullptr && !is_known(epilogue.aux.type))
    return "aux has neither the type of A and B nor f32";
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

// Coordinates of tiles and of elements are 32-bit in the TMA kernels, the tile index in all.
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

// The direction of D in which elements lie next to each other, and the lines of that direction.
struct OutputExtent {
  Order order;
  std::int64_t contiguous, lines;
};

OutputExtent output_extent(const Problem& problem, const KernelConfig& config) {
  if (config.swaps_ab) return {Order::column, d_rows(problem), problem.n};
  return {Order::row, d_columns(problem), problem.m};
}

const char* operands_reject(const Problem& problem, const KernelConfig& config,
                            const Texts& texts) {
  const auto reason_of = [&](const Matrix& matrix, std::int64_t outer, const MatrixTexts& of) {
    return is_loaded_by_threads(config, matrix, problem.batch)
               ? nullptr
               : tma_rejects(matrix, outer, problem.batch, of);
  };
  const std::int64_t a_outer = a_major(problem) == Major::k ? problem.m : problem.k;
  const std::int64_t b_outer = b_major(problem) == Major::k ? problem.n : problem.k;
  if (const char* reason = reason_of(problem.a, a_outer, texts.a)) return reason;
  return reason_of(problem.b, b_outer, texts.b);
}

const char* matrix_rejects(const Problem& problem, const KernelConfig& config,
                           const OutputExtent& output, const Texts& texts) {
  if (const char* reason = operands_reject(problem, config, texts)) return reason;
  if (stores_of(problem, config) != Stores::by_map) return nullptr;
  if (const char* reason = tma_rejects(problem.d, output.lines, problem.batch, d_texts))
    return reason;
  // TMA stores clip at 16-byte units: they write zeros into what follows a row inside its last unit
  // (seen on an H200, 2026-11-21). Loads clip at elements.
  if (output.contiguous * size_bytes(problem.d.type) % tma_alignment_bytes != 0)
    return "rows of D do not end at a multiple of 16 bytes, where TMA stores would";
  return nullptr;
}

// An epilogue that stores rows by TMA moves two neighbours at once.
bool has_pairs(const Matrix& matrix, std::int64_t batch) {
  const std::uintptr_t pair_bytes = 2 * static_cast<std::uintptr_t>(size_bytes(matrix.type));
  return matrix.order == Order::row &&
         reinterpret_cast<std::uintptr_t>(matrix.data) % pair_bytes == 0 && matrix.ld % 2 == 0 &&
         (batch == 1 || matrix.batch_stride % 2 == 0);
}

// The halves of a stacked gate are loaded apart.
const char* tensor_memory_gate_rejects(const Problem& problem, const KernelConfig& config) {
  if (!sm100::can_gate(config)) return "has no gate: D's columns are rows of its tile";
  const bool begins_inside =
      problem.epilogue.gate == Gate::stacked && b_major(problem) == Major::mn &&
      problem.n / 2 * size_bytes(problem.b.type) % tma_alignment_bytes != 0 &&
      !is_loaded_by_threads(config, problem.b, problem.batch);
  return begins_inside ? "the second half of a row of B does not start at 16 bytes" : nullptr;
}

const char* gate_rejects(const Problem& problem, const KernelConfig& config) {
  constexpr std::int64_t group = 16;  // columns: x, then their y
  if (problem.epilogue.gate == Gate::none) return nullptr;
  if (uses_tensor_memory(config)) return tensor_memory_gate_rejects(problem, config);
  // Texts name operands and columns as the problem is given: D in rows.
  const bool in_columns = config.swaps_ab;
  const Matrix& operand = in_columns ? problem.a : problem.b;
  if (config.store == Store::elements || (in_columns ? config.a : config.b) != Major::k)
    return "a gate needs columns of B contiguous along k, and D stored by TMA";
  if (contiguous_extent(problem) % group != 0)
    return "with a gate the product must have whole groups of 16 columns";
  if (problem.epilogue.aux.data != nullptr) return "stores no aux of a gate";
  if (!sm90::can_gate(config)) return "half of its tile is not made of whole boxes";
  const std::int64_t limit = tma_stride_limit_bytes / size_bytes(operand.type);
  return operand.ld > limit / contiguous_extent(problem) ? "B is too large for the map of a gate"
                                                         : nullptr;
}

// What the TMA kernels cannot fuse.
const char* fused_rejects(const Problem& problem, const KernelConfig& config) {
  if (problem.is_pointer_array) return "takes no arrays of pointers";
  if (!is_fused(problem, config)) return nullptr;
  if (const char* reason = gate_rejects(problem, config)) return reason;
  if (!stores_rows_by_tma(config)) return nullptr;
  if (problem.reads_c() && !stages_c(problem, config) && !has_pairs(problem.c, problem.batch))
    return "C is neither laid out as D nor in aligned pairs of columns";
  const Matrix& aux = problem.epilogue.aux;
  return aux.data != nullptr && !has_pairs(aux, problem.batch)
             ? "aux is not in aligned pairs of columns"
             : nullptr;
}

// A tensor map for each class of lines that start equally far from 16 bytes, in all batches.
const char* residues_reject(const Matrix& matrix, Major major, std::int64_t lines,
                            std::int64_t batch, const MatrixTexts& texts) {
  const std::int64_t limit = tma_stride_limit_bytes / size_bytes(matrix.type);
  if (matrix.ld >= limit / residue_classes) return texts.ld_limit;
  if (batch == 1 || matrix.batch_stride == 0) return nullptr;
  if (matrix.batch_stride >= limit) return texts.batch_stride_limit;
  if (matrix.batch_stride % unit_elements != 0) {
    const std::int64_t apart = lines_between_batches(matrix, major, batch);
    return apart != 0 && apart <= (index_limit - lines) / batch ? nullptr : texts.batch_stride;
  }
  return matrix.batch_stride * size_bytes(matrix.type) < lines ? texts.batch_overlap : nullptr;
}

const char* residues_reject(const Problem& problem, const Texts& texts) {
  const Major a = a_major(problem), b = b_major(problem);
  const std::int64_t a_lines = a == Major::k ? problem.m : problem.k;
  const std::int64_t b_lines = b == Major::k ? problem.n : problem.k;
  if (const char* reason = residues_reject(problem.a, a, a_lines, problem.batch, texts.a))
    return reason;
  return residues_reject(problem.b, b, b_lines, problem.batch, texts.b);
}

const char* tma_kernel_rejects(const Problem& problem, const KernelConfig& config,
                               const Texts& texts) {
  const OutputExtent output = output_extent(problem, config);
  if (problem.d.order != output.order) return "D is not in row order";
  if (!sm90::takes_matrices(config) && (problem.reads_c() || problem.epilogue.aux.data != nullptr))
    return "stores some columns twice, and so takes neither C nor aux";
  if (const char* reason = fused_rejects(problem, config)) return reason;
  if (config.choices.map_rank == 2 && problem.batch > 1)
    return "its tensor maps have two dimensions: no batches";
  // The narrowest run-time tile makes the most tiles.
  const bool is_fixed = config.tile.n != 0;
  const int widest = (is_fixed ? config.tile.n : sm100::max_tile_n(config)) * config.cluster.n;
  const int narrowest =
      (is_fixed ? config.tile.n : sm100::columns_at_once(config)) * config.cluster.n;
  const int tile_m = cluster_tile(config, narrowest).m;
  if (const char* reason = size_rejects(problem, config, tile_m, widest, texts)) return reason;
  if (const char* reason = tile_rejects(problem, tile_m, narrowest)) return reason;
  if (config.choices.schedule != Schedule::persistent &&
      tile_counts(problem, tile_m, narrowest).total() > index_limit / config.cluster.size())
    return "more CTAs than a grid has";
  if (config.store == Store::tma) return matrix_rejects(problem, config, output, texts);
  return has_residues(config) ? residues_reject(problem, texts)
                              : operands_reject(problem, config, texts);
}

const char* direct_rejects(const Problem& problem, const KernelConfig& config) {
  // One less: the loop over them takes one step more.
  if (k_steps(problem, config) >= index_limit) return "k is too large for 32-bit step numbers";
  return tile_rejects(problem, config.tile.m, config.tile.n);
}

constexpr std::int64_t longest_k = std::int64_t{1} << 30;  // some 32-bit sums reach beyond k

const char* warp_rejects(const Problem& problem, const KernelConfig& config) {
  if (problem.epilogue.gate != Gate::none) return "has no gate";
  if (problem.k > longest_k) return "k is too large for 32-bit positions";
  return tile_rejects(problem, config.tile.m, config.tile.n);
}

const char* dot_rejects(const Problem& problem, const KernelConfig& config, const Texts& texts) {
  if (problem.m > config.tile.m)
    return dot::is_of_vectors(config) ? "D has more rows and more columns than one"
                                      : "more than 8 rows and columns";
  if (problem.is_pointer_array) return "takes no arrays of pointers";
  if (problem.epilogue.gate != Gate::none) return "has no gate";
  if (problem.k > longest_k) return "k is too large for 32-bit positions";
  if (config.b == Major::mn && dot::line_classes(problem.b.ld) > dot::team_warps(config))
    return texts.b.ld;  // a warp takes lines of one class
  if (problem.n > index_limit) return texts.n_limit;
  if (const char* reason = tile_rejects(problem, config.tile.m, config.tile.n)) return reason;
  return cluster_tiles(problem, config, config.tile.n).total() > index_limit
             ? "more than 2^31 - 1 tiles"
             : nullptr;
}

}  // namespace

const char* rejects(const Problem& given, const DeviceFacts& facts, const KernelConfig& config) {
  return rejects(given, seen_by(config, given), facts, config);
}

const char* rejects(const Problem& given, const Problem& seen, const DeviceFacts& facts,
                    const KernelConfig& config) {
  if (const char* reason = device_rejects(facts, config)) return reason;
  if (const char* reason = type_rejects(given, config)) return reason;
  const Texts& texts = sees_transposed(config, given) ? exchanged : as_given;
  if (!is_unmapped(config) && given.scale_only())
    return "k or alpha is zero: A and B are not to be touched";
  if (const char* reason = major_rejects(given, config, texts)) return reason;
  switch (config.family) {
    case Family::direct: return direct_rejects(seen, config);
    case Family::dot: return dot_rejects(seen, config, texts);
    case Family::warp: return warp_rejects(seen, config);
    default: return tma_kernel_rejects(seen, config, texts);
  }
}

}  // namespace bwgemm
