// SPDX-License-Identifier: Apache-2.0
// Question 6: an mbarrier whose bytes are completed before anybody expects them. One warp; out[i]
// says whether phase 0 was complete after step i.
#include "vgpu/calibration/kernels/common.h"

namespace bwgemm::calibration {

VGPU_DEVICE void mbarrier_expect_tx(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// What a load does at its end.
VGPU_DEVICE void mbarrier_complete_tx(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}

VGPU_DEVICE std::uint32_t fresh_barrier(std::uint32_t arrivals) {
  const std::uint32_t barrier = shared_address(dynamic_shared) + 1024;
  ptx::mbarrier_init(barrier, arrivals);
  ptx::fence_mbarrier_init();
  return barrier;
}

}  // namespace bwgemm::calibration

// A load of 1 KiB first, its expect_tx with the only arrival much later.
extern "C" __global__ void __launch_bounds__(32, 1)
    load_first(const __grid_constant__ bwgemm::TensorMap map, std::uint32_t* out) {
  using namespace bwgemm;
  if (threadIdx.x != 0) return;
  const std::uint32_t barrier = calibration::fresh_barrier(1);
  ptx::cp_async_bulk_tensor_3d(calibration::shared_address(calibration::dynamic_shared), map, 0, 0,
                               0, barrier);
  calibration::pause_for(2000);
  out[0] = calibration::mbarrier_test_wait_parity(barrier, 0);
  ptx::mbarrier_arrive_expect_tx(barrier, 1024);
  out[1] = calibration::completes(barrier, 0);
  out[2] = ptx::ld_shared(calibration::shared_address(calibration::dynamic_shared));
}

// complete_tx, then expect_tx, while an arrival is missing; then the arrival.
extern "C" __global__ void __launch_bounds__(32, 1) complete_first(std::uint32_t* out) {
  using namespace bwgemm;
  if (threadIdx.x != 0) return;
  const std::uint32_t barrier = calibration::fresh_barrier(1);
  calibration::mbarrier_complete_tx(barrier, 64);
  out[0] = calibration::mbarrier_test_wait_parity(barrier, 0);
  calibration::mbarrier_expect_tx(barrier, 64);
  out[1] = calibration::mbarrier_test_wait_parity(barrier, 0);
  ptx::mbarrier_arrive(barrier);
  out[2] = calibration::completes(barrier, 0);
}

// The only arrival while bytes are owed to the other side; the phase can end only with expect_tx.
extern "C" __global__ void __launch_bounds__(32, 1) arrive_between(std::uint32_t* out) {
  using namespace bwgemm;
  if (threadIdx.x != 0) return;
  const std::uint32_t barrier = calibration::fresh_barrier(1);
  calibration::mbarrier_complete_tx(barrier, 64);
  ptx::mbarrier_arrive(barrier);
  calibration::pause_for(100);
  out[0] = calibration::mbarrier_test_wait_parity(barrier, 0);
  calibration::mbarrier_expect_tx(barrier, 64);
  calibration::pause_for(100);
  out[1] = calibration::mbarrier_test_wait_parity(barrier, 0);
}
