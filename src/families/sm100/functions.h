// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions of the Blackwell kernels (rules/family.h) as their files share them.
#pragma once

#include "rules/family.h"

namespace bwgemm::sm100 {

// In cost.cpp.
double predicted_us(const Prediction& of);
WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int tile_n);

}  // namespace bwgemm::sm100
