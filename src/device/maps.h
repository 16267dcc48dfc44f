// SPDX-License-Identifier: Apache-2.0
// What every kernel that uses tensor maps does with them before its roles start.
#pragma once

#include "device/params.h"
#include "device/ptx/cp_async_bulk.h"

namespace bwgemm {

// Maps that the launch does not use may be anything.
template <bool stores_by_map = true>
BWGEMM_DEVICE void prefetch_maps(const MappedParams& params) {
  if (params.k_blocks > 0) {
    ptx::prefetch_tensormap(params.a_map);
    ptx::prefetch_tensormap(params.b_map);
  }
  if constexpr (stores_by_map) ptx::prefetch_tensormap(params.d_map);
}

}  // namespace bwgemm
