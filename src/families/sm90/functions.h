// SPDX-License-Identifier: Apache-2.0
// What FamilyFunctions of the Hopper kernels name (rules/family.h), each in a file of its own.
#pragma once

#include "rules/family.h"

namespace bwgemm::sm90 {

// rejects.cpp
const char* rejects(const Problem& problem, const KernelConfig& config, const Texts& texts);

// cost.cpp, and block.cpp what of it does not depend on splits
double predicted_us(const Prediction& of);
WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int tile_n);

// fill.cpp
void fill(const Filling& filling);

}  // namespace bwgemm::sm90
