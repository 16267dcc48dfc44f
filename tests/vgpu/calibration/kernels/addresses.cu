// SPDX-License-Identifier: Apache-2.0
// Questions 2 and 7: where shared memory lies in a cluster, and which lane is elected.
#include "vgpu/calibration/kernels/common.h"

namespace bwgemm::calibration {

VGPU_DEVICE std::uint32_t getctarank(std::uint32_t address) {
  std::uint32_t rank;
  asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(address));
  return rank;
}

// The lane that elect.sync names among those of `mask`, which execute it alone.
VGPU_DEVICE std::uint32_t elected_of(std::uint32_t mask) {
  std::uint32_t lane;
  asm volatile(
      "{\n"
      " .reg .pred elected;\n"
      " elect.sync %0|elected, %1;\n"
      "}"
      : "=r"(lane)
      : "r"(mask));
  return lane;
}

}  // namespace bwgemm::calibration

// Eight words a CTA: own rank, size of the cluster, address of dynamic shared memory, the same
// through mapa for ranks 0 and the last, the owners of the three.
extern "C" __global__ void __launch_bounds__(32, 1) addresses(std::uint32_t* out) {
  using namespace bwgemm;
  const std::uint32_t own = calibration::shared_address(calibration::dynamic_shared);
  std::uint32_t size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  const std::uint32_t first = ptx::mapa(own, 0), last = ptx::mapa(own, size - 1);
  if (threadIdx.x != 0) return;
  out += 8 * blockIdx.x;
  out[0] = ptx::cluster_ctarank();
  out[1] = size;
  out[2] = own;
  out[3] = first;
  out[4] = last;
  out[5] = calibration::getctarank(own);
  out[6] = calibration::getctarank(first);
  out[7] = calibration::getctarank(last);
}

// out[i]: the lane that each of four warps elects three times of the lanes in masks[i], packed by
// `and` and `or`: equal halves mean that all agree.
extern "C" __global__ void __launch_bounds__(128, 1)
    elections(const std::uint32_t* masks, int count, std::uint32_t* out) {
  for (int i = 0; i < count; ++i) {
    const std::uint32_t mask = masks[i];
    __syncwarp();
    if (mask >> threadIdx.x % 32 & 1)
      for (int round = 0; round < 3; ++round) {
        const std::uint32_t lane = bwgemm::calibration::elected_of(mask);
        atomicMin(&out[2 * i], lane);
        atomicMax(&out[2 * i + 1], lane);
      }
    __syncwarp();
  }
}
