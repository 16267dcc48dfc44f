// SPDX-License-Identifier: Apache-2.0
// wgmma.* but the multiplications, which are generated (wgmma_mma.h): the order between
// accumulator registers, asynchronous groups and the threads that use them.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

BWGEMM_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

BWGEMM_DEVICE void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int pending>
BWGEMM_DEVICE void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

}  // namespace bwgemm::ptx
