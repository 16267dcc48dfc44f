// SPDX-License-Identifier: Apache-2.0
// The predicted time of a kernel on a problem, in microseconds: the model, and its terms that
// families share. Constants are a table per architecture (arch_costs.h), or stand where the
// measured curve that they describe is. rejects() judges whether the kernel can serve at all.
//
//   time    = launch + cluster + the longer of compute and memory + what it does not hide of the
//             shorter + merge
//   launch  = a price, and one for each cluster that asks L2 for the same first lines as all others
//             that begin with it: Hopper's kernels that load by TMA
//   cluster = a price of kernels whose clusters have more than one CTA
//   memory  = all bytes of A, B, D (and C), each moved once, at the rate of device memory
//   compute = waves * (k blocks of a split * block + fill) + epilogues that nothing hides. Waves
//             are of tiles * splits; a smaller last wave has more power for each SM. A k that ends
//             inside a block adds a part of a block. Ping-pong with several tiles a CTA: a wave
//             takes at least a fixed share of products + epilogue. An epilogue costs the bytes of
//             the tile and a price for each box, more for a box that finds no staging buffer free.
//             Columns that overlapping boxes store twice count twice. A function like gelu adds the
//             time of the special function unit. Line stores (line_stores.h) cost the time of one
//             warp for each consumer, which are in each other's way, and a price for each further
//             box where the tile's columns are the lines. Pieces of whole rows (piece_stores.h)
//             cost a price for the tile, and the time of their bytes
//   merge   = where k is split: handing over, all partial sums through L2, and those of a tile,
//             split by split, which the last CTA reads back, after all operands have arrived; in
//             clusters of splits: their start, and all sums into the first CTA of each
//   block   = slowdown of the kind of tile (families/sm90/cost.cpp) * max(time of the tensor cores,
//             delivery, active SMs * energy of products and deliveries / power, a floor); CTAs that
//             share an SM take turns
//   delivery = max(SM, chip). SM: operand bytes of a CTA. Chip: bytes that leave L2; what CTAs of a
//             cluster share counts once. Rows that straddle two lines count more there, less so if
//             they are whole sectors. Kernels whose threads move lines or copy rows of operands
//             take at least the time that this takes
//
// Families whose threads load operands say in their own files how such a kernel takes its time.
//
// On Hopper devices of 132 multiprocessors trees put the best predictions in order
// (select/correction.h). A term stands here if the order by the trees needs it, or the model alone,
// by which other devices choose. bench/log/2026-11-29.md lists terms that neither needs.
//
// Constants are fitted together, to the kernels that win more than to times. Rates of device memory
// are those of the chip that was measured, times what the device's memory is faster or slower by
// clock and width.
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

// The bytes of such rows, and how they weigh on L2: more if they are pieces of lines, or if they
// begin inside of lines, all or many tiles'.
class RowBytes {
 public:
  // `b_tile_rows`: columns of B in the tile of one CTA.
  RowBytes(const Problem& problem, const ArchCosts& costs, const KernelConfig& config, Major a,
           Major b, int b_tile_rows);

  double plain(const OperandRows& rows) const { return depth_ * (rows.a + rows.b); }
  double of_l2(const OperandRows& rows) const { return depth_ * (rows.a * l2_.a + rows.b * l2_.b); }

 private:
  double depth_;    // bytes of a row
  OperandRows l2_;  // what a row weighs
};

// One k block of every CTA at work; CTAs that share an SM take turns. `mma_us`: of one CTA, by the
// tensor cores alone.
double block_us(const ArchCosts& costs, const Block& block, double mma_us, double slowdown,
                int sm_count, std::int64_t active_ctas);

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

// All that a kernel takes: compute and memory together, between launch and merge.
inline double total_us(const Prediction& of, const ArchCosts& costs, double launch_us,
                       double compute_us, double merge_us) {
  return launch_us + (of.config.cluster.size() > 1 ? costs.cluster_us : 0) +
         together_us(costs, compute_us, memory_us(of.problem, of.facts, costs)) + merge_us;
}

// The last CTA of a split tile adds the sums that all have left in the workspace.
inline double workspace_merge_us(const ArchCosts& costs, double partial_bytes, int splits,
                                 double partials) {
  return costs.merge_us +
         splits * (costs.merge_split_us + partial_bytes / costs.merge_bytes_per_us) +
         partials * partial_bytes / costs.partials_bytes_per_us;
}

}  // namespace bwgemm
