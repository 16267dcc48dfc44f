// SPDX-License-Identifier: Apache-2.0
// Constants: the latencies and rates of one device, read from a file that says of each where it
// comes from. Cycles and rates are those of `clock_ghz`.
#pragma once

#include <string>

namespace bwgemm::vgpu {

struct Constants {
  // ---- the chip ----
  double sm_count, clock_ghz;
  double sampled_sms;       // that are simulated and stand for all
  double launch_us;         // of a kernel in a stream of kernels, before and after its CTAs
  double cta_start_cycles;  // from a free SM to the first instruction
  double cluster_cycles;    // more, for a cluster of several CTAs
  double exit_cycles;       // from the last instruction of a CTA to the launch of the next

  // ---- warps ----
  double issue_cycles, instruction_cycles;  // of PTX: of a scheduler, of the warp
  double mbarrier_cycles, wake_cycles;      // of an operation; from completion to the woken warp
  double barrier_cycles, fence_cycles;
  double shared_bytes_per_cycle, shared_latency;

  // ---- memory ----
  double tma_box_cycles, tma_row_cycles;  // at least, of a box; of a row outside of the tensor
  double tma_rows_per_cycle, tma_bytes_per_cycle;  // of one SM's engine
  double tma_latency;                              // from issue to the arrival of what lies in L2
  double port_bytes_per_cycle;                     // into one SM
  double l2_bytes_per_cycle;                       // to all SMs
  double l2_merge_cycles;  // requests of two neighbouring SMs for one box this close cost L2 one
  double outside_rows_per_cycle;  // of boxes, outside of their tensors, of all SMs
  double l2_straddle;             // bytes of L2 for a byte of a row that lies in two lines
  double hbm_bytes_per_cycle, hbm_latency;      // more than tma_latency
  double write_factor, write_straddle;          // reads that a write costs; more, off lines
  double global_latency;                        // of a thread's load of what lies in L2
  double store_bytes_per_cycle, store_latency;  // out of shared memory; to memory

  // ---- tensor cores ----
  double wgmma_column_cycles, wgmma_latency;  // of 64 rows, 32 bytes of k
  double mma_sync_cycles;
  // tcgen05.mma of 32 bytes of k and 64, 128 and 256 columns; one CTA (128 rows), a pair (256 rows)
  double tensor_64_cycles, tensor_128_cycles, tensor_256_cycles;
  double pair_64_cycles, pair_128_cycles, pair_256_cycles;
  double tensor_load_bytes_per_cycle, tensor_load_latency;  // of a warp

  // ---- power: share of the budget at full use; what they exceed it by slows the clock ----
  double power_idle, power_tensor, power_l2, power_hbm, power_exponent;

  // Throws std::runtime_error for what is unknown, missing or no number.
  static Constants read(const std::string& path);
};

}  // namespace bwgemm::vgpu
