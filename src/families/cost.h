// SPDX-License-Identifier: Apache-2.0
// Cost: the predicted time of a kernel on a problem, in microseconds. A small model whose
// constants are a table per architecture, or stand where the measured curve they describe is;
// whether the kernel can serve at all is judged by rejects.h.
//
//   time    = launch + cluster + the longer of compute and memory + what it does not hide of the
//             shorter + merge
//   cluster = a price of kernels whose clusters have more than one CTA
//   memory  = all bytes of A, B, D (and C), each moved once, at the rate of device memory
//   compute = waves * (k blocks of a split * block + fill) + epilogues that nothing hides. Waves
//             are of tiles * splits; a smaller last wave has more power for each SM. A k that ends
//             inside a block adds a part of a block. Ping-pong with several tiles a CTA: a wave
//             takes at least a fixed share of products + epilogue, and waves after the first are
//             slower on slow memory. Ping-pong with one tile a CTA: blocks are slower, most in
//             narrow tiles. An epilogue costs the bytes of the tile and a price for each box.
//             Columns that overlapping boxes store twice count twice. A fused epilogue with few
//             free registers adds a price to each tile. Line stores (line_stores.h) cost the time
//             of one warp for each consumer, more if rows of D begin inside a 4-byte word. With
//             several tiles a CTA, a wave takes at least the time of its line stores alone
//   merge   = where k is split: handing over, all partial sums through L2, and those of a tile,
//             split by split, which the last CTA reads back, after all operands have arrived; in
//             clusters of splits: their start, and all sums into the first CTA of each
//   block   = slowdown of the tile's shape (families/sm90/variants.h) * max(time of the tensor
//   cores,
//             delivery, active SMs * energy of products and deliveries / power, a floor); CTAs
//             that share an SM take turns
//   delivery = max(SM, chip). SM: operand bytes of a CTA, and a part of the bytes by which an
//             MN-major tile exceeds its operand. Chip: bytes that leave L2; what CTAs of a cluster
//             share counts once. Rows that straddle two lines count more in both, less so if they
//             are whole sectors; in SM, only rows that the CTA loads itself. L2 is slower for
//             clusters of splits, whose neighbours share no lines. Kernels that move lines of
//             operands take at least a measured time
//
// Direct kernels take a step of k at a time, at a rate that depends on alignment alone; dot kernels
// stream their operands at the rate of the memory or of the loads that their teams have in flight.
// Both have launch, waves, epilogue or output, and merge of their own kind, as a part of compute.
// A dot kernel's teams put the short operand into shared memory first, by as many lookups of L1 as
// their loads touch lines.
// Warps of a warp kernel wait for the loads of each step of k, the longer the fewer steps are
// ahead, or take what their SM gives all. Of products of vectors a CTA takes one unit after the
// other, each as long as its loads take.
//
// Where operands exceed L2, CTAs drift apart: a share of what L2 delivers, which grows with time,
// comes from memory again.
//
// Constants and slowdowns are fitted together, to the kernels that win more than to times
// (bench/log/2026-11-26.md). Rates of device memory are those of the chip that was measured,
// times what the device's memory is faster or slower by clock and width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "rules/block.h"
#include "rules/splits.h"

namespace bwgemm {

// All take the problem as the kernel sees it (core/tiling.h). facts.sm_count is what the call may
// occupy. tile_n: of the config, or the run-time value.
// `reduction`: cluster only where can_reduce_in_cluster().
double predicted_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                    int tile_n, int splits, SplitReduction reduction = SplitReduction::workspace);

// What predictions for a tile have in common, however many splits there are.
WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int tile_n);
double predicted_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                    int tile_n, int splits, SplitReduction reduction, const WithoutSplits& known);

// Tile rows that are walked together, see device/raster.h.
int raster_group(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                 int tile_n);

}  // namespace bwgemm
