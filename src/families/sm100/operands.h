// SPDX-License-Identifier: Apache-2.0
// Who loads an operand: TMA where a tensor map can address it, else the loader warps of the
// variants that have them (loaders.h). The host decides alike (families/sm100/facts.h).
#pragma once

#include "device/params.h"
#include "device/ptx/attributes.h"
#include "device/ptx/cp_async_bulk.h"
#include "families/sm100/layout.h"

namespace bwgemm::sm100 {

// Whether lines and batches of 2-byte elements start at 16-byte units.
BWGEMM_DEVICE bool starts_at_units(const StridedMatrix& matrix, Major major) {
  constexpr std::uint64_t odd_bits = 15, element_bytes = 2;
  const std::int64_t line = major == Major::k ? matrix.outer_stride : matrix.inner_stride;
  const std::uint64_t steps = static_cast<std::uint64_t>(line | matrix.batch_stride);
  return ((reinterpret_cast<std::uintptr_t>(matrix.data) | element_bytes * steps) & odd_bits) == 0;
}

template <KernelConfig config>
BWGEMM_DEVICE bool has_map(const StridedMatrix& matrix, Major major) {
  return !has_loaders(config) || starts_at_units(matrix, major);
}

// Maps that the launch does not use may be anything.
template <KernelConfig config>
BWGEMM_DEVICE void prefetch_maps(const MappedParams& params) {
  if (params.k_blocks > 0) {
    ptx::prefetch_tensormap(params.a_map);
    ptx::prefetch_tensormap(params.b_map);
  }
  if constexpr (config.store != Store::elements) ptx::prefetch_tensormap(params.d_map);
}
template <KernelConfig config>
requires(has_loaders(config)) BWGEMM_DEVICE void prefetch_maps(const MappedParams& params) {
  if (params.k_blocks == 0) return;
  if (has_map<config>(params.a, params.a_major)) ptx::prefetch_tensormap(params.a_map);
  if (has_map<config>(params.b, params.b_major)) ptx::prefetch_tensormap(params.b_map);
}

}  // namespace bwgemm::sm100
