// SPDX-License-Identifier: Apache-2.0
// Questions 5 and 9: boxes that the tensor does not fill, loaded and stored; and loads that reach
// other CTAs of a cluster.
#include "vgpu/calibration/kernels/common.h"

namespace bwgemm::calibration {

inline constexpr int image_bytes = 16384;
inline constexpr std::uint32_t barrier_offset = image_bytes;

VGPU_DEVICE void cp_reduce_async_bulk_tensor_3d_add(const TensorMap& map, int c0, int c1, int c2,
                                                    std::uint32_t source) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.bulk_group [%0, {%1, %2, %3}], "
      "[%4];" ::"l"(&map),
      "r"(c0), "r"(c1), "r"(c2), "r"(source)
      : "memory");
}

VGPU_DEVICE void cp_async_bulk_wait_group_all() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

}  // namespace bwgemm::calibration

// Shared memory behind the load of one box over a background of 0xa5, and in done[0] whether the
// barrier completed, which expected `bytes`.
extern "C" __global__ void __launch_bounds__(128, 1)
    load_box(const __grid_constant__ bwgemm::TensorMap map, int c0, int c1, int c2,
             std::uint32_t bytes, uint4* out, std::uint32_t* done) {
  using namespace bwgemm;
  const std::uint32_t image = calibration::shared_address(calibration::dynamic_shared);
  const std::uint32_t barrier = image + calibration::barrier_offset;
  for (int i = threadIdx.x; i < calibration::image_bytes / 16; i += blockDim.x)
    ptx::st_shared_v4(image + 16 * i, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::fence_proxy_async_shared();  // the background before the load's writes
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier, bytes);
    ptx::cp_async_bulk_tensor_3d(image, map, c0, c1, c2, barrier);
  }
  const bool completed = calibration::completes(barrier, 0);
  if (threadIdx.x == 0) done[0] = completed;
  __syncthreads();
  calibration::copy_out(out, image, calibration::image_bytes);
}

// Stores, or adds, one box of `from`.
extern "C" __global__ void __launch_bounds__(128, 1)
    store_box(const __grid_constant__ bwgemm::TensorMap map, int c0, int c1, int c2, int adds,
              const uint4* from) {
  using namespace bwgemm;
  const std::uint32_t image = calibration::shared_address(calibration::dynamic_shared);
  calibration::copy_in(image, from, calibration::image_bytes);
  ptx::fence_proxy_async_shared();  // these writes before the store's reads
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (adds != 0)
    calibration::cp_reduce_async_bulk_tensor_3d_add(map, c0, c1, c2, image);
  else
    ptx::cp_async_bulk_tensor_3d_store(map, c0, c1, c2, image, ptx::l2_policy(false));
  ptx::cp_async_bulk_commit_group();
  calibration::cp_async_bulk_wait_group_all();
}

// CTA `issuer` of the cluster loads one box of 1 KiB into every CTA of `mask`, with the addresses
// of CTA `named`. Four words a CTA: did its barrier, which expects the box if it is in `expecting`,
// complete; first and last word of the box; a word behind it.
extern "C" __global__ void __launch_bounds__(32, 1)
    multicast_box(const __grid_constant__ bwgemm::TensorMap map, std::uint32_t issuer,
                  std::uint32_t mask, std::uint32_t named, std::uint32_t expecting,
                  std::uint32_t* out) {
  using namespace bwgemm;
  const std::uint32_t image = calibration::shared_address(calibration::dynamic_shared);
  const std::uint32_t barrier = image + calibration::barrier_offset;
  const std::uint32_t rank = ptx::cluster_ctarank();
  for (int i = threadIdx.x; i < 2048 / 16; i += 32)
    ptx::st_shared_v4(image + 16 * i, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5);
  const bool expects = (expecting >> rank & 1) != 0;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
    if (expects) ptx::mbarrier_arrive_expect_tx(barrier, 1024);
  }
  ptx::fence_proxy_async_shared();  // the background before the load's writes
  __syncwarp();
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (rank == issuer && threadIdx.x == 0) {
    const std::uint32_t to = ptx::mapa(image, named), at = ptx::mapa(barrier, named);
    if (mask == 0)
      ptx::cp_async_bulk_tensor_3d(to, map, 0, 0, 0, at);
    else
      ptx::cp_async_bulk_tensor_3d_multicast(to, map, 0, 0, 0, at,
                                             static_cast<std::uint16_t>(mask));
  }
  __syncwarp();
  const bool completed = expects && calibration::completes(barrier, 0);
  __syncwarp();
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (threadIdx.x != 0) return;
  out += 4 * blockIdx.x;
  out[0] = completed;
  out[1] = ptx::ld_shared(image);
  out[2] = ptx::ld_shared(image + 1020);
  out[3] = ptx::ld_shared(image + 1024);
}
