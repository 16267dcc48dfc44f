// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions of the Hopper kernels.
#include "families/sm90/functions.h"

#include "families/sm90/facts.h"
#include "families/sm90/residue_maps.h"

namespace bwgemm::sm90 {
namespace {

const char* batch_invariance_rejects(const Problem& problem, const KernelConfig& config) {
  return takes_k_by_class(problem, config)
             ? "takes k of unaligned operands in an order that is not batch-invariant"
             : nullptr;
}

}  // namespace

constinit const FamilyFunctions functions{.tiles = tiles_of_clusters,
                                          .rejects = rejects,
                                          .split_limits = split_limits,
                                          .predicted_us = predicted_us,
                                          .fill = fill,
                                          .batch_invariance_rejects = batch_invariance_rejects,
                                          .without_splits = without_splits};

}  // namespace bwgemm::sm90
