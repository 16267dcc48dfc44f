// SPDX-License-Identifier: Apache-2.0
// Questions 1 and 4: one wgmma m64n64k16 of f16 through descriptors that the host chose, on an
// image of shared memory; and queued products whose operands are overwritten behind one warp's
// wait.
#include "vgpu/calibration/kernels/common.h"

namespace bwgemm::calibration {

// The values are in registers here, and not computed anywhere behind.
template <int count>
VGPU_DEVICE void materialise(float (&values)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

// Descriptors count from the beginning of the image.
template <int transpose_a, int transpose_b>
VGPU_DEVICE void multiply(const uint4* image, std::uint32_t bytes, std::uint64_t a, std::uint64_t b,
                          float* out) {
  const std::uint32_t shared = shared_address(dynamic_shared);
  copy_in(shared, image, bytes);
  ptx::fence_proxy_async_shared();  // these writes before the reads of wgmma
  __syncthreads();
  float d[32] = {};
  materialise(d);
  ptx::wgmma_fence();
  ptx::wgmma_mma_async_f16<transpose_a, transpose_b>(d, a + (shared >> 4), b + (shared >> 4), true);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < 32; ++i)
    out[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}

inline constexpr int queued = 8, a_bytes = 64 * 128, b_bytes = 256 * 128;

// 64 x 256 sums of ones, `queued` instructions of 64 k. Right behind its own wait, warp `fast`
// overwrites all operands; the other warps are `delay` late in front of their last instruction.
// wrong[0]: sums that are not what they would be without that.
VGPU_DEVICE void overwrite_behind_wait(int delay, std::uint32_t* wrong) {
  const std::uint32_t a = shared_address(dynamic_shared), b = a + a_bytes;
  constexpr std::uint32_t ones = 0x3c003c00, others = 0x44004400;
  for (int i = threadIdx.x; i < (a_bytes + b_bytes) / 16; i += blockDim.x)
    ptx::st_shared_v4(a + 16 * i, ones, ones, ones, ones);
  ptx::fence_proxy_async_shared();  // these writes before the reads of wgmma
  __syncthreads();
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), fast = blockIdx.x % 4;
  float d[128] = {};
  materialise(d);
  ptx::wgmma_fence();
#pragma unroll
  for (int i = 0; i < queued; ++i) {
    if (i == queued - 1 && warp != fast) pause_for(delay);
    ptx::wgmma_mma_async_f16<0, 0>(d, operand_descriptor(a + i % 4 * 32),
                                   operand_descriptor(b + i % 4 * 32), true);
  }
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  if (warp == fast)
    for (int i = threadIdx.x % 32; i < (a_bytes + b_bytes) / 16; i += 32)
      ptx::st_shared_v4(a + 16 * i, others, others, others, others);
  std::uint32_t different = 0;
  materialise(d);  // not read before the wait
#pragma unroll
  for (int i = 0; i < 128; ++i) different += d[i] != queued * 16.0f;
  if (different != 0) atomicAdd(wrong, different);
}

}  // namespace bwgemm::calibration

// clang-format off
extern "C" __global__ void __launch_bounds__(128, 1) operands_kk(const uint4* image, std::uint32_t bytes, std::uint64_t a, std::uint64_t b, float* out) { bwgemm::calibration::multiply<0, 0>(image, bytes, a, b, out); }
extern "C" __global__ void __launch_bounds__(128, 1) operands_mk(const uint4* image, std::uint32_t bytes, std::uint64_t a, std::uint64_t b, float* out) { bwgemm::calibration::multiply<1, 0>(image, bytes, a, b, out); }
extern "C" __global__ void __launch_bounds__(128, 1) operands_kn(const uint4* image, std::uint32_t bytes, std::uint64_t a, std::uint64_t b, float* out) { bwgemm::calibration::multiply<0, 1>(image, bytes, a, b, out); }
// clang-format on

extern "C" __global__ void __launch_bounds__(128, 1) wait_group(int delay, std::uint32_t* wrong) {
  bwgemm::calibration::overwrite_behind_wait(delay, wrong);
}
