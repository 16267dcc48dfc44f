// SPDX-License-Identifier: Apache-2.0
// Loads and stores of shared memory by 32-bit address, those of matrices included. In these every
// lane of a converged warp takes part.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

BWGEMM_DEVICE std::uint32_t ld_shared(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

BWGEMM_DEVICE std::uint32_t ld_shared_u16(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

BWGEMM_DEVICE void ld_shared_v2(std::uint32_t address, std::uint32_t (&value)[2]) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
               : "=r"(value[0]), "=r"(value[1])
               : "r"(address)
               : "memory");
}

BWGEMM_DEVICE void ld_shared_v4(std::uint32_t address, std::uint32_t (&value)[4]) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address)
               : "memory");
}

BWGEMM_DEVICE void ldmatrix_m8n8_x4(std::uint32_t address, std::uint32_t (&value)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address)
               : "memory");
}

BWGEMM_DEVICE void ldmatrix_m8n8_x4_trans(std::uint32_t address, std::uint32_t (&value)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address)
               : "memory");
}

BWGEMM_DEVICE void ldmatrix_m8n8_x2_trans(std::uint32_t address, std::uint32_t (&value)[2]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(value[0]), "=r"(value[1])
               : "r"(address)
               : "memory");
}

BWGEMM_DEVICE void st_shared_u16(std::uint32_t address, std::uint32_t value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

BWGEMM_DEVICE void st_shared(std::uint32_t address, std::uint32_t value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

// Predicated stores, for straight code at the edges of a matrix.
BWGEMM_DEVICE void st_shared_if(bool condition, std::uint32_t address, std::uint32_t value) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %2, 0;\n"
      " @condition st.shared.b32 [%0], %1;\n"
      "}" ::"r"(address),
      "r"(value), "r"(static_cast<int>(condition))
      : "memory");
}

BWGEMM_DEVICE void st_shared_u16_if(bool condition, std::uint32_t address, std::uint32_t value) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %2, 0;\n"
      " @condition st.shared.u16 [%0], %1;\n"
      "}" ::"r"(address),
      "r"(value), "r"(static_cast<int>(condition))
      : "memory");
}

BWGEMM_DEVICE void st_shared_v2(std::uint32_t address, std::uint32_t v0, std::uint32_t v1) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(v0), "r"(v1) : "memory");
}

BWGEMM_DEVICE void st_shared_v4(std::uint32_t address, std::uint32_t v0, std::uint32_t v1,
                                std::uint32_t v2, std::uint32_t v3) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v0), "r"(v1), "r"(v2),
               "r"(v3)
               : "memory");
}

BWGEMM_DEVICE void stmatrix_m8n8_x4(std::uint32_t address, std::uint32_t v0, std::uint32_t v1,
                                    std::uint32_t v2, std::uint32_t v3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(v0), "r"(v1), "r"(v2), "r"(v3)
               : "memory");
}

BWGEMM_DEVICE void stmatrix_m8n8_x4_trans(std::uint32_t address, std::uint32_t v0, std::uint32_t v1,
                                          std::uint32_t v2, std::uint32_t v3) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(v0), "r"(v1), "r"(v2), "r"(v3)
      : "memory");
}

BWGEMM_DEVICE void stmatrix_m8n8_x2_trans(std::uint32_t address, std::uint32_t v0,
                                          std::uint32_t v1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(v0), "r"(v1)
               : "memory");
}

}  // namespace bwgemm::ptx
