// SPDX-License-Identifier: Apache-2.0
// Refused by the gate: an array indexed by run-time values lives on the stack.
extern "C" __global__ void bad_kernel_stack(int* data, int count) {
  int values[32] = {};
  for (int i = 0; i < count; ++i) values[data[i] & 31] += i;
  data[threadIdx.x] = values[data[threadIdx.x] & 31];
}
