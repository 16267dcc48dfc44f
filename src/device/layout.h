// SPDX-License-Identifier: Apache-2.0
// What the layouts of all families rest on: how much shared memory there is, and how TMA cuts
// operands and D. Each family computes its own layout from a config (families/<family>/layout.h).
//
// Operand tiles are 128-byte swizzled. A K-major tile is rows of 64 elements (128 bytes); an
// MN-major tile is chunks of 64 elements along m or n, each chunk being one 128-byte row per k.
// Both take rows * 128 bytes for k = 64. Output passes through staging buffers of 128-byte rows: 64
// columns of a 16-bit type or 32 of f32.
#pragma once

namespace bwgemm {

inline constexpr int k_block = 64;  // elements of k per ring stage, one swizzle row
inline constexpr int swizzle_row_bytes = 128;
inline constexpr int max_smem_bytes = 232448;     // per CTA on 9.0 and 10.x
inline constexpr int sm_smem_bytes = 233472;      // per multiprocessor
inline constexpr int reserved_smem_bytes = 1024;  // per CTA, by the driver
inline constexpr int staging_buffers = 2;         // of sm100; of sm90 see staging_depth()

constexpr int largest_divisor(int value, int most) {
  int divisor = value < most ? value : most;
  while (value % divisor != 0) --divisor;
  return divisor;
}

}  // namespace bwgemm
