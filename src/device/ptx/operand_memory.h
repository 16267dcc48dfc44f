// SPDX-License-Identifier: Apache-2.0
// Loads and stores of global memory that only kernels without tensor maps have, besides
// global_memory.h: their threads take operands as they lie.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

// The address as it is where the condition is false.
template <typename Byte>
BWGEMM_DEVICE Byte* add_s64_if(bool condition, Byte* address, std::int64_t bytes) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %2, 0;\n"
      " @condition add.s64 %0, %0, %1;\n"
      "}"
      : "+l"(address)
      : "l"(bytes), "r"(static_cast<int>(condition)));
  return address;
}

BWGEMM_DEVICE std::uint32_t ld_global_u16(const void* address) {
  std::uint32_t value;
  asm volatile("ld.global.u16 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

BWGEMM_DEVICE std::uint32_t ld_global(const void* address) {
  std::uint32_t value;
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

BWGEMM_DEVICE std::uint64_t ld_global_b64(const void* address) {
  std::uint64_t value;
  asm volatile("ld.global.b64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

BWGEMM_DEVICE void ld_global_v2(const void* address, std::uint32_t& v0, std::uint32_t& v1) {
  asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(v0), "=r"(v1) : "l"(address) : "memory");
}

// Leaves the value as it is where the condition is false.
BWGEMM_DEVICE void ld_global_u16_over(std::uint32_t& value, bool condition, const void* address) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %2, 0;\n"
      " @condition ld.global.u16 %0, [%1];\n"
      "}"
      : "+r"(value)
      : "l"(address), "r"(static_cast<int>(condition))
      : "memory");
}

// ld_global_v4_if for what is read once, and by nobody else on this multiprocessor.
BWGEMM_DEVICE void ld_global_no_allocate_v4_if(bool condition, const void* address,
                                               std::uint32_t (&value)[4]) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %5, 0;\n"
      " mov.b32 %0, 0;\n"
      " mov.b32 %1, 0;\n"
      " mov.b32 %2, 0;\n"
      " mov.b32 %3, 0;\n"
      " @condition ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=&r"(value[0]), "=&r"(value[1]), "=&r"(value[2]), "=&r"(value[3])
      : "l"(address), "r"(static_cast<int>(condition))
      : "memory");
}

BWGEMM_DEVICE void st_global_v2(void* address, std::uint32_t v0, std::uint32_t v1) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(v0), "r"(v1) : "memory");
}

}  // namespace bwgemm::ptx
