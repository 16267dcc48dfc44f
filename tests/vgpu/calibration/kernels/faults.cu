// SPDX-License-Identifier: Apache-2.0
// Question 10: kernels that are wrong in one way each, for what the driver says about them.
#include "vgpu/calibration/kernels/common.h"

extern "C" __global__ void nothing(int*) {}

extern "C" __global__ void __launch_bounds__(256, 1) bounded_nothing(int*) {}

extern "C" __global__ void store_to(int* to) {
  *to = 1;
}

extern "C" __global__ void trap_now(int*) {
  asm volatile("trap;");
}

extern "C" __global__ void store_shared(int* address) {
  bwgemm::ptx::st_shared(static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(address)), 1);
}

// More arrivals than a phase has.
extern "C" __global__ void arrive_too_often(int*) {
  using namespace bwgemm;
  const std::uint32_t barrier = calibration::shared_address(calibration::dynamic_shared);
  ptx::mbarrier_init(barrier, 2);
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], 5;" ::"r"(barrier) : "memory");
}

// A load through a map that may be no map, to an address that may be too little aligned.
extern "C" __global__ void load_through(const __grid_constant__ bwgemm::TensorMap map, int offset,
                                        int c0) {
  using namespace bwgemm;
  const std::uint32_t image = calibration::shared_address(calibration::dynamic_shared);
  const std::uint32_t barrier = image + 8192;
  ptx::mbarrier_init(barrier, 1);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_arrive_expect_tx(barrier, 1024);
  ptx::cp_async_bulk_tensor_3d(image + offset, map, c0, 0, 0, barrier);
  calibration::completes(barrier, 0);
}
