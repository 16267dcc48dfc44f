// SPDX-License-Identifier: Apache-2.0
// What the layouts of all families rest on: how much shared memory there is, and how TMA cuts
// operands and D. Each family computes its own layout from a config (families/<family>/layout.h).
//
// Operand tiles are 128-byte swizzled. A K-major tile is rows of 128 bytes along k; an MN-major
// tile is chunks of 128 bytes along m or n, each chunk being one such row per k; of narrow tiles of
// sm90 rows have 64 or 32 bytes, and the swizzle too. A ring stage is as deep as 128 bytes hold
// elements, row_elements(). Both then take rows * 128 bytes. Output passes through staging buffers
// of 128-byte rows: 64 columns of a 16-bit type or 32 of f32.
#pragma once

#include "core/element.h"

namespace bwgemm {

inline constexpr int swizzle_row_bytes = 128;
inline constexpr int max_smem_bytes = 232448;     // per CTA on 9.0 and 10.x
inline constexpr int sm_smem_bytes = 233472;      // per multiprocessor
inline constexpr int reserved_smem_bytes = 1024;  // per CTA, by the driver
inline constexpr int staging_buffers = 2;         // of sm100; of sm90 see Layout::staging_depth

constexpr int row_elements(MmaKind kind) {
  return swizzle_row_bytes * 8 / operand_bits(kind);
}
// The k of one instruction of the tensor cores is 32 bytes of a row, whatever its elements are.
inline constexpr int instruction_k_bytes = 32;
constexpr int instruction_k(MmaKind kind) {
  return instruction_k_bytes * 8 / operand_bits(kind);
}

}  // namespace bwgemm
