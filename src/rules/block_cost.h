// SPDX-License-Identifier: Apache-2.0
// How long one k block of one CTA takes, in us: a part of the model described in families/cost.h.
#pragma once

#include <cstdint>

#include "core/kernel_config.h"
#include "core/problem.h"
#include "rules/arch_costs.h"
#include "rules/block.h"
#include "rules/splits.h"

namespace bwgemm {

// Rows of A and of B, 128 bytes each, in a k block of one CTA.
struct OperandRows {
  double a, b;
};

// The bytes of such rows as they weigh: more for rows that are pieces of lines, or that begin
// inside of lines, all or many tiles'.
class RowBytes {
 public:
  // `b_tile_rows`: columns of B in the tile of one CTA.
  RowBytes(const Problem& problem, const ArchCosts& costs, const KernelConfig& config, Major a,
           Major b, int b_tile_rows);

  double plain(const OperandRows& rows) const { return depth_ * (rows.a + rows.b); }
  // For an SM. What other CTAs of its cluster ask for arrives as whole rows, however the rows lie
  // in memory: `own` are those that the CTA asks for.
  double of_sm(const OperandRows& all, const OperandRows& own) const;
  // For L2.
  double of_l2(const OperandRows& rows) const;

 private:
  double depth_;         // bytes of a row
  OperandRows sm_, l2_;  // what a row weighs
};

// One k block of every CTA at work; CTAs that share an SM take turns. `mma_us`: of one CTA, by the
// tensor cores alone.
double block_us(const ArchCosts& costs, const Block& block, double mma_us, double slowdown,
                int sm_count, std::int64_t active_ctas, SplitReduction reduction);

}  // namespace bwgemm
