// SPDX-License-Identifier: Apache-2.0
// Fusing: the host's view of fused epilogues: which problems need one, of a kernel that can serve
// them, and who loads C. kernels/fused.h is what they do.
#pragma once

#include <cstdint>

#include "core/kernel_config.h"
#include "core/tiling.h"

namespace bwgemm {

// Of the addresses, strides and rows that a tensor map takes (cuTensorMapEncodeTiled).
inline constexpr std::int64_t tma_alignment_bytes = 16;
inline constexpr std::int64_t tma_stride_limit_bytes = std::int64_t{1} << 40;

// C and D are not moved by TMA.
constexpr bool stores_by_elements(const KernelConfig& config) {
  return config.family == Family::direct || config.family == Family::dot ||
         config.output == Output::scattered;
}

// Problems as the kernel sees them. Whether the output role loads C by TMA, as in a plain product;
// otherwise the epilogue loads it. False where C is not read.
inline bool stages_c(const Problem& problem, const KernelConfig& config) {
  const Matrix& c = problem.c;
  if (!problem.reads_c() || stores_by_elements(config)) return false;
  if (c.type != problem.d.type || c.order != problem.d.order) return false;
  const std::int64_t limit = tma_stride_limit_bytes / size_bytes(c.type);
  const auto takes = [&](std::int64_t stride) {
    return stride < limit && stride * size_bytes(c.type) % tma_alignment_bytes == 0;
  };
  if (reinterpret_cast<std::uintptr_t>(c.data) % tma_alignment_bytes != 0 || !takes(c.ld))
    return false;
  if (problem.batch == 1) return true;
  const std::int64_t lines = config.output == Output::columns ? problem.n : problem.m;
  return c.batch_stride != 0 && takes(c.batch_stride) &&
         c.batch_stride * size_bytes(c.type) >= lines;
}

// Whether the kernel does more than alpha*A*B + beta*C with a C like D.
inline bool is_fused(const Problem& problem, const KernelConfig& config) {
  if (problem.epilogue.any() || problem.is_pointer_array) return true;
  if (!problem.reads_c()) return false;
  if (!stores_by_elements(config)) return !stages_c(problem, config);
  return problem.c.type != problem.d.type || problem.c.order != problem.d.order;
}

}  // namespace bwgemm
