// SPDX-License-Identifier: Apache-2.0
// Each thread computes the descriptors of its wgmmas: all threads have the same, which ptxas cannot
// see.
__device__ void multiply(float (&d)[4], unsigned long long a, unsigned long long b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b));
}

extern "C" __global__ void bad_kernel_descriptors(const unsigned long long* descriptors,
                                                  float* sums, int blocks) {
  float d[4] = {};
  unsigned long long at = descriptors[threadIdx.x];
  for (int block = 0; block < blocks; ++block, at += descriptors[threadIdx.x + block]) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int step = 0; step < 4; ++step) multiply(d, at + 2 * step, at + 512 + 2 * step);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  for (int i = 0; i < 4; ++i) sums[4 * threadIdx.x + i] = d[i];
}
