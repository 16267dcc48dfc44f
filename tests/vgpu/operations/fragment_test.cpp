// SPDX-License-Identifier: Apache-2.0
// Known answers of ldmatrix, stmatrix and mma.sync: which lane holds which element.
#include "vgpu/operations/number.h"
#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

// Thread t fills 16-byte row t with the halves 8 t, 8 t + 1, ...
constexpr char fill[] = R"(
  mov.u32 %r1, smem; shl.b32 %r2, %r0, 4; add.s32 %r3, %r1, %r2;
  shl.b32 %r4, %r0, 3; shl.b32 %r5, %r4, 16; or.b32 %r4, %r4, %r5; add.s32 %r4, %r4, 0x10000;
  add.s32 %r5, %r4, 0x20002; add.s32 %r6, %r5, 0x20002; add.s32 %r7, %r6, 0x20002;
  st.shared.v4.b32 [%r3], {%r4, %r5, %r6, %r7};
  bar.warp.sync -1;
)";

std::uint32_t halves(std::uint32_t low, std::uint32_t high) {
  return low | high << 16;
}

TEST(Fragment, LdmatrixDealsRows) {
  const auto words = words_of(
      std::string(fill) + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r9, %r7}, [%r3];");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t first = (2 * 8 + lane / 4) * 8 + lane % 4 * 2;  // of matrix 2
    EXPECT_EQ(words[lane], halves(first, first + 1));
  }
}

TEST(Fragment, LdmatrixTransposes) {
  const auto words =
      words_of(std::string(fill) +
               "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r4, %r9, %r5, %r7}, [%r3];");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t first = (8 + lane % 4 * 2) * 8 + lane / 4;  // of matrix 1
    EXPECT_EQ(words[lane], halves(first, first + 8));
  }
}

TEST(Fragment, StmatrixIsTheInverse) {
  const auto words = words_of(std::string(fill) + R"(
    ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];
    add.s32 %r8, %r3, 1024;
    stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r8], {%r4, %r5, %r6, %r7};
    bar.warp.sync -1;
    ld.shared.b32 %r9, [%r8+4];)");
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], halves(lane * 8 + 2, lane * 8 + 3));
}

// The identity times B, whose element (k, n) is 8 k + n, plus 1000.
TEST(Fragment, MultipliesByTheIdentity) {
  const auto words = words_of(R"(
    shr.u32 %r1, %r0, 2; and.b32 %r2, %r0, 3; shl.b32 %r2, %r2, 1; add.s32 %r3, %r2, 1;
    setp.eq.s32 %p1, %r1, %r2; setp.eq.s32 %p2, %r1, %r3;
    selp.b32 %r4, 0x3f80, 0, %p1; selp.b32 %r5, 0x3f800000, 0, %p2; or.b32 %r4, %r4, %r5;
    mad.lo.s32 %r6, %r2, 8, %r1; cvt.rn.f32.s32 %f1, %r6;
    add.f32 %f2, %f1, 0f41000000; cvt.rn.bf16x2.f32 %r10, %f2, %f1;
    add.f32 %f1, %f1, 0f42800000; add.f32 %f2, %f2, 0f42800000; cvt.rn.bf16x2.f32 %r11, %f2, %f1;
    mov.u32 %r12, 0; mov.f32 %f9, 0f447A0000;
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f4, %f5, %f6, %f7},
      {%r4, %r12, %r12, %r4}, {%r10, %r11}, {%f9, %f9, %f9, %f9};
    mov.b32 %r9, %f7;)");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t row = lane / 4 + 8, column = lane % 4 * 2 + 1;
    EXPECT_EQ(float_from_bits(words[lane]), 1000.0f + static_cast<float>(row * 8 + column));
  }
}

}  // namespace
}  // namespace bwgemm::vgpu
