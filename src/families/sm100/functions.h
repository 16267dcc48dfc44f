// SPDX-License-Identifier: Apache-2.0
// What FamilyFunctions of the Blackwell kernels name (rules/family.h), each in a file of its own.
#pragma once

#include "rules/family.h"

namespace bwgemm::sm100 {

// rejects.cpp
const char* rejects(const Problem& problem, const KernelConfig& config, const Texts& texts);

// cost.cpp
double predicted_us(const Prediction& of);
WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int tile_n);

// fill.cpp
void fill(const Filling& filling);

}  // namespace bwgemm::sm100
