// SPDX-License-Identifier: Apache-2.0
// How long it takes a Hopper CTA to move the unaligned lines of one k block.
#pragma once

#include "core/kernel_config.h"
#include "core/problem.h"

namespace bwgemm::sm90 {

// One k block of a kernel that moves the lines of operands that TMA cannot place, in us: fitted to
// 464 times of an H200 (bench/log/2026-11-24.md). The longer of products and moves, which depend
// on how many lines they move, and whether in another order of k, as a moved MN-major operand asks.
double moving_block_us(const Problem& problem, const KernelConfig& config);

}  // namespace bwgemm::sm90
