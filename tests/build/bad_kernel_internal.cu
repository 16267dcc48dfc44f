// SPDX-License-Identifier: Apache-2.0
// Refused by the gate: nvcc names a variable with internal linkage after the folder of the build.
namespace bwgemm {
static __device__ int counter;
}
extern "C" __global__ void bad_kernel_internal(int* data) {
  data[0] = atomicAdd(&bwgemm::counter, 1);
}
