// SPDX-License-Identifier: Apache-2.0
// Why a kernel cannot serve a problem: what the rules of several families have in common. The rules
// are those of the tensor maps (cuTensorMapEncodeTiled), of the 32-bit tile arithmetic of the
// kernels, and of the types an instruction takes. And how C reaches the epilogue, and whether that
// is a fused one.
#pragma once

#include <cstdint>
#include <limits>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "core/tiling.h"

namespace bwgemm {

// Limits of the addresses and strides that a tensor map takes (cuTensorMapEncodeTiled).
inline constexpr std::int64_t tma_alignment_bytes = 16;
inline constexpr std::int64_t tma_stride_limit_bytes = std::int64_t{1} << 40;
inline constexpr std::int64_t longest_k = std::int64_t{1} << 30;  // some 32-bit sums reach beyond k
inline constexpr std::int64_t index_limit = std::numeric_limits<std::int32_t>::max();

struct MatrixTexts {
  const char *base, *ld, *ld_limit, *batch_stride, *batch_stride_limit, *batch_overlap;
};

// What a kernel calls A, B, m and n, in the letters of the problem as it was given.
struct Texts {
  MatrixTexts a, b;
  const char *a_along_k, *a_along_m, *b_along_k, *b_along_n, *m_limit, *n_limit;
};

// D's, which is never exchanged.
extern const MatrixTexts d_texts;

// For a kernel that sees the problem as it was given, and for one that sees its transpose.
extern const Texts as_given, exchanged;

// All below: null, or the reason.

// Whatever the family: the device, the types, and the majors that the config fixes.
const char* device_rejects(const DeviceFacts& facts, const KernelConfig& config);
const char* type_rejects(const Problem& given, const KernelConfig& config);
const char* major_rejects(const Problem& given, const KernelConfig& config, const Texts& texts);

// Coordinates of tiles and of elements are 32-bit in the TMA kernels, the tile index in all.
const char* tile_rejects(const Problem& problem, int tile_m, int tile_n);
const char* size_rejects(const Problem& problem, const KernelConfig& config, int tile_m, int tile_n,
                         const Texts& texts);

// Whether a tensor map can be made of the matrix. `outer` is the number of rows of a row-order
// matrix, of columns otherwise.
inline const char* tma_rejects(const Matrix& matrix, std::int64_t outer, std::int64_t batch,
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

// For an operand of the product.
inline std::int64_t lines_of_a(const Problem& problem) {
  return a_major(problem) == Major::k ? problem.m : problem.k;
}
inline std::int64_t lines_of_b(const Problem& problem) {
  return b_major(problem) == Major::k ? problem.n : problem.k;
}

// What kernels that store by TMA ask of D: its order, and, of those that store it by a map, where
// its rows end.
const char* order_rejects(const Problem& problem, const KernelConfig& config);
const char* output_map_rejects(const Problem& problem, const KernelConfig& config);

// What a fused epilogue of kernels that load by TMA asks of C and aux.
const char* fused_matrices_reject(const Problem& problem, const KernelConfig& config);

// How C reaches the epilogue, for a kernel that can serve the problem. What a fused epilogue does
// is in device/fused.h.

// Whether threads, not TMA, move C and D.
constexpr bool stores_by_elements(const KernelConfig& config) {
  return is_unmapped(config) || config.store == Store::elements;
}

// Whether a map can be made of a matrix with so many lines.
inline bool fits_map(const Matrix& matrix, std::int64_t lines, std::int64_t batch) {
  return tma_rejects(matrix, lines, batch, d_texts) == nullptr;
}

// Whether the output role loads C by TMA, as in a plain product; else the epilogue loads C. False
// where C is not read. Here and below `problem` is as the kernel sees it.
inline bool stages_c(const Problem& problem, const KernelConfig& config) {
  const Matrix& c = problem.c;
  if (!problem.reads_c() || stores_by_elements(config)) return false;
  if (c.type != problem.d.type || c.order != problem.d.order) return false;
  if (problem.batch > 1 && c.batch_stride == 0) return false;
  return fits_map(c, config.swaps_ab ? problem.n : problem.m, problem.batch);
}

// Whether the kernel does more than alpha*A*B + beta*C with a C like D.
inline bool is_fused(const Problem& problem, const KernelConfig& config) {
  if (problem.epilogue.any() || problem.is_pointer_array) return true;
  if (!problem.reads_c()) return false;
  if (!stores_by_elements(config)) return !stages_c(problem, config);
  return problem.c.type != problem.d.type || problem.c.order != problem.d.order;
}

}  // namespace bwgemm
