// SPDX-License-Identifier: Apache-2.0
// Passes the gate; has inlined calls, so that its line information is not trivial.
__device__ float twice(float value) {
  return value + value;
}

extern "C" __global__ void good_kernel(float* data, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) data[i] = twice(twice(data[i]));
}
