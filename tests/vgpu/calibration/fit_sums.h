// SPDX-License-Identifier: Apache-2.0
// Finds, among the models that vgpu/operations/accumulation.h can emulate, the one that gives the
// measured bits.
#pragma once

#include <string>

namespace bwgemm::calibration {

// Prints what fits. 0: one model explains every sum.
int fit_sums(const std::string& raw_path);

}  // namespace bwgemm::calibration
