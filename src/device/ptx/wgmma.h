// SPDX-License-Identifier: Apache-2.0
// wgmma.*: the descriptor of an operand, and the order between accumulator registers, asynchronous
// groups and the threads that use them. The multiplications are generated (wgmma_mma.h). How they
// say their types is written here.
#pragma once

#include <utility>

#include "core/element.h"
#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

// A swizzled operand in shared memory. Fields as the PTX ISA names them, in bytes; the encoding
// counts units of 16 bytes. Of the address only the offset in the CTA counts: in a cluster the bits
// above it hold the CTA's rank.
struct MatrixDescriptor {
  std::uint32_t start_address;
  std::uint32_t leading_byte_offset;
  std::uint32_t stride_byte_offset;
  int swizzle_bytes;

  constexpr std::uint64_t encoded() const {
    const std::uint64_t swizzle = swizzle_bytes == 128 ? 1 : swizzle_bytes == 64 ? 2 : 3;
    constexpr std::uint32_t offset_mask = (1 << 18) - 1;
    return static_cast<std::uint64_t>((start_address & offset_mask) >> 4) |
           static_cast<std::uint64_t>(leading_byte_offset >> 4) << 16 |
           static_cast<std::uint64_t>(stride_byte_offset >> 4) << 32 | swizzle << 62;
  }
};

BWGEMM_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

BWGEMM_DEVICE void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int pending>
BWGEMM_DEVICE void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

constexpr int length(const char* text) {
  int letters = 0;
  while (text[letters] != '\0') ++letters;
  return letters;
}

// The name of a type, which is also PTX's. Inline assembly takes words as arrays only.
template <Dtype type, class = std::make_integer_sequence<int, length(name(type))>>
struct Word;
template <Dtype type, int... letters>
struct Word<type, std::integer_sequence<int, letters...>> {
  static constexpr char text[] = {name(type)[letters]..., '\0'};
};

// The last operands of a multiplication of 16-bit types: whether A and B lie along m and n. Others
// have no such operands, and lie along k.
template <bool are_said, int transpose_a, int transpose_b>
inline constexpr char transposes[] = {',', ' ', '0' + transpose_a, ',', ' ', '0' + transpose_b,
                                      '\0'};
template <>
inline constexpr char transposes<false, 0, 0>[] = "";

}  // namespace bwgemm::ptx
