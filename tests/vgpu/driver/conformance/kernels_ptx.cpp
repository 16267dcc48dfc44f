// SPDX-License-Identifier: Apache-2.0
// What nvcc 13.0 makes of five small kernels, names and version aside.
#include "vgpu/driver/conformance/driver_test.h"

namespace bwgemm::vgpu::driver::test {

const char kernels_ptx[] = R"ptx(
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 s[];
.visible .entry write(
  .param .u64 write_param_0,
  .param .u32 write_param_1
)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [write_param_0];
  ld.param.u32 %r1, [write_param_1];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mad.lo.s32 %r5, %r3, %r4, %r2;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r1;
  ret;
}
.visible .entry add(
  .param .u64 add_param_0,
  .param .u64 add_param_1,
  .param .u32 add_param_2
)
{
  .reg .b32 %r<10>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [add_param_0];
  ld.param.u64 %rd2, [add_param_1];
  ld.param.u32 %r1, [add_param_2];
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mad.lo.s32 %r5, %r3, %r4, %r2;
  mul.wide.s32 %rd5, %r5, 4;
  add.s64 %rd6, %rd4, %rd5;
  ld.global.u32 %r6, [%rd6];
  add.s32 %r7, %r6, %r1;
  add.s64 %rd7, %rd3, %rd5;
  ld.global.u32 %r8, [%rd7];
  add.s32 %r9, %r7, %r8;
  st.global.u32 [%rd7], %r9;
  ret;
}
.visible .entry clustered(
  .param .u64 clustered_param_0
)
.explicitcluster
.reqnctapercluster 2, 1, 1
{
  ret;
}
.visible .entry bounded(
  .param .u64 bounded_param_0
)
.maxntid 128, 1, 1
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [bounded_param_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  shl.b32 %r3, %r1, 2;
  mov.u32 %r4, s;
  add.s32 %r5, %r4, %r3;
  st.shared.u32 [%r5], %r2;
  bar.sync 0;
  xor.b32 %r6, %r3, 4;
  add.s32 %r7, %r4, %r6;
  ld.shared.u32 %r8, [%r7];
  st.global.u32 [%rd4], %r8;
  ret;
}
.visible .entry fixed(
  .param .u64 fixed_param_0
)
{
  .reg .b32 %r<10>;
  .reg .b64 %rd<5>;
  .shared .align 4 .b8 fixed_s[1024];
  ld.param.u64 %rd1, [fixed_param_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  shl.b32 %r3, %r1, 2;
  and.b32 %r4, %r3, 1020;
  mov.u32 %r5, fixed_s;
  add.s32 %r6, %r5, %r4;
  st.shared.u32 [%r6], %r2;
  bar.sync 0;
  xor.b32 %r7, %r3, 4;
  add.s32 %r8, %r5, %r7;
  ld.shared.u32 %r9, [%r8];
  st.global.u32 [%rd4], %r9;
  ret;
}
)ptx";

}  // namespace bwgemm::vgpu::driver::test
