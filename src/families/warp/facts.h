// SPDX-License-Identifier: Apache-2.0
// Facts of Family::warp for the host: see rules/shape.h.
#pragma once

#include "families/warp/layout.h"
#include "rules/shape.h"

namespace bwgemm::warp {

constexpr void fill_shape(const KernelConfig&, Dtype, Major, KernelShape& shape) {
  shape.threads = threads;
}

inline constexpr FamilyFacts facts{
    .folder = "warp", .invalid_because = invalid_because, .fill_shape = fill_shape};

extern const FamilyFunctions functions;

}  // namespace bwgemm::warp
