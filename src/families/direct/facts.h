// SPDX-License-Identifier: Apache-2.0
// Facts of Family::direct for the host: see rules/shape.h.
#pragma once

#include "families/direct/layout.h"
#include "rules/shape.h"

namespace bwgemm::direct {

constexpr void fill_shape(const KernelConfig&, Dtype, Major, KernelShape& shape) {
  shape.threads = threads;
}

inline constexpr FamilyFacts facts{
    .folder = "direct", .invalid_because = invalid_because, .fill_shape = fill_shape};

extern const FamilyFunctions functions;

}  // namespace bwgemm::direct
