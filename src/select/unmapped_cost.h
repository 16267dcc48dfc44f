// SPDX-License-Identifier: Apache-2.0
// Costs of kernels without tensor maps: direct, dot and warp. See cost.h, and predicted_us() for
// the arguments.
#pragma once

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "select/arch_costs.h"
#include "select/splits.h"

namespace bwgemm {

// Without launch, and without what device memory takes.
double direct_compute_us(const Problem& problem, const DeviceFacts& facts,
                         const KernelConfig& config, int splits, const ArchCosts& costs);

double warp_compute_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                       const ArchCosts& costs);

// All of it.
double dot_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
              int splits, SplitReduction reduction, const ArchCosts& costs);

}  // namespace bwgemm
