// SPDX-License-Identifier: Apache-2.0
// The predicted time of a dot kernel: a part of the model described in families/cost.h.
#pragma once

#include "rules/family.h"

namespace bwgemm::dot {

TileCounts tiles(const Problem& problem, const KernelConfig& config, int tile_n);

double predicted_us(const Prediction& of);

}  // namespace bwgemm::dot
