// SPDX-License-Identifier: Apache-2.0
// Facts of Family::dot for the host: see rules/shape.h.
#pragma once

#include "families/dot/layout.h"
#include "rules/shape.h"

namespace bwgemm::dot {

constexpr void fill_shape(const KernelConfig& config, Dtype, Major, KernelShape& shape) {
  shape.threads = threads;
  shape.smem_bytes = layout(config).bytes;
}

inline constexpr FamilyFacts facts{.folder = "dot",
                                   .invalid_because = invalid_because,
                                   .fill_shape = fill_shape,
                                   .most_cluster_splits = [](const KernelConfig& config) {
                                     return is_of_vectors(config) ? most_cluster_splits : 1;
                                   }};

extern const FamilyFunctions functions;

}  // namespace bwgemm::dot
