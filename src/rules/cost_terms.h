// SPDX-License-Identifier: Apache-2.0
// The predicted time of a kernel on a problem, in microseconds: the model, and its terms that
// families share. Constants are a table per architecture (arch_costs.h), or stand where the
// measured curve that they describe is. rejects() judges whether the kernel can serve at all.
//
//   time    = launch + cluster + the longer of compute and memory + what it does not hide of the
//             shorter + merge - what the next kernel's start hides, where it finds half of the
//             multiprocessors free: Hopper's kernels that load by TMA
//   launch  = a price, and one for each cluster that asks L2 for the same first lines as all others
//             that begin with it: Hopper's kernels that load by TMA
//   cluster = a price of kernels whose clusters have more than one CTA
//   memory  = all bytes of A, B, D (and C), each moved once, at the rate of device memory, and
//             sectors of a large D that are torn between tiles: Hopper's kernels that load by TMA
//   compute = waves * (k blocks of a split * block + fill) + epilogues that nothing hides. Waves
//             are of tiles * splits; a smaller last wave has more power for each SM. A k that ends
//             inside a block adds a part of a block. Ping-pong with several tiles a CTA: a wave
//             takes at least a fixed share of products + epilogue, and waves after the first are
//             slower on slow memory. Ping-pong with one tile a CTA: blocks are slower, most in
//             narrow tiles. An epilogue costs the bytes of the tile and a price for each box, more
//             for a box that finds no staging buffer free. Columns that overlapping boxes store
//             twice count twice. A function like gelu adds the time of the special function unit.
//             Line stores (line_stores.h) cost the time of one warp for each consumer, which are in
//             each other's way, and a price for each further box where the tile's columns are the
//             lines. With several tiles a CTA, a wave takes at least the time of its line stores
//             alone
//   merge   = where k is split: handing over, all partial sums through L2, and those of a tile,
//             split by split, which the last CTA reads back, after all operands have arrived; in
//             clusters of splits: their start, and all sums into the first CTA of each
//   block   = slowdown of the tile's shape (families/sm90/variants.h) * max(time of the
//             tensor cores, delivery, active SMs * energy of products and deliveries / power, a
//             floor); CTAs that share an SM take turns
//   delivery = max(SM, chip). SM: operand bytes of a CTA, and a part of the bytes by which an
//             MN-major tile exceeds its operand. Chip: bytes that leave L2; what CTAs of a cluster
//             share counts once. Rows that straddle two lines count more in both, less so if they
//             are whole sectors; in SM, only rows that the CTA loads itself. L2 is slower for
//             clusters of splits, whose neighbours share no lines. Kernels whose threads
//             move lines or copy rows of operands take at least the time that this takes
//
// Families whose threads load operands say in their own files how such a kernel takes its time.
//
// Where operands exceed L2, CTAs drift apart: a share of what L2 delivers, which grows with time,
// comes from memory again.
//
// Constants and slowdowns are fitted together, to the kernels that win more than to times
// (bench/log/2026-11-26.md). Rates of device memory are those of the chip that was measured,
// times what the device's memory is faster or slower by clock and width.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "core/tiling.h"
#include "rules/arch_costs.h"
#include "rules/family.h"

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

// For each element of the product.
inline double output_bytes_per_element(const Problem& problem) {
  const Matrix& aux = problem.epilogue.aux;
  const double of_d = problem.epilogue.gate == Gate::none ? 1 : 0.5;
  return of_d * size_bytes(problem.d.type) + (problem.reads_c() ? size_bytes(problem.c.type) : 0) +
         (aux.data != nullptr ? size_bytes(aux.type) : 0);
}

// Whether an operand can be read 16 bytes at a time.
inline bool is_wide(const Matrix& matrix) {
  constexpr std::int64_t wide = 16;
  const std::int64_t wide_elements = wide / size_bytes(matrix.type);  // strides may be any number
  return reinterpret_cast<std::uintptr_t>(matrix.data) % wide == 0 &&
         matrix.ld % wide_elements == 0 && matrix.batch_stride % wide_elements == 0;
}

// Whether pairs of neighbours lie at multiples of 4 bytes, in every batch.
inline bool lies_in_pairs(const Problem& problem, const Matrix& matrix) {
  constexpr int pair_bytes = 4;
  return begins_at_multiples(matrix, pair_bytes) &&
         (problem.batch == 1 || matrix.batch_stride % 2 == 0);
}

// Each hides most of the other, until they are equal.
inline double together_us(const ArchCosts& costs, double compute, double memory) {
  const double shorter = std::min(compute, memory), longer = std::max(compute, memory);
  const double share = shorter / longer;
  return longer + costs.unhidden * shorter * share * std::sqrt(share);
}

inline double memory_us(const Problem& problem, const DeviceFacts& facts, const ArchCosts& costs) {
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.scale_only() ? 0 : problem.k);
  const auto batch = static_cast<double>(problem.batch);
  const double a_batch = problem.a.batch_stride == 0 ? 1 : batch;
  const double b_batch = problem.b.batch_stride == 0 ? 1 : batch;
  const double bytes = (a_batch * m * k + b_batch * k * n) * size_bytes(problem.a.type) +
                       batch * m * n * output_bytes_per_element(problem);
  return bytes / (costs.memory_bytes_per_us * memory_speed(facts));
}

// All that a kernel takes: compute and memory together, between launch and merge. `more_memory_us`:
// beside memory_us().
inline double total_us(const Prediction& of, const ArchCosts& costs, double launch_us,
                       double compute_us, double merge_us, double more_memory_us = 0) {
  return launch_us + (of.config.cluster.size() > 1 ? costs.cluster_us : 0) +
         together_us(costs, compute_us, memory_us(of.problem, of.facts, costs) + more_memory_us) +
         merge_us;
}

// The last CTA of a split tile adds the sums that all have left in the workspace.
inline double workspace_merge_us(const ArchCosts& costs, double partial_bytes, int splits,
                                 double partials) {
  return costs.merge_us +
         splits * (costs.merge_split_us + partial_bytes / costs.merge_bytes_per_us) +
         partials * partial_bytes / costs.partials_bytes_per_us;
}

// CTAs that share rows or columns begin together and drift apart as they go. What one asks for long
// after another is no longer in L2, if not all operands are, and a memory that is too slow for it
// holds all of them up.
inline double drifted_us(const Problem& problem, const DeviceFacts& facts, const ArchCosts& costs,
                         double compute_us, double delivered_bytes) {
  const double operand_bytes = static_cast<double>(problem.m + problem.n) *
                               static_cast<double>(problem.k) * size_bytes(problem.a.type);
  const bool fit_l2 = operand_bytes <= static_cast<double>(facts.l2_bytes);
  if (fit_l2 || costs.drift_us == 0) return compute_us;
  const double share = std::min(1.0, compute_us / costs.drift_us);
  return std::max(compute_us,
                  share * delivered_bytes / (costs.memory_bytes_per_us * memory_speed(facts)));
}

}  // namespace bwgemm
