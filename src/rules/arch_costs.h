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
// The values are Hopper's. Fitted 2026-11-28, with the slowdowns of shapes, to 3041 problems, 2271 of them timed on
// an H100, and to 2211 that are not kept (bench/log/2026-11-28.md), less the dot kernels of the sample of the space; to
// order more than to time. A line says where else a value is from.
struct ArchCosts {
  double launch_us = 1.97;                // launch, prologue, first load
  double hidden_us = 0.2;                 // of a kernel that leaves half of the multiprocessors to the next one: 294
                                          // problems, after the fit
  double cluster_us = 0.166;              // start and end together, of a cluster of more than one CTA
  double memory_bytes_per_us = 5.75e6;    // device memory, whole chip
  double unhidden = 0.236;                // of the shorter of compute and memory, where they are equal
  double fill_us = 0.218;                 // the ring runs empty between two waves
  double partial_block = 0.701;           // of a block's time: what the last takes more if k ends inside
  double sm_flop_per_us = 6.84e6;         // tensor cores of one SM with power to spare; not used where clocks are
                                          // known
  double powered_flop_per_us = 1.79e9;    // what the chip's power would sustain if only products cost energy,
  double powered_bytes_per_us = 19.8e6;   // and if only delivery of operands did
  double mma_clocks_per_us = 0;           // sustained clock, for kernels costed in clocks: not Hopper's
  double sm_bytes_per_us = 121e3;         // operand delivery to one SM that has the chip for itself
  double unused_parts_of_lines = 0.587;   // an SM's work for what a tile along m or n has outside of it
  double sm_straddling_sectors = 1.12;    // an SM's work for rows of 128 bytes in two lines: whole sectors
  double sm_straddling_lines = 1.51;      // of 32 bytes, or others
  double l2_straddling_sectors = 1.2;     // and L2's
  double l2_straddling_lines = 2.45;
  double chip_bytes_per_us = 14.5e6;      // operand delivery to all SMs together
  double unshared_bytes_per_us = 9.5e6;   // where no two neighbours ask for the same lines
  double distant_rows = 6;                // what CTAs far apart share, beside what neighbours share: 66 problems,
                                          // all kernels
  double drift_us = 6160;                 // CTAs have drifted apart then: memory gives all that L2 delivers
  double line_request_us = 0.57e-3;       // of L2 for one line that all ask for: a clock of L2
  double first_lines_us = 3.83e-3;        // for each cluster that asks L2 for the same first lines
  double block_floor_us = 0.0926;         // handing one ring slot over and back, whatever it holds
  double epilogue_bytes_per_us = 52.7e3;  // output (and C) of one SM through its staging buffers
  double epilogue_box_us = 0.107;         // handing one box of a tile over to its store
  double staging_wait_us = 0.12;          // a box that finds no staging buffer free: by hand
  double register_bytes_per_us = 21.1e3;  // the same from registers, in CTAs of several tiles
  double lines_per_us = 92.3;             // of one warp that stores output line by line, of w warps of a CTA sqrt(w)
                                          // times; these five: 5758 problems, 1241 of them not kept, after the fit,
                                          // but the third
  double crowded_lines_per_us = 47.9;     // and while its consumers have nothing to do but write more
  double lines_of_columns = 0.73;         // time of a line that is a column over that of a row: by hand
  double lines_of_a_box = 37.2;           // a box of columns that waits for another takes as long as so many lines
  double torn_sector_bytes = 450;         // memory's work for a piece of a line of D that begins inside of a sector
  // Ping-pong kernels: time of a k block with one tile a CTA over that with more, in tiles of 96
  // columns and of 192; the least share of products and epilogue that each tile takes.
  double one_tile_ping_pong = 1.27;
  double wide_one_tile_ping_pong = 1.24;
  double ping_pong_overlap = 0.738;       // a half if the tensor cores were all that is waited for
  double later_ping_pong = 0.156;         // what waves behind the first take longer where memory is slow
  double curved_values_per_us = 12.5e3;   // of a function like gelu, of one SM: 46 problems of six epilogues
  double exposed_epilogue = 1.34;         // part of it that another CTA of the same SM does not hide: those two are
                                          // in step
  double loose_rows_per_us = 165;         // 128 bytes of a row each, that threads of one SM copy: 227 problems
  double merge_us = 2.1;                  // a split tile: partial sums out, arrival, the last one goes on
  double merge_split_us = 0.0956;         // each split that the last one reads back
  double merge_bytes_per_us = 139e3;      // partial sums that the last one reads back
  double partials_bytes_per_us = 4.19e6;  // all partial sums, on their way through L2
  double cluster_merge_us = 0.974;        // a split tile whose splits are a cluster, its start included
  double register_stores_us = 0.489;      // what of it consumers save that store D from registers
  double cluster_bytes_per_us = 54.8e3;   // partial sums that its first CTA receives
  WorkStep direct_wide = {0.515, 0.308};  // both operands copied 16 bytes at a time; these five: 311 problems,
                                          // after the fit
  WorkStep direct_pairs = {0.636, 0.321};  // 4 bytes at a time
  WorkStep direct_narrow = {0.83, 0.379};  // and read element by element
  double direct_tile_us = 1.33;           // output of a direct CTA
  double direct_merge_us = 0.251;         // adding one split of one tile
  WorkStep warp_pairs = {0.189, 0.0361};  // of a warp kernel, both operands read 4 bytes along k at a time
  WorkStep warp_elements = {0.259, 0.0447};  // others
  double warp_unit_us = 0.0528;           // output of a warp's tile, of the SM
  double warp_fused_us = 0.198;           // a fused epilogue, or C, until its loads arrive
  WorkStep stationary_units = {0.435, 0.0974};   // of a stationary kernel's tile of 32 columns, A in units of 16 bytes;
                                                 // these nine: 680 problems (2026-11-28), after the fit
  WorkStep stationary_threads = {0.304, 0.274};  // A as it lies
  double stationary_wait_us = 1.2;        // of the latter, until B and the first loads are there: by hand
  double stationary_slab_us = 2.9;        // and each further slab of B
  double stationary_tile_us = 0.189;      // output of 32 columns, of the SM, where D lies in units
  double stationary_elements_us = 2.13;   // and element by element
  double stationary_fused_us = 0.66;      // a fused epilogue, or C, until its loads arrive
  double stationary_fused_tile_us = 0.1;  // and of the SM, for 32 columns
  double stationary_fused_loose_us = 0.3;  // where A is read as it lies
  double unmapped_launch_us = 2.43;       // launch and first loads of kernels without tensor maps
  double dot_bytes_per_us = 5.84e6;       // what dot kernels stream, whole chip: above what a read gets, fitted to
                                          // order
  double dot_cta_bytes_per_us = 45.8e3;   // weights that the loads in flight of one CTA bring
  double dot_output_us = 0.319;           // one output of each thread of a team
  double dot_staging_us = 0.33;           // activations of as many loads as are in flight
  double dot_lines_per_us = 3110;         // of activations, that the loads of one SM touch: about two in a clock of
                                          // L1
  double vector_launch_us = 1.83;         // launch and first loads of the kernel that multiplies vectors
  double vector_spread_us = 0.68;         // more of it where all CTAs that fit begin together
  double vector_unit_us = 0.962;          // each further unit of a CTA, until its loads arrive
  double vector_column_us = 0.0557;       // each column of a unit: adding what the threads have
  double vector_cta_bytes_per_us = 62.1e3;  // vectors that the loads in flight of one CTA bring
  double loose_vectors = 4;               // more time where they are loaded element by element: predicted
  double vector_merge_us = 1.75;          // adding the splits of a unit, but in a cluster
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
