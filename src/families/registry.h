// SPDX-License-Identifier: Apache-2.0
// The functions of each family (rules/family.h), and the questions of selection and programs, which
// go to the family of the kernel that they are about.
#pragma once

#include "families/facts.h"
#include "rules/family.h"

namespace bwgemm {

inline const FamilyFunctions& functions_of(const KernelConfig& config) {
  switch (config.family) {
    case Family::cooperative: break;
    case Family::pair:
    case Family::single: return sm100::functions;
    case Family::direct: return direct::functions;
    case Family::dot: return dot::functions;
    case Family::warp: return warp::functions;
  }
  return sm90::functions;
}

inline TileCounts cluster_tiles(const Problem& problem, const KernelConfig& config, int tile_n) {
  return functions_of(config).tiles(problem, config, tile_n);
}

inline SplitLimits split_limits(const Problem& problem, const KernelConfig& config) {
  return functions_of(config).split_limits(problem, config);
}

}  // namespace bwgemm
