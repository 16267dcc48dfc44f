// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomics of global memory. Addresses are as aligned as the access is wide.
#pragma once

#include "kernels/ptx/attributes.h"

namespace bwgemm::ptx {

// An addition that the compiler cannot see through: a chain of them stays one pointer, where plain
// additions of a common step become as many multiples of it, each in its own register.
template <typename Byte>
BWGEMM_DEVICE Byte* add_s64(Byte* address, std::int64_t bytes) {
  Byte* sum;
  asm volatile("add.s64 %0, %1, %2;" : "=l"(sum) : "l"(address), "l"(bytes));
  return sum;
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

BWGEMM_DEVICE void ld_global_v2(const void* address, std::uint32_t& v0, std::uint32_t& v1) {
  asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(v0), "=r"(v1) : "l"(address) : "memory");
}

BWGEMM_DEVICE void ld_global_v4(const void* address, std::uint32_t& v0, std::uint32_t& v1,
                                std::uint32_t& v2, std::uint32_t& v3) {
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v0), "=r"(v1), "=r"(v2), "=r"(v3)
               : "l"(address)
               : "memory");
}

BWGEMM_DEVICE void st_global_u16(void* address, std::uint32_t value) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

BWGEMM_DEVICE void st_global(void* address, std::uint32_t value) {
  asm volatile("st.global.b32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

BWGEMM_DEVICE void st_global_v2(void* address, std::uint32_t v0, std::uint32_t v1) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(v0), "r"(v1) : "memory");
}

BWGEMM_DEVICE void st_global_v4(void* address, std::uint32_t v0, std::uint32_t v1, std::uint32_t v2,
                                std::uint32_t v3) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v0), "r"(v1), "r"(v2),
               "r"(v3)
               : "memory");
}

// The value before the addition.
BWGEMM_DEVICE std::uint32_t atom_add_acq_rel_gpu(std::uint32_t* address, std::uint32_t addend) {
  std::uint32_t previous;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
               : "=r"(previous)
               : "l"(address), "r"(addend)
               : "memory");
  return previous;
}

}  // namespace bwgemm::ptx
