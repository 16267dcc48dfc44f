// SPDX-License-Identifier: Apache-2.0
// Refused by the gate: accumulators are touched while wgmma is in flight, so that ptxas serializes.
__device__ void multiply(float (&acc)[4], unsigned long long a, unsigned long long b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
      : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(128, 1)
    bad_kernel_wgmma(float* data, unsigned long long a, unsigned long long b) {
  float acc[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  multiply(acc, a, b);
  acc[0] += data[0];
  multiply(acc, a, b);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) data[4 * threadIdx.x + i] = acc[i];
}
