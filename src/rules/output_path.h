// SPDX-License-Identifier: Apache-2.0
// The output path as the host sees it: how C reaches the epilogue, and whether the epilogue is a
// fused one. All for a kernel that can serve the problem. What a fused epilogue does is in
// device/fused.h.
#pragma once

#include <cstdint>

#include "core/kernel_config.h"
#include "core/tiling.h"

namespace bwgemm {

// Limits of the addresses and strides that a tensor map takes (cuTensorMapEncodeTiled).
inline constexpr std::int64_t tma_alignment_bytes = 16;
inline constexpr std::int64_t tma_stride_limit_bytes = std::int64_t{1} << 40;

// Whether threads, not TMA, move C and D.
constexpr bool stores_by_elements(const KernelConfig& config) {
  return is_unmapped(config) || config.store == Store::elements;
}

// Whether a map can be made of a matrix with so many lines.
inline bool fits_map(const Matrix& matrix, std::int64_t lines, std::int64_t batch) {
  const std::int64_t limit = tma_stride_limit_bytes / size_bytes(matrix.type);
  const auto takes = [&](std::int64_t stride) {
    return stride < limit && stride * size_bytes(matrix.type) % tma_alignment_bytes == 0;
  };
  if (reinterpret_cast<std::uintptr_t>(matrix.data) % tma_alignment_bytes != 0 || !takes(matrix.ld))
    return false;
  return batch == 1 || matrix.batch_stride == 0 ||
         (takes(matrix.batch_stride) && matrix.batch_stride * size_bytes(matrix.type) >= lines);
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
