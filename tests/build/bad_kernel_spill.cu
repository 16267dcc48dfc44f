// SPDX-License-Identifier: Apache-2.0
// Refused by the gate: 1024 threads leave 64 registers for 96 live values, which spill.
extern "C" __global__ void __launch_bounds__(1024, 1) bad_kernel_spill(float* data, int steps) {
  float values[96];
  for (int i = 0; i < 96; ++i) values[i] = data[i * 1024 + threadIdx.x];
  for (int step = 0; step < steps; ++step)
    for (int i = 0; i < 96; ++i) values[i] = values[i] * values[(i + 5) % 96] + data[step];
  for (int i = 0; i < 96; ++i) data[i * 1024 + threadIdx.x] = values[i];
}
