// SPDX-License-Identifier: Apache-2.0
// cp.async: a thread's copies from global to shared memory, which arrive later, in groups.
// Addresses are as aligned as the copy is long. L1 keeps what is read.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

BWGEMM_DEVICE void cp_async_4(std::uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

BWGEMM_DEVICE void cp_async_16(std::uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Reads `bytes` of the source; the rest of the copy is zeros.
BWGEMM_DEVICE void cp_async_4(std::uint32_t to, const void* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}

BWGEMM_DEVICE void cp_async_16(std::uint32_t to, const void* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}

// A group has the thread's copies since the last one.
BWGEMM_DEVICE void cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits for all groups of the thread but the youngest `pending`.
template <int pending>
BWGEMM_DEVICE void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

}  // namespace bwgemm::ptx
