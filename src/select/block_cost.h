// SPDX-License-Identifier: Apache-2.0
// What one k block of a kernel asks for, and how long it takes, in us: a part of cost.h.
#pragma once

#include <cstdint>

#include "core/kernel_config.h"
#include "core/problem.h"
#include "core/tiling.h"
#include "select/arch_costs.h"
#include "select/cost.h"

namespace bwgemm {

Block block_of(const Problem& problem, const ArchCosts& costs, const KernelConfig& config,
               int tile_n, const TileCounts& tiles);

// One k block of every CTA at work; CTAs that share an SM take turns.
double block_us(const ArchCosts& costs, const KernelConfig& config, const Block& block, int tile_n,
                double slowdown, int sm_count, std::int64_t active_ctas, SplitReduction reduction);

// One k block of a kernel that moves the lines of operands that TMA cannot place, in us: fitted to
// 464 times of an H200 (bench/log/2026-11-24.md). The longer of products and moves, which depend
// on how many lines they move, and whether in another order of k, as a moved MN-major operand asks.
double moving_block_us(const Problem& problem, const KernelConfig& config);

// One k block of a kernel whose threads load what TMA cannot address, in us: predicted, as all of
// b200_costs. Loads of 128 rows are under way while those before are shifted and stored: each takes
// half of the latency of a busy L2, more than its 48 KiB of traffic with L1.
double loading_block_us(const Problem& problem, const KernelConfig& config, int tile_n);

}  // namespace bwgemm
