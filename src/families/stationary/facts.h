// SPDX-License-Identifier: Apache-2.0
// Facts of Family::stationary for the host: see rules/shape.h.
#pragma once

#include "families/stationary/layout.h"
#include "rules/shape.h"

namespace bwgemm::stationary {

constexpr void fill_shape(const KernelConfig&, Dtype, Major, KernelShape& shape) {
  shape.threads = threads;
}

inline constexpr FamilyFacts facts{
    .folder = "stationary", .invalid_because = invalid_because, .fill_shape = fill_shape};

extern const FamilyFunctions functions;

}  // namespace bwgemm::stationary
