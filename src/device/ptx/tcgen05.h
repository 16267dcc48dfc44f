// SPDX-License-Identifier: Apache-2.0
// tcgen05.*: tensor memory, multiplications into it with their descriptors, and their order with
// other threads. `ctas` is the cta_group: 2 where the two CTAs of a pair act as one. A tensor
// memory address is lane << 16 | column.
#pragma once

#include "core/kernel_config.h"
#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

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

// Encodings known from elsewhere.
static_assert(InstructionDescriptor{
                  InstructionDescriptor::Accumulator::f32, InstructionDescriptor::Operand::bf16,
                  InstructionDescriptor::Operand::bf16, Major::k, Major::k, 128, 256}
                  .encoded() == 0x0840'0490);
static_assert(InstructionDescriptor{
                  InstructionDescriptor::Accumulator::f16, InstructionDescriptor::Operand::f16,
                  InstructionDescriptor::Operand::f16, Major::k, Major::k, 256, 256}
                  .encoded() == 0x1040'0000);

// Writes the address of `columns` columns (a power of two from 32) to shared memory. Whole warp.
template <int cta_group, int columns>
BWGEMM_DEVICE void tcgen05_alloc(std::uint32_t destination) {
  asm volatile(
      "tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(destination),
      "n"(columns), "n"(cta_group)
      : "memory");
}

template <int cta_group, int columns>
BWGEMM_DEVICE void tcgen05_dealloc(std::uint32_t address) {
  asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address),
               "n"(columns), "n"(cta_group)
               : "memory");
}

template <int cta_group>
BWGEMM_DEVICE void tcgen05_relinquish_alloc_permit() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(cta_group)
               : "memory");
}

// 16-bit operands in shared memory, 16 deep: d = a * b, plus d if `accumulate`. Issued by one
// thread, of a pair's leading CTA for both.
template <int cta_group>
BWGEMM_DEVICE void tcgen05_mma_f16(std::uint32_t d, std::uint64_t a, std::uint64_t b,
                                   std::uint32_t instruction, bool accumulate) {
  asm volatile(
      "{\n"
      " .reg .pred accumulate;\n"
      " setp.ne.b32 accumulate, %4, 0;\n"
      " tcgen05.mma.cta_group::%5.kind::f16 [%0], %1, %2, %3, accumulate;\n"
      "}" ::"r"(d),
      "l"(a), "l"(b), "r"(instruction), "r"(static_cast<std::uint32_t>(accumulate)), "n"(cta_group)
      : "memory");
}

// Arrives at the barrier once this thread's earlier multiplications are complete.
BWGEMM_DEVICE void tcgen05_commit(std::uint32_t barrier) {
  asm volatile(
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
      : "memory");
}

// The same at the barrier's address in every CTA of the mask, for multiplications of pairs.
BWGEMM_DEVICE void tcgen05_commit_multicast(std::uint32_t barrier, std::uint16_t cta_mask) {
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
      "[%0], %1;" ::"r"(barrier),
      "h"(cta_mask)
      : "memory");
}

// Lane t of the warp receives 32 consecutive columns of lane t of its quarter. The values may be
// used only behind tcgen05_wait_ld. Whole warp, one address.
BWGEMM_DEVICE void tcgen05_ld_32x32b_x32(float* values, std::uint32_t address) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x32.b32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
      : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3]), "=f"(values[4]),
        "=f"(values[5]), "=f"(values[6]), "=f"(values[7]), "=f"(values[8]), "=f"(values[9]),
        "=f"(values[10]), "=f"(values[11]), "=f"(values[12]), "=f"(values[13]), "=f"(values[14]),
        "=f"(values[15]), "=f"(values[16]), "=f"(values[17]), "=f"(values[18]), "=f"(values[19]),
        "=f"(values[20]), "=f"(values[21]), "=f"(values[22]), "=f"(values[23]), "=f"(values[24]),
        "=f"(values[25]), "=f"(values[26]), "=f"(values[27]), "=f"(values[28]), "=f"(values[29]),
        "=f"(values[30]), "=f"(values[31])
      : "r"(address)
      : "memory");
}

// The same for 16 columns.
BWGEMM_DEVICE void tcgen05_ld_32x32b_x16(float* values, std::uint32_t address) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x16.b32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];"
      : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3]), "=f"(values[4]),
        "=f"(values[5]), "=f"(values[6]), "=f"(values[7]), "=f"(values[8]), "=f"(values[9]),
        "=f"(values[10]), "=f"(values[11]), "=f"(values[12]), "=f"(values[13]), "=f"(values[14]),
        "=f"(values[15])
      : "r"(address)
      : "memory");
}

BWGEMM_DEVICE void tcgen05_wait_ld() {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

BWGEMM_DEVICE void tcgen05_fence_before_thread_sync() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

BWGEMM_DEVICE void tcgen05_fence_after_thread_sync() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

}  // namespace bwgemm::ptx
