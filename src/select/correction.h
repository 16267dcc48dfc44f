// SPDX-License-Identifier: Apache-2.0
// Correction: what measured times say of the cost model. Trees of decisions tell how much longer
// than predicted a kernel takes beside the other kernels of a problem. They were fitted to what the
// model left of times on an H100 and an H200 (bench/fit/correction_trees.py), and are asked of the
// few kernels that the model finds fastest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"

namespace bwgemm {

// A kernel with what is chosen with it, and the time that the model says.
struct Predicted {
  const Problem& seen;  // as the kernel sees it
  const KernelConfig& config;
  int tile_n, splits;
  double us;
};

// What the trees ask for, in whole numbers.
inline constexpr std::size_t correction_features = 41;
using CorrectionFeatures = std::array<std::int16_t, correction_features>;

// `least_us`: of the kernels that are compared.
CorrectionFeatures correction_features_of(const Predicted& kernel, const DeviceFacts& facts,
                                          double least_us);

// Whether times of such a device were fitted to.
bool is_corrected(const DeviceFacts& facts);

// At most so many kernels are compared, and none that is predicted to take so many times the least.
inline constexpr std::size_t most_corrected = 8;
inline constexpr double furthest_corrected = 1.2;

// By what factors their predicted times are to be multiplied before they are compared.
using CorrectionFactors = std::array<double, most_corrected>;
CorrectionFactors correction_factors(
    std::span<const CorrectionFeatures, most_corrected> of_kernels);

}  // namespace bwgemm
