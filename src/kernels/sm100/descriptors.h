// SPDX-License-Identifier: Apache-2.0
// The descriptors of tcgen05.mma: where an operand lies in shared memory, and what the instruction
// multiplies. All operands are 128-byte swizzled tiles of 64 k as kernels/layout.h describes them.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/kernel_config.h"
#include "kernels/layout.h"

namespace bwgemm::sm100 {

template <class Value>
constexpr std::uint64_t bit_field(Value value, int lowest_bit) {
  return static_cast<std::uint64_t>(value) << lowest_bit;
}

// Fields as the PTX ISA names them, in bytes; the encoding counts units of 16 bytes.
struct MatrixDescriptor {
  std::uint32_t start_address;
  std::uint32_t leading_byte_offset;
  std::uint32_t stride_byte_offset;

  constexpr std::uint64_t encoded() const {
    constexpr std::uint32_t address_in_cta = 0x3ffff;  // without the CTA's rank
    constexpr int fixed_pattern = 1, swizzle_128b = 2;
    return bit_field((start_address & address_in_cta) >> 4, 0) |
           bit_field(leading_byte_offset >> 4, 16) | bit_field(stride_byte_offset >> 4, 32) |
           bit_field(fixed_pattern, 46) | bit_field(swizzle_128b, 61);
  }
};

inline constexpr int atom_bytes = 8 * swizzle_row_bytes;         // the swizzle repeats after 8 rows
inline constexpr int chunk_bytes = k_block * swizzle_row_bytes;  // MN-major: 64 of m or n, all k
inline constexpr int instruction_k = 16;  // k of one tcgen05.mma of 16-bit types

// The stride steps to the next 8 rows: of m or n (K-major), of k (MN-major). The leading offset
// steps to the next 64 of m or n where they are contiguous; K-major rows hold all of a block's k,
// and the field, which then has no meaning, holds the smallest step.
constexpr std::uint64_t operand_descriptor(std::uint32_t address, Major major) {
  return MatrixDescriptor{.start_address = address,
                          .leading_byte_offset = major == Major::k ? 16u : chunk_bytes,
                          .stride_byte_offset = atom_bytes}
      .encoded();
}

// The descriptor with its start moved. The address is the lowest field and stays inside the 256 KiB
// that it can name, so only the lower word is touched.
constexpr std::uint64_t moved(std::uint64_t descriptor, std::uint32_t bytes) {
  constexpr std::uint64_t upper_word = 0xffff'ffff'0000'0000;
  return (descriptor & upper_word) | (static_cast<std::uint32_t>(descriptor) + (bytes >> 4));
}

// From one instruction's k to the next: within the rows, or whole rows further.
constexpr int k_step_bytes(Major major) {
  return major == Major::k ? instruction_k * 2 : instruction_k * swizzle_row_bytes;
}

// kind::f16: 16-bit operands of one type, dense.
struct InstructionDescriptor {
  enum class Accumulator : std::uint8_t { f16 = 0, f32 = 1 };
  enum class Operand : std::uint8_t { f16 = 0, bf16 = 1 };

  Accumulator d;
  Operand a, b;
  Major a_major, b_major;
  int m, n;  // of the whole multiplication: of both CTAs

  constexpr std::uint32_t encoded() const {
    return static_cast<std::uint32_t>(
        bit_field(d, 4) | bit_field(a, 7) | bit_field(b, 10) | bit_field(a_major == Major::mn, 15) |
        bit_field(b_major == Major::mn, 16) | bit_field(n >> 3, 17) | bit_field(m >> 4, 24));
  }
};

constexpr std::uint32_t instruction_descriptor(Dtype type, Major a, Major b, int tile_n) {
  using Operand = InstructionDescriptor::Operand;
  const Operand operand = type == Dtype::bf16 ? Operand::bf16 : Operand::f16;
  return InstructionDescriptor{.d = InstructionDescriptor::Accumulator::f32,
                               .a = operand,
                               .b = operand,
                               .a_major = a,
                               .b_major = b,
                               .m = 2 * cta_rows,
                               .n = tile_n}
      .encoded();
}

// Encodings known from elsewhere.
static_assert(operand_descriptor(0, Major::k) == 0x4000'4040'0001'0000);
static_assert(operand_descriptor(0x0100'0400, Major::k) == 0x4000'4040'0001'0040);
static_assert(operand_descriptor(0, Major::mn) == 0x4000'4040'0200'0000);
static_assert(instruction_descriptor(Dtype::bf16, Major::mn, Major::mn, 256) == 0x1041'8490);
static_assert(InstructionDescriptor{
                  InstructionDescriptor::Accumulator::f32, InstructionDescriptor::Operand::bf16,
                  InstructionDescriptor::Operand::bf16, Major::k, Major::k, 128, 256}
                  .encoded() == 0x0840'0490);
static_assert(InstructionDescriptor{
                  InstructionDescriptor::Accumulator::f16, InstructionDescriptor::Operand::f16,
                  InstructionDescriptor::Operand::f16, Major::k, Major::k, 256, 256}
                  .encoded() == 0x1040'0000);

}  // namespace bwgemm::sm100
