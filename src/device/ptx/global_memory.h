// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomics of global memory. Addresses are as aligned as the access is wide.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

// An addition that the compiler cannot see through: a chain of them stays one pointer, where plain
// additions of a common step become as many multiples of it, each in its own register.
template <typename Byte>
BWGEMM_DEVICE Byte* add_s64(Byte* address, std::int64_t bytes) {
  Byte* sum;
  asm volatile("add.s64 %0, %1, %2;" : "=l"(sum) : "l"(address), "l"(bytes));
  return sum;
}

BWGEMM_DEVICE void ld_global_v4(const void* address, std::uint32_t& v0, std::uint32_t& v1,
                                std::uint32_t& v2, std::uint32_t& v3) {
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v0), "=r"(v1), "=r"(v2), "=r"(v3)
               : "l"(address)
               : "memory");
}

// Predicated loads, for straight code at the edges of a matrix: zero where the condition is false.
BWGEMM_DEVICE std::uint32_t ld_global_u16_if(bool condition, const void* address) {
  std::uint32_t value;
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %2, 0;\n"
      " mov.b32 %0, 0;\n"
      " @condition ld.global.u16 %0, [%1];\n"
      "}"
      : "=&r"(value)
      : "l"(address), "r"(static_cast<int>(condition))
      : "memory");
  return value;
}

BWGEMM_DEVICE std::uint32_t ld_global_if(bool condition, const void* address) {
  std::uint32_t value;
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %2, 0;\n"
      " mov.b32 %0, 0;\n"
      " @condition ld.global.b32 %0, [%1];\n"
      "}"
      : "=&r"(value)
      : "l"(address), "r"(static_cast<int>(condition))
      : "memory");
  return value;
}

BWGEMM_DEVICE void ld_global_v2_if(bool condition, const void* address, std::uint32_t (&value)[2]) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %3, 0;\n"
      " mov.b32 %0, 0;\n"
      " mov.b32 %1, 0;\n"
      " @condition ld.global.v2.b32 {%0, %1}, [%2];\n"
      "}"
      : "=&r"(value[0]), "=&r"(value[1])
      : "l"(address), "r"(static_cast<int>(condition))
      : "memory");
}

BWGEMM_DEVICE void ld_global_v4_if(bool condition, const void* address, std::uint32_t (&value)[4]) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %5, 0;\n"
      " mov.b32 %0, 0;\n"
      " mov.b32 %1, 0;\n"
      " mov.b32 %2, 0;\n"
      " mov.b32 %3, 0;\n"
      " @condition ld.global.v4.b32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=&r"(value[0]), "=&r"(value[1]), "=&r"(value[2]), "=&r"(value[3])
      : "l"(address), "r"(static_cast<int>(condition))
      : "memory");
}

BWGEMM_DEVICE void st_global_u16(void* address, std::uint32_t value) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

BWGEMM_DEVICE void st_global(void* address, std::uint32_t value) {
  asm volatile("st.global.b32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

// Predicated stores, for the same purpose.
BWGEMM_DEVICE void st_global_u16_if(bool condition, void* address, std::uint32_t value) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %2, 0;\n"
      " @condition st.global.u16 [%0], %1;\n"
      "}" ::"l"(address),
      "r"(value), "r"(static_cast<int>(condition))
      : "memory");
}

BWGEMM_DEVICE void st_global_if(bool condition, void* address, std::uint32_t value) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %2, 0;\n"
      " @condition st.global.b32 [%0], %1;\n"
      "}" ::"l"(address),
      "r"(value), "r"(static_cast<int>(condition))
      : "memory");
}

BWGEMM_DEVICE void st_global_v2_if(bool condition, void* address, std::uint32_t v0,
                                   std::uint32_t v1) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %3, 0;\n"
      " @condition st.global.v2.b32 [%0], {%1, %2};\n"
      "}" ::"l"(address),
      "r"(v0), "r"(v1), "r"(static_cast<int>(condition))
      : "memory");
}

BWGEMM_DEVICE void st_global_v4_if(bool condition, void* address, std::uint32_t v0,
                                   std::uint32_t v1, std::uint32_t v2, std::uint32_t v3) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %5, 0;\n"
      " @condition st.global.v4.b32 [%0], {%1, %2, %3, %4};\n"
      "}" ::"l"(address),
      "r"(v0), "r"(v1), "r"(v2), "r"(v3), "r"(static_cast<int>(condition))
      : "memory");
}

BWGEMM_DEVICE void st_global_v4(void* address, std::uint32_t v0, std::uint32_t v1, std::uint32_t v2,
                                std::uint32_t v3) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v0), "r"(v1), "r"(v2),
               "r"(v3)
               : "memory");
}

// Accumulators of wgmma must stay floats: the moves of a conversion keep ptxas from leaving them in
// place.
BWGEMM_DEVICE void ld_global_v4_f32(const float* address, float& v0, float& v1, float& v2,
                                    float& v3) {
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v0), "=f"(v1), "=f"(v2), "=f"(v3)
               : "l"(address)
               : "memory");
}

BWGEMM_DEVICE void st_global_v4_f32(float* address, float v0, float v1, float v2, float v3) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(v0), "f"(v1), "f"(v2),
               "f"(v3)
               : "memory");
}

BWGEMM_DEVICE void prefetch_global_l1(const void* address) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(address) : "memory");
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
