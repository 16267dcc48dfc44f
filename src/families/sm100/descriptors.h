// SPDX-License-Identifier: Apache-2.0
// The descriptors of tcgen05.mma: where an operand lies in shared memory, as sm100/layout.h
// describes it, and what the instruction multiplies.
#pragma once

#include <cstdint>

#include "core/element.h"
#include "core/kernel_config.h"
#include "device/ptx/tcgen05.h"
#include "families/sm100/layout.h"

namespace bwgemm::sm100 {

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
  return ptx::MatrixDescriptor{address, leading, stride, config.choices.swizzle_bytes}.encoded();
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

template <KernelConfig config>
constexpr std::uint32_t instruction_descriptor(Dtype type, Major a, Major b, int tile_n) {
  using ptx::InstructionDescriptor;
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

}  // namespace bwgemm::sm100
