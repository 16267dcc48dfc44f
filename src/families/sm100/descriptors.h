// SPDX-License-Identifier: Apache-2.0
// The descriptors of tcgen05.mma: where an operand lies in shared memory, as sm100/layout.h
// describes it, and what the instruction multiplies.
#pragma once

#include <cstdint>

#include "core/element.h"
#include "core/kernel_config.h"
#include "device/ptx/attributes.h"
#include "families/sm100/layout.h"

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
  int swizzle_bytes;

  constexpr std::uint64_t encoded() const {
    constexpr std::uint32_t address_in_cta = 0x3ffff;  // without the CTA's rank
    constexpr int fixed_pattern = 1;
    const int swizzle = swizzle_bytes == 128  ? 2
                        : swizzle_bytes == 64 ? 4
                        : swizzle_bytes == 32 ? 6
                                              : 0;
    return bit_field((start_address & address_in_cta) >> 4, 0) |
           bit_field(leading_byte_offset >> 4, 16) | bit_field(stride_byte_offset >> 4, 32) |
           bit_field(fixed_pattern, 46) | bit_field(swizzle, 61);
  }
};

// With a swizzle, the stride steps to the next 8 rows of a block: of m or n (K-major), of k
// (MN-major). The leading offset steps to the next block along m or n; K-major blocks follow each
// other along k, from instruction to instruction, and the field, which then has no meaning, holds
// the smallest step. Without a swizzle K-major operands lead to the next 16 bytes of k, MN-major
// ones to the next 8 of k, and stride along m or n. `held`: rows of m or n of the operand.
template <KernelConfig config>
constexpr std::uint64_t operand_descriptor(std::uint32_t address, Major major, int held) {
  constexpr std::uint32_t width = operand_block(config).bytes, group = 8 * width,
                          deep = config.tile.k * width;
  constexpr bool is_swizzled = config.choices.swizzle_bytes != 0;
  const bool k_major = major == Major::k;
  const std::uint32_t leading = is_swizzled
                                    ? (k_major ? 16 : deep)
                                    : (k_major ? static_cast<std::uint32_t>(held) * width : group);
  const std::uint32_t stride = is_swizzled || k_major ? group : deep;
  return MatrixDescriptor{address, leading, stride, config.choices.swizzle_bytes}.encoded();
}

// The descriptor with its start moved. The address is the lowest field and stays inside the 256 KiB
// that it can name, so only the lower word is touched.
constexpr std::uint64_t moved(std::uint64_t descriptor, std::uint32_t bytes) {
  constexpr std::uint64_t upper_word = 0xffff'ffff'0000'0000;
  return (descriptor & upper_word) | (static_cast<std::uint32_t>(descriptor) + (bytes >> 4));
}

// Where the k of the stage's instruction `step` begins.
template <KernelConfig config>
constexpr std::uint32_t k_offset(Major major, int held, int step) {
  constexpr int width = operand_block(config).bytes;
  if (major == Major::mn) return step * instruction_k(config.mma) * width;
  const int bytes = step * instruction_k_bytes;
  return bytes / width * held * width + bytes % width;
}

// Where a block of 128 rows begins.
template <KernelConfig config>
constexpr std::uint32_t row_block_offset(Major major, int block) {
  return block * cta_rows * (major == Major::mn ? swizzle_row_bytes : operand_block(config).bytes);
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

template <KernelConfig config>
constexpr std::uint32_t instruction_descriptor(Dtype type, Major a, Major b, int tile_n) {
  using Operand = InstructionDescriptor::Operand;
  const Operand operand = type == Dtype::bf16 ? Operand::bf16 : Operand::f16;
  return InstructionDescriptor{.d = InstructionDescriptor::Accumulator::f32,
                               .a = operand,
                               .b = operand,
                               .a_major = a,
                               .b_major = b,
                               .m = groups_of(config).ctas * cta_rows,
                               .n = tile_n}
      .encoded();
}

// Encodings known from elsewhere.
inline constexpr KernelConfig known_pair{Arch::sm100, Family::pair, MmaKind::b16, Major::any,
                                         Major::any,  {256, 0, 64}, {2, 1},       0};
static_assert(operand_descriptor<known_pair>(0, Major::k, 128) == 0x4000'4040'0001'0000);
static_assert(operand_descriptor<known_pair>(0x0100'0400, Major::k, 128) == 0x4000'4040'0001'0040);
static_assert(operand_descriptor<known_pair>(0, Major::mn, 128) == 0x4000'4040'0200'0000);
static_assert(instruction_descriptor<known_pair>(Dtype::bf16, Major::mn, Major::mn, 256) ==
              0x1041'8490);
static_assert(InstructionDescriptor{
                  InstructionDescriptor::Accumulator::f32, InstructionDescriptor::Operand::bf16,
                  InstructionDescriptor::Operand::bf16, Major::k, Major::k, 128, 256}
                  .encoded() == 0x0840'0490);
static_assert(InstructionDescriptor{
                  InstructionDescriptor::Accumulator::f16, InstructionDescriptor::Operand::f16,
                  InstructionDescriptor::Operand::f16, Major::k, Major::k, 256, 256}
                  .encoded() == 0x1040'0000);

}  // namespace bwgemm::sm100
