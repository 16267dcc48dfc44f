// SPDX-License-Identifier: Apache-2.0
// The predicted time of a Blackwell kernel: a part of the model described in families/cost.h.
#pragma once

#include "rules/family.h"

namespace bwgemm::sm100 {

WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int tile_n);

double predicted_us(const Prediction& of);

}  // namespace bwgemm::sm100
