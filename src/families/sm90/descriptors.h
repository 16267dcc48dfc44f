// SPDX-License-Identifier: Apache-2.0
// The 64-bit matrix descriptors through which wgmma finds its operands in shared memory. All
// operands are swizzled tiles as device/layout.h describes them, of rows of 128 bytes; of a narrow
// chunk along n of 64 or 32.
#pragma once

#include <cstdint>

#include "core/kernel_config.h"
#include "families/sm90/layout.h"

namespace bwgemm::sm90 {

// Fields as the PTX ISA names them, in bytes; the encoding counts units of 16 bytes. Of the address
// only the offset in the CTA counts: in a cluster the bits above it hold the CTA's rank.
struct MatrixDescriptor {
  std::uint32_t start_address;
  std::uint32_t leading_byte_offset;
  std::uint32_t stride_byte_offset;
  int swizzle_bytes = swizzle_row_bytes;

  constexpr std::uint64_t encoded() const {
    const std::uint64_t swizzle = swizzle_bytes == 128 ? 1 : swizzle_bytes == 64 ? 2 : 3;
    constexpr std::uint32_t offset_mask = (1 << 18) - 1;
    return static_cast<std::uint64_t>((start_address & offset_mask) >> 4) |
           static_cast<std::uint64_t>(leading_byte_offset >> 4) << 16 |
           static_cast<std::uint64_t>(stride_byte_offset >> 4) << 32 | swizzle << 62;
  }
};

inline constexpr int atom_rows = 8;  // the swizzle repeats after so many
// MN-major, which wgmma takes of 16-bit types only: 64 of m or n by 64 of k.
inline constexpr int chunk_bytes = 64 * swizzle_row_bytes;
inline constexpr int instruction_m = 64;

// The stride steps to the next 8 rows: of m or n (K-major), of k (MN-major). The leading offset
// steps to the next 64 of m or n where they are contiguous; K-major rows hold all of a block's k.
// `chunk`: chunk_of() the operand; a narrow one is alone, and the leading offset means nothing.
constexpr std::uint64_t operand_descriptor(std::uint32_t address, Major major, int chunk = 64) {
  const int row_bytes = major == Major::k ? swizzle_row_bytes : chunk * 2;
  return MatrixDescriptor{.start_address = address,
                          .leading_byte_offset = major == Major::k ? 0u : chunk_bytes,
                          .stride_byte_offset = static_cast<std::uint32_t>(atom_rows * row_bytes),
                          .swizzle_bytes = row_bytes}
      .encoded();
}

// Added to an encoded descriptor to move its start.
constexpr std::uint64_t descriptor_step(int bytes) {
  return static_cast<std::uint64_t>(bytes >> 4);
}

// From one wgmma's rows of A to the next: rows, or a chunk.
inline constexpr int row_block_bytes = instruction_m * swizzle_row_bytes;

// From one instruction's k to the next: within the rows, or whole rows further.
constexpr int k_step_bytes(MmaKind kind, Major major, int chunk = 64) {
  return major == Major::k ? instruction_k_bytes : instruction_k(kind) * chunk * 2;
}

}  // namespace bwgemm::sm90
