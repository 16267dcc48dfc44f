// SPDX-License-Identifier: Apache-2.0
// ArchCosts: the constants of the cost model (rules/cost_terms.h) for each architecture, with where
// they are from. Other chips of an architecture differ from these in their multiprocessors and
// memory, which the device tells.
#pragma once

#include "core/device_facts.h"
#include "core/kernel_config.h"

namespace bwgemm {

// A step of k of one direct CTA, or of one warp: until its loads arrive, and of the SM that others
// use meanwhile.
struct WorkStep {
  double latency_us, us;
};

// clang-format off
// The values are Hopper's. Fitted 2026-11-29 to 21,605 problems of an H100 and an H200 (bench/log/2026-11-29.md), those
// that the trees of select/correction.h are fitted to as well; to order more than to time. Launches, ping_pong_overlap
// and what memory and dot kernels stream stayed as they were. A line says where else a value is from.
struct ArchCosts {
  double launch_us = 1.97;                // launch, prologue, first load
  double cluster_us = 0.0607;             // start and end together, of a cluster of more than one CTA
  double memory_bytes_per_us = 5.75e6;    // device memory, whole chip
  double unhidden = 0.308;                // of the shorter of compute and memory, where they are equal
  double fill_us = 0.192;                 // the ring runs empty between two waves
  double partial_block = 0.5;             // of a block's time: what the last takes more if k ends inside
  double sm_flop_per_us = 6.92e6;         // tensor cores of one SM with power to spare; not used where clocks are
                                          // known
  double powered_flop_per_us = 1.68e9;    // what the chip's power would sustain if only products cost energy,
  double powered_bytes_per_us = 18.8e6;   // and if only delivery of operands did
  double mma_clocks_per_us = 0;           // sustained clock, for kernels costed in clocks: not Hopper's
  double sm_bytes_per_us = 117e3;         // operand delivery to one SM that has the chip for itself
  double straddling_sectors = 1.2;        // L2's work for rows of 128 bytes in two lines: whole sectors of 32
  double straddling_lines = 2.22;         // bytes, or others
  double chip_bytes_per_us = 13.1e6;      // operand delivery to all SMs together
  double distant_rows = 6;                // what CTAs far apart share, beside what neighbours share: 66 problems,
                                          // all kernels
  double first_lines_us = 4.21e-3;        // for each cluster that asks L2 for the same first lines
  // What a k block takes over the longest of its limits: of a lone CTA on its SM, less what each row
  // and each column of its tile adds. The others are factors.
  double block_slowdown = 0.73;
  double row_slowdown = 0.367e-3;
  double cluster_slowdown = 1.17;         // of CTAs of clusters
  double sharing_slowdown = 1.43;         // where several CTAs share an SM
  double block_floor_us = 0.0907;         // handing one ring slot over and back, whatever it holds
  double epilogue_bytes_per_us = 49.2e3;  // output (and C) of one SM through its staging buffers
  double epilogue_box_us = 0.113;         // handing one box of a tile over to its store
  double staging_wait_us = 0.115;         // a box that finds no staging buffer free
  double register_bytes_per_us = 18e3;    // the same from registers, in CTAs of several tiles; the fit said
                                          // 16.1e3, by which D alone would take longer than D with a C
  double lines_per_us = 87;               // of one warp that stores output line by line, of w warps of a CTA sqrt(w)
                                          // times
  double lines_of_columns = 0.605;        // time of a line that is a column over that of a row
  double lines_of_a_box = 50.7;           // a box of columns that waits for another takes as long as so many lines
  double piece_bytes_per_us = 55e3;       // output that the consumers of a CTA store in whole rows
  double piece_us = 0.3;                  // a tile whose rows are stored so, however small
  double staged_line_bytes_per_us = 20e3;  // lines of output that the consumers of a CTA store themselves
  double ping_pong_overlap = 0.738;       // the least share of products and epilogue that a tile of a ping-pong kernel
                                          // takes: a half if the tensor cores were all that is waited for
  double curved_values_per_us = 17.2e3;   // of a function like gelu, of one SM
  double exposed_epilogue = 1.39;         // part of it that another CTA of the same SM does not hide: those two are
                                          // in step
  double loose_rows_per_us = 164;         // 128 bytes of a row each, that threads of one SM copy
  double merge_us = 1.6;                  // a split tile: partial sums out, arrival, the last one goes on
  double merge_split_us = 0.0715;         // each split that the last one reads back
  double merge_bytes_per_us = 162e3;      // partial sums that the last one reads back
  double partials_bytes_per_us = 4.17e6;  // all partial sums, on their way through L2
  double cluster_merge_us = 1.03;         // a split tile whose splits are a cluster, its start included
  double register_stores_us = 0.636;      // what of it consumers save that store D from registers
  double cluster_bytes_per_us = 42.1e3;   // partial sums that its first CTA receives
  WorkStep direct_wide = {0.584, 0.301};  // both operands copied 16 bytes at a time
  WorkStep direct_pairs = {0.782, 0.433};  // 4 bytes at a time
  WorkStep direct_narrow = {0.697, 0.372};  // and read element by element
  double direct_tile_us = 1.24;           // output of a direct CTA
  double direct_fused_us = 2.03;          // and a fused epilogue
  double direct_merge_us = 0.159;         // adding one split of one tile
  WorkStep warp_pairs = {0.245, 0.0346};  // of a warp kernel, both operands read 4 bytes along k at a time
  WorkStep warp_elements = {0.268, 0.0417};  // others
  double warp_unit_us = 0.0479;           // output of a warp's tile, of the SM
  double warp_fused_us = 0.127;           // a fused epilogue, or C, until its loads arrive
  WorkStep stationary_units = {0.469, 0.0993};   // of a stationary kernel's tile of 32 columns, A in units of 16 bytes
  WorkStep stationary_threads = {0.368, 0.379};  // A as it lies
  double stationary_wait_us = 1.52;       // of the latter, until B and the first loads are there
  double stationary_slab_us = 2.91;       // and each further slab of B
  double stationary_tile_us = 0.169;      // output of 32 columns, of the SM, where D lies in units
  double stationary_elements_us = 3.15;   // and element by element
  double stationary_fused_us = 0.805;     // C, or what an epilogue reads, until it arrives
  double stationary_fused_tile_us = 0.059;  // and of the SM, for 32 columns
  double stationary_fused_loose_us = 0.269;  // where A is read as it lies
  double unmapped_launch_us = 2.43;       // launch and first loads of kernels without tensor maps
  double dot_bytes_per_us = 5.84e6;       // what dot kernels stream, whole chip: above what a read gets, fitted to
                                          // order
  double dot_cta_bytes_per_us = 42e3;     // weights that the loads in flight of one CTA bring
  double dot_output_us = 0.37;            // one output of each thread of a team
  double dot_staging_us = 0.559;          // activations of as many loads as are in flight
  double vector_launch_us = 1.83;         // launch and first loads of the kernel that multiplies vectors
  double vector_spread_us = 0.716;        // more of it where all CTAs that fit begin together
  double vector_unit_us = 1.08;           // each further unit of a CTA, until its loads arrive
  double vector_column_us = 0.0932;       // each column of a unit: adding what the threads have
  double vector_cta_bytes_per_us = 52.5e3;  // vectors that the loads in flight of one CTA bring
  double loose_vectors = 4;               // more time where they are loaded element by element: predicted
  double vector_merge_us = 2.73;          // adding the splits of a unit, but in a cluster
  double copying_launch_us = 3.3;         // a kernel more, in front of the product; this and the next: 55 problems
                                          // (2026-11-24)
  double copied_bytes_per_us = 5.0e6;     // of operands, read and written, whole chip
  double sm_copied_bytes_per_us = 60e3;   // and one SM: predicted
};
// clang-format on

inline constexpr ArchCosts h200_costs{};
extern const ArchCosts b200_costs;  // b200_costs.cpp

inline const ArchCosts& costs_of(Arch arch) {
  return arch == Arch::sm90 ? h200_costs : b200_costs;
}

// How fast the memory of a device is, beside that of the chip whose costs stand for it.
constexpr double memory_speed(const DeviceFacts& facts) {
  const DeviceFacts& costed = facts.arch() == Arch::sm90 ? nominal_h200 : nominal_b200;
  if (facts.memory_bytes_per_us == 0) return 1;
  return facts.memory_bytes_per_us / costed.memory_bytes_per_us;
}

}  // namespace bwgemm
