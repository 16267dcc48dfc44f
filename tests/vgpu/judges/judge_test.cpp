// SPDX-License-Identifier: Apache-2.0
// Every judge goes red for the bug it is there for, and stays silent without it.
#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

// Thread i stores to word i and, after `between`, loads word i ^ distance.
std::string exchange(int distance, const std::string& between) {
  return R"(
    mov.u32 %r1, smem; shl.b32 %r2, %r0, 2; add.s32 %r3, %r1, %r2;
    st.shared.u32 [%r3], %r0;
    )" + between +
         R"(
    xor.b32 %r4, %r2, )" +
         std::to_string(distance * 4) + R"(; add.s32 %r4, %r1, %r4;
    ld.shared.u32 %r5, [%r4];)";
}

TEST(SharedMemory, RacesBetweenWarps) {
  EXPECT_EQ(kinds_of(exchange(32, "bar.sync 0;")), "");
  // The load may run before or after the store that it is not ordered with.
  EXPECT_THAT(kinds_of(exchange(32, "")), testing::AnyOf("race", "race uninitialised-shared"));
  EXPECT_NE(kinds_of(exchange(32, "bar.warp.sync -1;")), "");
}

TEST(SharedMemory, RacesBetweenLanes) {
  EXPECT_EQ(kinds_of(exchange(1, "bar.warp.sync -1;")), "");
  EXPECT_EQ(kinds_of(exchange(1, "")), "lane-race");
  EXPECT_EQ(kinds_of(exchange(0, "")), "");
  // Reads first, then a write by another lane, without a synchronisation: strict.
  const std::string tail = "st.shared.u32 [%r3], 0;";
  EXPECT_EQ(kinds_of(exchange(1, "bar.warp.sync -1;") + "bar.warp.sync -1;" + tail), "");
  EXPECT_EQ(kinds_of(exchange(1, "bar.warp.sync -1;") + tail), "lane-race");
  PtxCase lenient;
  lenient.options.strict = false;
  EXPECT_EQ(lenient.run(exchange(1, "bar.warp.sync -1;") + tail).kinds(), "");
}

TEST(SharedMemory, MatrixStoresNeedAWarpSynchronisation) {
  const std::string store = R"(
    mov.u32 %r1, smem; shl.b32 %r2, %r0, 4; add.s32 %r3, %r1, %r2;
    stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r3], {%r0, %r0, %r0, %r0};)";
  const std::string load = "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];";
  EXPECT_EQ(kinds_of(store + "bar.warp.sync -1;" + load, 32), "");
  EXPECT_EQ(kinds_of(store + load, 32), "lane-race");
  EXPECT_EQ(kinds_of(store + "bar.warp.sync -1;" + load + "bar.warp.sync -1;" + store, 32), "");
  EXPECT_EQ(kinds_of(store + "bar.warp.sync -1;" + load + store, 32), "lane-race");
}

TEST(SharedMemory, BoundsAlignmentAndContents) {
  EXPECT_EQ(kinds_of("mov.u32 %r1, smem; ld.shared.u32 %r2, [%r1];"), "uninitialised-shared");
  EXPECT_EQ(kinds_of("mov.u32 %r1, 0; st.shared.u32 [%r1], 0;"), "shared-bounds");
  EXPECT_EQ(kinds_of("mov.u32 %r1, smem; st.shared.u32 [%r1+16384], 0;"), "shared-bounds");
  EXPECT_EQ(kinds_of("mov.u32 %r1, smem; st.shared.u32 [%r1+2], 0;"), "shared-bounds");
  EXPECT_EQ(kinds_of("mov.u32 %r1, 0x1000400; st.shared.u32 [%r1], 0;"), "shared-bounds");
}

TEST(GlobalMemoryJudge, BoundsAlignmentAndContents) {
  EXPECT_EQ(kinds_of("ld.global.u32 %r1, [%rd0+16384];"), "global-bounds");
  EXPECT_EQ(kinds_of("st.global.u32 [%rd0+-4], 0;"), "global-bounds");
  EXPECT_EQ(kinds_of("ld.global.u32 %r1, [%rd0+2];"), "misaligned");
  EXPECT_EQ(kinds_of("st.global.u32 [%rd1], 0;"), "global-bounds");  // parameters are constant
  PtxCase test;
  const std::uint64_t fresh = test.memory.allocate(64);
  test.run("ld.global.u32 %r1, [" + std::to_string(fresh) + "];");
  EXPECT_EQ(test.kinds(), "uninitialised-global");
}

TEST(GlobalMemoryJudge, RacesBetweenWarpsAndCtas) {
  // Thread 0 stores, thread 32 loads.
  auto body = [](const char* between) {
    return std::string("setp.eq.s32 %p1, %r0, 0; @%p1 st.global.u32 [%rd0], 1;") + between +
           "setp.eq.s32 %p2, %r0, 32; @%p2 ld.global.u32 %r1, [%rd0];";
  };
  EXPECT_EQ(kinds_of(body("bar.sync 0;")), "");
  EXPECT_EQ(kinds_of(body("")), "global-race");
  PtxCase ctas;
  ctas.ctas = 2;
  EXPECT_EQ(ctas.run("st.global.u32 [%rd0], 1;").kinds(), "global-race");
}

// The split-k protocol: each CTA leaves a value, the last to arrive adds all of them.
std::string split_protocol(const char* barrier, const char* atomic, const char* behind) {
  return std::string(R"(
    mov.u32 %r1, %ctaid.x; mul.lo.s32 %r2, %r1, 64; add.s32 %r2, %r2, %r0;
    mul.wide.u32 %rd2, %r2, 4; add.s64 %rd2, %rd0, %rd2;
    st.global.u32 [%rd2+1024], %r2;
    )") + barrier +
         R"(
    setp.eq.s32 %p1, %r0, 0; mov.u32 %r3, 0;
    @%p1 )" +
         atomic + R"( %r3, [%rd0], 1;
    )" + behind +
         R"(
    setp.eq.s32 %p3, %r3, 2;
    bar.red.or.pred %p2, 0, %p3;
    @!%p2 bra done;
    xor.b32 %r4, %r0, 32; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd3, %rd0, %rd3;
    ld.global.u32 %r5, [%rd3+1024]; ld.global.u32 %r6, [%rd3+1280]; ld.global.u32 %r7, [%rd3+1536];
    add.s32 %r5, %r5, %r6; add.s32 %r5, %r5, %r7;
    st.global.u32 [%rd2+4096], %r5;
    done:)";
}

std::string split_kinds(const char* barrier, const char* atomic, std::uint64_t seed,
                        const char* behind = "") {
  PtxCase test;
  test.threads = 64;
  test.ctas = 3;
  test.seed = seed;
  test.options.concurrent_ctas = 3;
  return test.run(split_protocol(barrier, atomic, behind)).kinds();
}

TEST(GlobalMemoryJudge, SplitProtocol) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(split_kinds("bar.sync 0;", "atom.add.acq_rel.gpu.global.u32", seed), "");
    EXPECT_EQ(split_kinds("", "atom.add.acq_rel.gpu.global.u32", seed), "global-race");
    EXPECT_EQ(split_kinds("bar.sync 0;", "atom.add.relaxed.gpu.global.u32", seed), "global-race");
    EXPECT_EQ(split_kinds("bar.sync 0;", "atom.add.release.gpu.global.u32", seed), "global-race");
    EXPECT_EQ(split_kinds("bar.sync 0;", "atom.add.acquire.gpu.global.u32", seed), "global-race");
    EXPECT_EQ(split_kinds("bar.sync 0;", "atom.add.acq_rel.cta.global.u32", seed), "global-race");
    // Two fences around a relaxed atomic do as well, one does not.
    EXPECT_EQ(split_kinds("bar.sync 0; fence.acq_rel.gpu;", "atom.add.relaxed.gpu.global.u32", seed,
                          "fence.acq_rel.gpu;"),
              "");
    EXPECT_EQ(
        split_kinds("bar.sync 0; fence.acq_rel.gpu;", "atom.add.relaxed.gpu.global.u32", seed),
        "global-race");
  }
}

// The same as the kernels have it: partials in fours, the last arriver found by one thread for a
// group of them, who then reads all partials; the counter goes back to zero.
std::string split_of_groups(std::string_view barrier, std::string_view before,
                            std::string_view atomic, std::string_view after,
                            std::string_view broadcast) {
  return joined({R"(
    mov.u32 %r1, %ctaid.x; shl.b32 %r2, %r0, 4; mad.lo.s32 %r2, %r1, 1024, %r2;
    cvt.u64.u32 %rd2, %r2; add.s64 %rd2, %rd0, %rd2; add.s32 %r3, %r0, %r1;
    st.global.v4.b32 [%rd2+1024], {%r3, %r3, %r3, %r3};
    )",
                 barrier, "setp.eq.s32 %p1, %r0, 0; @!%p1 bra meet;", before, atomic,
                 " %r4, [%rd0], 1;", after,
                 R"( mov.u32 %r5, smem; st.shared.u32 [%r5], %r4; meet:)", broadcast, R"(
    mov.u32 %r5, smem; ld.shared.u32 %r4, [%r5]; setp.ne.s32 %p2, %r4, 2; @%p2 bra done;
    xor.b32 %r6, %r0, 33; shl.b32 %r6, %r6, 4; cvt.u64.u32 %rd3, %r6; add.s64 %rd3, %rd0, %rd3;
    ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd3+1024];
    ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd3+2048];
    ld.global.v4.b32 {%r30, %r31, %r32, %r33}, [%rd3+3072];
    add.s32 %r10, %r10, %r20; add.s32 %r10, %r10, %r30;
    mul.wide.u32 %rd4, %r0, 4; add.s64 %rd4, %rd0, %rd4; st.global.u32 [%rd4+4096], %r10;
    @%p1 st.global.u32 [%rd0], 0;
    done:)"});
}

TEST(GlobalMemoryJudge, SplitsOfGroups) {
  const char* fence = "fence.acq_rel.gpu;";
  const char* relaxed = "atom.relaxed.gpu.global.add.u32";
  const char* strong = "atom.acq_rel.gpu.global.add.u32";
  const char* bar = "bar.sync 1, 64;";
  struct {
    const char *barrier, *before, *atomic, *after, *broadcast, *expected;
  } const cases[] = {
      {bar, "", strong, "", bar, ""},
      {bar, fence, relaxed, fence, bar, ""},
      {bar, "fence.release.gpu;", relaxed, "fence.acquire.gpu;", bar, ""},
      {bar, "", "atom.acq_rel.sys.global.add.u32", "", bar, ""},
      {"fence.acq_rel.gpu; bar.sync 1, 64;", "", relaxed, fence, bar, "global-race"},
      {bar, "", relaxed, fence, bar, "global-race"},
      {bar, fence, relaxed, "", bar, "global-race"},
      {bar, "fence.acq_rel.cta;", relaxed, fence, bar, "global-race"},
      {bar, fence, relaxed, "fence.acq_rel.cta;", bar, "global-race"},
      {bar, "", "atom.acq_rel.cta.global.add.u32", "", bar, "global-race"},
      {bar, "", "atom.acq_rel.cluster.global.add.u32", "", bar, "global-race"},
      {"", "", strong, "", bar, "global-race"},
      {"bar.warp.sync -1;", "", strong, "", bar, "global-race"},
  };
  for (const auto& variant : cases)
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      PtxCase test;
      test.threads = 64;
      test.ctas = test.options.concurrent_ctas = 3;
      test.seed = seed;
      const std::string kinds =
          test.run(split_of_groups(variant.barrier, variant.before, variant.atomic, variant.after,
                                   variant.broadcast))
              .kinds();
      EXPECT_EQ(kinds, variant.expected)
          << variant.barrier << variant.before << variant.atomic << variant.after;
      if (!kinds.empty()) continue;
      for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(test.out[1024 + i], 3 * (i ^ 33) + 3);
      EXPECT_EQ(test.out[0], 0u);
    }
}

TEST(GlobalMemoryJudge, AtomicsDoNotRaceAmongThemselves) {
  const char* forms[] = {"red.relaxed.gpu.global.add.f32 [%rd0], 0f3F800000;",
                         "red.global.add.v4.f32 [%rd0], {%f1, %f1, %f1, %f1};",
                         "red.relaxed.gpu.global.add.noftz.bf16x2 [%rd0], %r0;",
                         "atom.global.cas.b32 %r1, [%rd0], 0, %r0;",
                         "atom.global.exch.b64 %rd2, [%rd0], %rd0;",
                         "red.global.inc.u32 [%rd0], 9;",
                         "atom.shared.add.u32 %r1, [smem+4096], 1;"};
  for (const char* form : forms) {
    PtxCase test;
    test.threads = 64;
    EXPECT_EQ(test.run(joined({"setp.eq.s32 %p1, %r0, 0; @%p1 st.shared.u32 [smem+4096], 0;",
                               "bar.sync 0; mov.f32 %f1, 0f3F800000;", form}))
                  .kinds(),
              "")
        << form;
  }
  PtxCase wraps;
  wraps.run("red.global.inc.u32 [%rd0], 9; atom.global.dec.u32 %r9, [%rd0+4], 40;");
  EXPECT_EQ(wraps.out[0], 32u % 10);
  EXPECT_EQ(wraps.out[1], 41u - 32);
  EXPECT_EQ(kinds_of("red.global.add.u32 [%rd0], 1; ld.global.u32 %r1, [%rd0];"), "global-race");
  EXPECT_EQ(kinds_of("setp.eq.s32 %p1, %r0, 0; @%p1 st.shared.u32 [smem], 0; bar.sync 0;"
                     "red.shared.add.u32 [smem], 1; ld.shared.u32 %r1, [smem];"),
            "race");
}

TEST(Deadlock, SaysWhoWaitsWhere) {
  PtxCase test;
  test.threads = 64;
  test.run("setp.lt.u32 %p1, %r0, 32; @%p1 bra done; bar.sync 1, 64; done:");
  ASSERT_EQ(test.kinds(), "deadlock");
  EXPECT_THAT(test.findings[0].text, testing::HasSubstr("warp 1"));
  EXPECT_THAT(test.findings[0].text, testing::HasSubstr("barrier 0x1"));
}

TEST(Livelock, EndsTheRun) {
  PtxCase test;
  test.options.max_warp_instructions = 10'000;
  EXPECT_EQ(test.run("again: bra again;").kinds(), "livelock");
}

TEST(Divergence, AlignedInstructionsNeedAllLanes) {
  EXPECT_EQ(kinds_of("setp.eq.s32 %p1, %r0, 0; @%p1 bar.sync 0;"), "divergent");
  EXPECT_EQ(kinds_of("setp.eq.s32 %p1, %r0, 0; @%p1 shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;"),
            "divergent");
}

}  // namespace
}  // namespace bwgemm::vgpu
