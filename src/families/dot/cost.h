// SPDX-License-Identifier: Apache-2.0
// The predicted time of a dot kernel. Operands stream at the rate of the memory or of the loads
// that the teams have in flight. Teams put the short operand into shared memory first, by as many
// lookups of L1 as their loads touch lines. Of products of vectors a CTA takes one unit after the
// other, each as long as its loads take. Launch, output and merge are of their own kind, as parts
// of compute.
#pragma once

#include "rules/family.h"

namespace bwgemm::dot {

TileCounts tiles(const Problem& problem, const KernelConfig& config, int tile_n);

double predicted_us(const Prediction& of);

}  // namespace bwgemm::dot
