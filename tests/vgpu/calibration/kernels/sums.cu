// SPDX-License-Identifier: Apache-2.0
// Question 3: single products and chains of them, by wgmma and by mma.sync, of operands that the
// host chose. One CTA a case.
#include "vgpu/calibration/kernels/common.h"
#include "vgpu/calibration/sums.h"

namespace bwgemm::calibration {

// Operands lie as in the library's kernels: rows of 64 k, 128-byte swizzle.
VGPU_DEVICE void stage(std::uint32_t to, const std::uint16_t* from, int rows) {
  for (int i = threadIdx.x; i < rows * 8; i += blockDim.x) {
    const int row = i / 8, chunk = i % 8;
    const uint4 unit = reinterpret_cast<const uint4*>(from)[i];
    ptx::st_shared_v4(to + row * 128 + (chunk ^ row % 8) * 16, unit.x, unit.y, unit.z, unit.w);
  }
}

VGPU_DEVICE std::uint32_t pair_at(const std::uint16_t* rows, int row, int k) {
  return *reinterpret_cast<const std::uint32_t*>(rows + row * SumCase::depth + k);
}

VGPU_DEVICE void with_mma(const SumCase& sums, float (&d)[4]) {
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  for (int step = 0; step < sums.steps; ++step) {
    const int k = step * 16 + lane % 4 * 2;
    const std::uint32_t a[4] = {pair_at(sums.a, row, k), pair_at(sums.a, row + 8, k),
                                pair_at(sums.a, row, k + 8), pair_at(sums.a, row + 8, k + 8)};
    const std::uint32_t b0 = pair_at(sums.b, lane / 4, k), b1 = pair_at(sums.b, lane / 4, k + 8);
    ptx::mma_m16n8k16_bf16_if(sums.is_f16 == 0, d, a, b0, b1);
    ptx::mma_m16n8k16_f16_if(sums.is_f16 != 0, d, a, b0, b1);
  }
}

template <bool is_f16>
VGPU_DEVICE void with_wgmma(const SumCase& sums, std::uint32_t a, std::uint32_t b, float (&d)[4]) {
  ptx::wgmma_fence();
  for (int step = 0; step < sums.steps; ++step) {
    const std::uint64_t a_at = operand_descriptor(a + step * 32);
    const std::uint64_t b_at = operand_descriptor(b + step * 32);
    const bool accumulate = step > 0 || sums.accumulate != 0;
    if constexpr (is_f16)
      ptx::wgmma_mma_async_f16<0, 0>(d, a_at, b_at, accumulate);
    else
      ptx::wgmma_mma_async_bf16<0, 0>(d, a_at, b_at, accumulate);
  }
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
}

VGPU_DEVICE int place(int i) {
  const int lane = threadIdx.x % 32;
  const int row = threadIdx.x / 32 * 16 + lane / 4 + i / 2 * 8;
  return row * SumCase::columns + lane % 4 * 2 + i % 2;
}

template <bool is_f16>
VGPU_DEVICE void sum(SumCase& sums) {
  const std::uint32_t a = shared_address(dynamic_shared), b = a + 8192;
  stage(a, sums.a, SumCase::rows);
  stage(b, sums.b, SumCase::columns);
  ptx::fence_proxy_async_shared();  // these writes before the reads of wgmma
  __syncthreads();
  float d[4], e[4];
  for (int i = 0; i < 4; ++i) {
    d[i] = sums.c[place(i)];
    e[i] = sums.accumulate != 0 ? d[i] : 0.0f;
  }
  with_wgmma<is_f16>(sums, a, b, d);
  with_mma(sums, e);
  for (int i = 0; i < 4; ++i) {
    sums.d_wgmma[place(i)] = d[i];
    sums.d_mma[place(i)] = e[i];
  }
}

}  // namespace bwgemm::calibration

extern "C" __global__ void __launch_bounds__(128, 1) sum_bf16(bwgemm::calibration::SumCase* cases) {
  bwgemm::calibration::sum<false>(cases[blockIdx.x]);
}

extern "C" __global__ void __launch_bounds__(128, 1) sum_f16(bwgemm::calibration::SumCase* cases) {
  bwgemm::calibration::sum<true>(cases[blockIdx.x]);
}
