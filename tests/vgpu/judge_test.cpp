// SPDX-License-Identifier: Apache-2.0
// Every judge goes red for the bug it is there for, and stays silent without it.
#include "vgpu/ptx_case.h"

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
