// SPDX-License-Identifier: Apache-2.0
// The front end: what is refused, and where; scopes, parameters, source lines, coverage.
#include "vgpu/ptx/program.h"
#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

int error_line(const std::string& text) {
  try {
    Module::parse(text, "test");
  } catch (const LoadError& error) {
    return error.line();
  }
  return -1;
}

TEST(Module, RefusesWhatItDoesNotKnow) {
  for (const char* statement : {"frobnicate.b32 %r1, %r2;",
                                "add.s32.sat %r1, %r2, %r3;",
                                "add.s33 %r1, %r2, %r3;",
                                "add.s32 %r1, %r2;",
                                "add.s32 %r1, %r2, %r3, %r4;",
                                "add.s32 %r1, %r2, %nosuch;",
                                "add.s32 %rd1, %r2, %r3;",
                                "bra nowhere;",
                                "mov.u32 %r1, %nosuch;",
                                "call.uni f;",
                                "fma.rz.f32 %f1, %f2, %f3, %f4;",
                                "add.rn.ftz.f16x2 %r1, %r2, %r3;",
                                "ex2.f32 %f1, %f2;",
                                "cvt.f32.s32 %f1, %r1;",
                                "prmt.b32.f4e %r1, %r2, %r3, %r4;",
                                "tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;",
                                "red.global.add.s32.v4 [%rd1], %r1;",
                                "atom.acq_rel.cta.shared.add.u32 %r1, [%r2], 1;",
                                "cp.async.ca.shared.global [%r1], [%rd1], 12;",
                                "st.async.shared::cluster.b32 [%r1], %r2, [%r3];",
                                "fence.proxy.texture;",
                                "ld.local.u32 %r1, [%rd1];",
                                "cp.async.bulk.wait_group %r1;",
                                ".local .b8 x[4];"})
    EXPECT_EQ(error_line(ptx_with_body(statement)), body_line) << statement;
  EXPECT_EQ(error_line(ptx_with_body("\n\nmov.u32 %r1, 1;\nnonsense;")), body_line + 3);
  EXPECT_EQ(error_line(".version 9.0\n.func f() { ret; }\n"), 2);
}

TEST(Module, ScopesRepeatNames) {
  const auto words = words_of(R"(
    mov.u32 %r9, 0;
    { .reg .b32 t; .reg .pred done;
    mov.u32 t, 3;
    again: add.s32 %r9, %r9, 1; sub.s32 t, t, 1; setp.ne.s32 done, t, 0; @done bra again; }
    { .reg .b32 t; .reg .pred done;
    mov.u32 t, 4;
    again: add.s32 %r9, %r9, 10; sub.s32 t, t, 1; setp.ne.s32 done, t, 0; @done bra again; })");
  EXPECT_EQ(words[0], 43u);
}

// What lives in one block shares a place with what came before it; values that another block reads
// or that are written under a guard have their own.
TEST(Module, RegistersSharePlaces) {
  std::string chain = "add.s32 t0, %r0, 1;";
  for (int i = 1; i < 200; ++i) {
    std::string one = joined({"t", std::to_string(i)}),
                before = joined({"t", std::to_string(i - 1)});
    chain += joined({"shfl.sync.bfly.b32 ", one, ", ", before, ", 1, 31, -1; add.s32 ", one, ", ",
                     one, ", 1;"});
  }
  const std::string body = joined({R"(
    .reg .b32 t<200>; .reg .b32 kept; .reg .b32 outer; .reg .b32 round;
    .reg .b32 late;
    mov.u32 %r9, 0; mov.u32 round, 0; mov.u32 outer, 5;
    again: setp.eq.s32 %p1, round, 0; @%p1 add.s32 kept, %r0, 1000;
    )",
                                   chain, R"(
    add.s32 %r9, %r9, t199; add.s32 %r9, %r9, kept;
    add.s32 late, outer, round; add.s32 %r9, %r9, late;
    add.s32 round, round, 1; setp.lt.s32 %p2, round, 3; @%p2 bra again;)"});
  const auto words = words_of(body);
  for (std::uint32_t i = 0; i < 32; ++i)  // an odd number of exchanges of neighbours
    EXPECT_EQ(words[i], 3 * ((i ^ 1) + 200) + 3 * (i + 1000) + 3 * 5 + (0 + 1 + 2));
  const auto bytes_of = [](const std::string& text) {
    return Module::parse(ptx_with_body(text), "test")->program("k")->register_bytes;
  };
  const std::uint32_t more = bytes_of(body) - bytes_of("");
  EXPECT_GE(more, 5 * 4 * warp_lanes);
  EXPECT_LE(more, 10 * 4 * warp_lanes);
}

TEST(Module, JunkIsInWhatMayBeReadBeforeItIsWritten) {
  const auto junk_of = [](const std::string& text) {
    const std::string body = ".reg .b32 one;" + text;
    return Module::parse(ptx_with_body(body), "test")->program("k")->junk_bytes / (4 * warp_lanes);
  };
  const std::string read = "over: add.s32 one, one, 1;";
  const std::uint32_t none = junk_of("mov.u32 one, 1; bra over;" + read);
  EXPECT_EQ(junk_of("mov.u32 one, 1; @%p1 bra over;" + read), none);
  EXPECT_EQ(junk_of("@%p1 bra over; mov.u32 one, 1;" + read), none + 1);
  EXPECT_EQ(junk_of("@%p1 mov.u32 one, 1; bra over;" + read), none + 1);
  EXPECT_EQ(junk_of("mov.u32 one, 1;" + read + "@%p1 bra over;"), none);
  EXPECT_EQ(junk_of(read + "mov.u32 one, 1; @%p1 bra over;"), none + 1);
}

TEST(Module, KnowsItsKernels) {
  const auto module = Module::parse(
      ".visible .entry a(.param .u8 x, .param .u64 y, .param .align 64 .b8 z[128])\n"
      ".maxntid 384, 1, 1\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{ .shared .align 8 .b8 "
      "s[24]; ret; }\n.entry b() { ret; }\n",
      "test");
  EXPECT_THAT(module->names(), testing::ElementsAre("a", "b"));
  const KernelInfo* info = module->find("a");
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->max_threads, 384u);
  EXPECT_EQ(info->cluster_size, 2u);
  EXPECT_EQ(info->parameter_bytes, 192u);
  EXPECT_EQ(info->static_shared_bytes, 24u);
  EXPECT_EQ(module->find("c"), nullptr);
}

TEST(Module, FindingsNameLineSourceAndSeed) {
  PtxCase test;
  test.seed = 7;
  const std::string text = ptx_with_body("");
  test.run("\n.loc 1 12 3\n.loc 2 34 5, function_name $L__info_string0, inlined_at 1 12 3\ntrap;");
  ASSERT_EQ(test.findings.size(), 1u);
  EXPECT_EQ(test.findings[0].kind, "trap");
  EXPECT_EQ(test.findings[0].ptx_line, body_line + 3);
  EXPECT_EQ(test.findings[0].seed, 7u);
  const auto module = Module::parse(
      ".entry k() {\n.loc 1 12 3\n.loc 2 34 5, function_name $L__x, inlined_at 1 12 3\ntrap;\n}\n"
      ".file 1 \"a.cu\"\n.file 2 \"b.h\"\n",
      "test");
  GlobalMemory memory;
  const auto findings = run({module, "k", {}, {32}, 0, 0, {}, 1}, memory);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].source, "b.h:34 < a.cu:12");
}

TEST(Module, CoverageCountsWhatRan) {
  std::vector<bool> coverage;
  PtxCase test;
  test.options.coverage = &coverage;
  test.run("setp.lt.u32 %p1, %r0, 99;\n@%p1 bra over;\nmov.u32 %r1, 1;\nover:\nmov.u32 %r2, 1;");
  EXPECT_TRUE(coverage[body_line + 1]);
  EXPECT_FALSE(coverage[body_line + 2]);
  EXPECT_TRUE(coverage[body_line + 4]);
}

TEST(Module, LaunchesAreChecked) {
  const auto module = Module::parse(".entry k() .maxntid 64 { ret; }", "test");
  GlobalMemory memory;
  EXPECT_THROW(run({module, "k", {}, {96}, 0, 0, {}, 1}, memory), LaunchError);
  EXPECT_THROW(run({module, "none", {}, {32}, 0, 0, {}, 1}, memory), LaunchError);
  EXPECT_THROW(run({module, "k", {3}, {32}, 2, 0, {}, 1}, memory), LaunchError);
  EXPECT_THROW(run({module, "k", {}, {32}, 0, 240000, {}, 1}, memory), LaunchError);
}

}  // namespace
}  // namespace bwgemm::vgpu
