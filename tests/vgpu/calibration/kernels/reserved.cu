// SPDX-License-Identifier: Apache-2.0
// Question 2: the shared memory that the system keeps for itself, as special registers tell it.
#include "vgpu/calibration/kernels/common.h"

extern "C" __global__ void __launch_bounds__(32, 1) reserved(std::uint32_t* out) {
  std::uint32_t begin, end, cap, total, dynamic;
  asm("mov.u32 %0, %%reserved_smem_offset_begin;" : "=r"(begin));
  asm("mov.u32 %0, %%reserved_smem_offset_end;" : "=r"(end));
  asm("mov.u32 %0, %%reserved_smem_offset_cap;" : "=r"(cap));
  asm("mov.u32 %0, %%total_smem_size;" : "=r"(total));
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic));
  if (threadIdx.x != 0) return;
  out[0] = begin;
  out[1] = end;
  out[2] = cap;
  out[3] = total;
  out[4] = dynamic;
}
