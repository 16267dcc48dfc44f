// SPDX-License-Identifier: Apache-2.0
// Known answers of arithmetic, conversions, predicates and lane exchange.
#include <cmath>

#include "vgpu/operations/number.h"
#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

struct Answer {
  const char* body;  // leaves its result in %r9
  std::uint32_t expected;
};

class Alu : public testing::TestWithParam<Answer> {};

TEST_P(Alu, KnownAnswer) {
  EXPECT_EQ(words_of(GetParam().body)[5], GetParam().expected) << GetParam().body;
}

INSTANTIATE_TEST_SUITE_P(
    Integer, Alu,
    testing::Values(
        Answer{"add.s32 %r9, 0x7fffffff, 1;", 0x80000000},
        Answer{"sub.s32 %r9, 3, %r0;", 0xfffffffe},
        Answer{"mul.lo.s32 %r9, 100000, 100000;", 1410065408},
        Answer{"mul.hi.u32 %r9, 0xffffffff, 0xffffffff;", 0xfffffffe},
        Answer{"mul.wide.s32 %rd5, -3, 5; mov.b64 {%r9, %r8}, %rd5;", 0xfffffff1},
        Answer{"mad.lo.s32 %r9, 7, %r0, 100;", 135}, Answer{"div.s32 %r9, -7, 2;", 0xfffffffd},
        Answer{"div.u32 %r9, 7, 0;", 0xffffffff}, Answer{"rem.s32 %r9, -7, 2;", 0xffffffff},
        Answer{"min.s32 %r9, -1, 1;", 0xffffffff}, Answer{"min.u32 %r9, -1, 1;", 1},
        Answer{"shl.b32 %r9, 1, 32;", 0}, Answer{"shr.s32 %r9, 0x80000000, 99;", 0xffffffff},
        Answer{"shr.u32 %r9, 0x80000000, 31;", 1}, Answer{"bfe.u32 %r9, 0x12345678, 8, 12;", 0x456},
        Answer{"bfi.b32 %r9, 0xff, 0x11111111, 4, 8;", 0x11111ff1},
        Answer{"popc.b32 %r9, 0xf0f0;", 8}, Answer{"neg.s32 %r9, 5;", 0xfffffffb},
        Answer{"not.b32 %r9, 0;", 0xffffffff}, Answer{"xor.b32 %r9, 0xff00, 0x0ff0;", 0xf0f0},
        Answer{"prmt.b32 %r9, 0x44332211, 0x88776655, 0x7531;", 0x88664422},
        Answer{"prmt.b32 %r9, 0x80, 0x7f, 0x0c84;", 0x8000ff7f},
        Answer{"shf.l.wrap.b32 %r9, 0x80000000, 1, 33;", 3},
        Answer{"shf.l.clamp.b32 %r9, 0x12345678, 1, 40;", 0x12345678},
        Answer{"shf.r.wrap.b32 %r9, 0x10, 1, 4;", 0x10000001},
        Answer{"shf.r.clamp.b32 %r9, 0, 0xabcd, 32;", 0xabcd},
        Answer{"lop3.b32 %r9, 0xf0, 0xcc, 0xaa, 0x96;", 0xf0 ^ 0xcc ^ 0xaa},
        Answer{"brev.b32 %r9, 1;", 0x80000000}, Answer{"clz.b32 %r9, 0xffff;", 16},
        Answer{"abs.s32 %r9, -7;", 7}, Answer{"mul.hi.s32 %r9, -1, 2;", 0xffffffff},
        Answer{"mul.hi.u64 %rd5, -1, 2; cvt.u32.u64 %r9, %rd5;", 1},
        Answer{"popc.b64 %r9, -1;", 64}));

INSTANTIATE_TEST_SUITE_P(
    FloatAndConvert, Alu,
    testing::Values(
        Answer{"mov.f32 %f1, 0f3FC00000; fma.rn.f32 %f2, %f1, %f1, %f1; mov.b32 %r9, %f2;",
               0x40700000},
        Answer{"mul.rn.f32 %f2, 0f3FC00000, 0f40000000; mov.b32 %r9, %f2;", 0x40400000},
        Answer{"cvt.rn.bf16x2.f32 %r9, 0f3F800000, 0f40000000;", 0x3f804000},
        Answer{"cvt.rn.bf16x2.f32 %r9, 0f3F808000, 0f3F818000;", 0x3f803f82},  // ties to even
        Answer{"cvt.rn.f16x2.f32 %r9, 0f3F800000, 0fC0000000;", 0x3c00c000},
        Answer{"mov.b16 %rs1, 0x3c00; cvt.f32.f16 %f1, %rs1; mov.b32 %r9, %f1;", 0x3f800000},
        Answer{"mov.u32 %r1, 0x1ff; cvt.s16.s8 %rs1, %r1; cvt.s32.s16 %r9, %rs1;", 0xffffffff},
        Answer{"mov.u32 %r1, 0x1fe; cvt.u16.u32 %rs1, %r1; cvt.u32.u16 %r9, %rs1;", 0x1fe},
        Answer{"cvt.rn.f32.s32 %f1, -3; mov.b32 %r9, %f1;", 0xc0400000},
        Answer{"add.f32 %f1, 0f00000001, 0f00000000; mov.b32 %r9, %f1;", 1},
        Answer{"add.rn.ftz.f32 %f1, 0f00000001, 0f80000000; mov.b32 %r9, %f1;", 0},
        Answer{"mul.ftz.f32 %f1, 0f80800000, 0f3F000000; mov.b32 %r9, %f1;", 0x80000000},
        Answer{"min.NaN.f32 %f1, 0f3F800000, 0f40000000; mov.b32 %r9, %f1;", 0x3f800000},
        Answer{"min.NaN.f32 %f1, 0f3F800000, 0f7FC00000; setp.nan.f32 %p1, %f1, %f1;"
               "selp.u32 %r9, 7, 8, %p1;",
               7},
        Answer{"add.f32 %f1, 0fFFC01234, 0f3F800000; mov.b32 %r9, %f1;", 0x7fffffff},
        Answer{"fma.rn.f32 %f1, 0f7F800000, 0f00000000, 0f3F800000; mov.b32 %r9, %f1;", 0x7fffffff},
        Answer{"mul.ftz.f32 %f1, 0f7FC01234, 0fFFC00000; mov.b32 %r9, %f1;", 0x7fffffff},
        Answer{"mov.b64 %rd5, {0xffc00001, 0x7f800000}; mov.b64 %rd6, {0x40000000, 0};"
               "mul.rn.f32x2 %rd5, %rd5, %rd6; mov.b64 {%r8, %r9}, %rd5; and.b32 %r9, %r8, %r9;",
               0x7fffffff},
        Answer{"mov.b64 %rd5, {0x3f800000, 0x40000000}; fma.rn.f32x2 %rd5, %rd5, %rd5, %rd5;"
               "mov.b64 {%r8, %r9}, %rd5;",
               0x40c00000},
        Answer{"fma.rn.bf16x2 %r9, 0x3fc04000, 0x40004000, 0x3f803f80;", 0x408040a0},
        Answer{"add.rn.f16x2 %r9, 0x3c004000, 0x3c003c00;", 0x40004200},
        Answer{"max.bf16x2 %r9, 0x3f80ff80, 0xbf800000;", 0x3f800000},
        Answer{"mov.b16 %rs1, 0x3c10; mov.b16 %rs2, 0x3c20; mov.b16 %rs3, 1;"
               "fma.rn.f16 %rs1, %rs1, %rs2, %rs3; cvt.u32.u16 %r9, %rs1;",
               0x3c31},  // one rounding: two would give 3c30
        Answer{"cvt.rn.satfinite.e4m3x2.f32 %rs1, 0f3F800000, 0f44800000; cvt.u32.u16 %r9, %rs1;",
               0x387e},
        Answer{"cvt.rn.satfinite.e5m2x2.f32 %rs1, 0fBFC00000, 0f00000000; cvt.u32.u16 %r9, %rs1;",
               0xbe00},
        Answer{"mov.b16 %rs1, 0x387e; cvt.rn.f16x2.e4m3x2 %r9, %rs1;", 0x3c005f00},
        Answer{"cvt.rn.satfinite.e4m3x2.f16x2 %rs1, 0x3c003a00; cvt.u32.u16 %r9, %rs1;", 0x3834},
        Answer{"cvt.rn.relu.bf16x2.f32 %r9, 0fBF800000, 0f40000000;", 0x4000},
        Answer{"cvt.rna.tf32.f32 %f1, 0f3F801000; mov.b32 %r9, %f1;", 0x3f802000},
        Answer{"cvt.rzi.s32.f32 %r9, 0fC02CCCCD;", 0xfffffffe},
        Answer{"cvt.rni.u32.f32 %r9, 0fC0000000;", 0},
        Answer{"cvt.rzi.s32.f32 %r9, 0f7F800000;", 0x7fffffff},
        Answer{"cvt.rn.f32.u64 %f1, -1; mov.b32 %r9, %f1;", 0x5f800000},
        Answer{"lg2.approx.f32 %f1, 0f41000000; mov.b32 %r9, %f1;", 0x40400000},
        Answer{"rsqrt.approx.ftz.f32 %f1, 0f40800000; mov.b32 %r9, %f1;", 0x3f000000},
        Answer{"cvt.s64.s32 %rd5, -1; shr.u64 %rd5, %rd5, 40; cvt.u32.u64 %r9, %rd5;", 0xffffff}));

INSTANTIATE_TEST_SUITE_P(
    PredicateAndMove, Alu,
    testing::Values(
        Answer{"setp.lt.s32 %p1, -1, 1; selp.u32 %r9, 7, 8, %p1;", 7},
        Answer{"setp.lt.u32 %p1, -1, 1; selp.u32 %r9, 7, 8, %p1;", 8},
        Answer{"setp.ne.f32 %p1, 0f7FC00000, 0f00000000; selp.u32 %r9, 7, 8, %p1;", 8},
        Answer{"setp.neu.f32 %p1, 0f7FC00000, 0f00000000; selp.u32 %r9, 7, 8, %p1;", 7},
        Answer{"setp.eq.s32 %p1, %r0, 5; not.pred %p2, %p1; mov.u32 %r9, 1; @%p2 mov.u32 %r9, 2;",
               1},
        Answer{"mov.b64 %rd5, {1, 2}; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %r9, %rd5;", 2},
        Answer{"mov.b32 {%rs1, %rs2}, 0x30002; cvt.u32.u16 %r9, %rs2;", 3},
        Answer{"mov.u32 %r9, %laneid;", 5}, Answer{"mov.u32 %r9, smem;", 0x400},
        Answer{"shfl.sync.idx.b32 %r9|%p1, %r0, 3, 31, -1;", 3},
        Answer{"shfl.sync.bfly.b32 %r9|%p1, %r0, 4, 31, -1;", 1},
        Answer{"shfl.sync.up.b32 %r9|%p1, %r0, 2, 0, -1;", 3},
        Answer{"shfl.sync.down.b32 %r9|%p1, %r0, 30, 31, -1;", 5},
        Answer{"shfl.sync.idx.b32 %r9|%p1, %r0, 1, 0x1c1f, -1;", 5},
        Answer{"vote.sync.ballot.b32 %r9, 1, -1;", 0xffffffff},
        Answer{"setp.lt.u32 %p1, %r0, 3; vote.sync.any.pred %p2, %p1, -1;"
               "vote.sync.all.pred %p3, %p1, -1; selp.u32 %r9, 1, 0, %p2; @%p3 mov.u32 %r9, 2;",
               1},
        Answer{"redux.sync.add.s32 %r9, %r0, -1;", 496},
        Answer{"redux.sync.max.u32 %r9, %r0, -1;", 31}, Answer{"activemask.b32 %r9;", 0xffffffff},
        Answer{"mov.u32 %r9, %lanemask_lt;", 31},
        Answer{"nanosleep.u32 100; mov.u64 %rd5, %globaltimer; mov.u64 %rd6, %clock64;"
               "setp.gt.u64 %p1, %rd6, %rd5; selp.u32 %r9, 1, 0, %p1;",
               1},
        Answer{"setp.ltu.f32 %p1, 0f7FC00000, 0f00000000; selp.u32 %r9, 7, 8, %p1;", 7},
        Answer{"setp.num.f32 %p1, 0f3F800000, 0f00000000; selp.u32 %r9, 7, 8, %p1;", 7},
        Answer{"{.reg .b128 q; mov.b64 %rd5, {1, 2}; mov.b64 %rd6, {3, 4};"
               "mov.b128 q, {%rd5, %rd6}; mov.b128 {%rd7, %rd8}, q; shr.u64 %rd8, %rd8, 32;"
               "cvt.u32.u64 %r9, %rd8;}",
               4},
        Answer{"mapa.shared::cluster.u32 %r9, 0x400, 1;", 0x1000400},
        Answer{"getctarank.shared::cluster.u32 %r9, 0x3000400;", 3}));

TEST(Number, HalfConversionsRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = from_f16(static_cast<std::uint16_t>(bits));
    if (value == value) {
      EXPECT_EQ(to_f16(value), bits);
    }
  }
  EXPECT_EQ(to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(to_f16(0x1p-25f), 0);
  EXPECT_EQ(to_f16(0x1.8p-25f), 1);
}

TEST(Number, EightBitFloats) {
  for (const Float8 format : {Float8::e4m3, Float8::e5m2})
    for (int bits = 0; bits < 256; ++bits) {
      const float value = from_float8(static_cast<std::uint8_t>(bits), format);
      if (std::isfinite(value)) {
        EXPECT_EQ(to_float8(value, format), bits);
      }
    }
  EXPECT_EQ(from_float8(0x7e, Float8::e4m3), 448.0f);
  EXPECT_EQ(from_float8(0x01, Float8::e4m3), 0x1p-9f);
  EXPECT_EQ(from_float8(0x7b, Float8::e5m2), 57344.0f);
  EXPECT_EQ(to_float8(1.0625f, Float8::e4m3), 0x38);  // ties to even
  EXPECT_EQ(to_float8(1.1875f, Float8::e4m3), 0x3a);
  EXPECT_EQ(to_float8(1e9f, Float8::e5m2), 0x7b);
}

TEST(Warp, OneLaneIsElectedForAMask) {
  const auto words = words_of("mov.u32 %r9, 0; elect.sync _|%p1, -1; @%p1 mov.u32 %r9, 1;");
  std::uint32_t elected = 0;
  for (int lane = 0; lane < 32; ++lane) elected += words[lane];
  EXPECT_EQ(elected, 1u);
}

TEST(Warp, LanesDivergeAndMeet) {
  const auto words = words_of(R"(
    and.b32 %r1, %r0, 3;
    mov.u32 %r9, 0;
    loop: setp.eq.s32 %p1, %r1, 0; @%p1 bra done;
    add.s32 %r9, %r9, 10; sub.s32 %r1, %r1, 1; bra loop;
    done: shfl.sync.idx.b32 %r2, %r9, 7, 31, -1;
    add.s32 %r9, %r9, %r2;)");
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], lane % 4 * 10 + 30);
}

// One lane spins until another lane of its warp has stored: needs independent progress.
TEST(Warp, ALaneMaySpinForAnother) {
  PtxCase test;
  test.options.max_warp_instructions = 1'000'000;
  test.run(R"(
    setp.eq.s32 %p1, %r0, 0;
    @%p1 bra waiter;
    setp.eq.s32 %p2, %r0, 31;
    @%p2 st.release.gpu.global.u32 [%rd0+128], 1;
    bra done;
    waiter: ld.acquire.gpu.global.u32 %r1, [%rd0+128];
    setp.eq.s32 %p3, %r1, 0; @%p3 bra waiter;
    st.global.u32 [%rd0], %r1;
    done:)");
  EXPECT_EQ(test.kinds(), "");
  EXPECT_EQ(test.out[0], 1u);
}

}  // namespace
}  // namespace bwgemm::vgpu
