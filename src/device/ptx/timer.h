// SPDX-License-Identifier: Apache-2.0
// Special registers of time and place, read when the program gets there.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

BWGEMM_DEVICE std::uint64_t globaltimer() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

BWGEMM_DEVICE std::uint32_t smid() {
  std::uint32_t multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  return multiprocessor;
}

}  // namespace bwgemm::ptx
