// SPDX-License-Identifier: Apache-2.0
// What one thread hands over for others, and what of it does not count: fences that others made,
// fences for another space, waits that order nothing; and registers that nobody gave up.
#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

// Warp 0 writes; its lane 0 arrives behind `between`; thread 32 waits and copies what was written.
std::string written_by_a_warp(const char* between) {
  return joined({R"(
    mov.u32 %r1, smem; add.s32 %r2, %r1, 8192; setp.ne.s32 %p1, %r0, 0;
    @!%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
    bar.sync 0;
    setp.ge.u32 %p3, %r0, 32;
    @%p3 bra reader;
    shl.b32 %r3, %r0, 2; add.s32 %r3, %r1, %r3; st.shared.u32 [%r3], %r0;)",
                 between, R"(
    @!%p1 mbarrier.arrive.release.cta.shared::cta.b64 _, [%r2];
    bra done;
    reader: setp.ne.s32 %p4, %r0, 32;
    @%p4 bra done;
    again: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra again;
    cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 128;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    done:)"});
}

TEST(Handover, FencesComeBeforeTheWarpMeets) {
  EXPECT_EQ(kinds_of(written_by_a_warp("fence.proxy.async.shared::cta; bar.warp.sync -1;")), "");
  EXPECT_EQ(kinds_of(written_by_a_warp("bar.warp.sync -1; fence.proxy.async.shared::cta;")),
            "proxy-fence");
}

TEST(Handover, FencesAreForTheirSpace) {
  EXPECT_EQ(kinds_of(written_by_a_warp("fence.proxy.async; bar.warp.sync -1;")), "");
  EXPECT_EQ(kinds_of(written_by_a_warp("fence.proxy.async.global; bar.warp.sync -1;")),
            "proxy-fence");
}

// Thread 0 writes to global memory and, behind `fence`, copies that to shared memory; it reads it
// there behind a wait of these semantics.
std::string copied_by_a_thread(const char* fence, const char* semantics) {
  return joined({R"(
    mov.u32 %r1, smem; add.s32 %r2, %r1, 8192; setp.ne.s32 %p1, %r0, 0;
    @%p1 bra done;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    fence.mbarrier_init.release.cluster;
    st.global.u32 [%rd0], 1;)",
                 fence, R"(
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r2], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 16, [%r2];
    again: mbarrier.try_wait.parity)",
                 semantics, R"(.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra again;
    ld.shared.u32 %r3, [%r1];
    done:)"});
}

TEST(Handover, FencesForGlobalMemory) {
  EXPECT_EQ(kinds_of(copied_by_a_thread("fence.proxy.async.global;", ".acquire.cta")), "");
  EXPECT_EQ(kinds_of(copied_by_a_thread("fence.proxy.async;", ".acquire.cta")), "");
  EXPECT_EQ(kinds_of(copied_by_a_thread("fence.proxy.async.shared::cta;", ".acquire.cta")),
            "global-race");
}

TEST(Handover, RelaxedWaitsHaveNotSeenWhatArrived) {
  EXPECT_EQ(kinds_of(copied_by_a_thread("fence.proxy.async;", ".relaxed.cta")), "race");
}

TEST(Handover, LanesSynchroniseThemselves) {
  EXPECT_EQ(kinds_of("bar.warp.sync -1;"), "");
  EXPECT_EQ(kinds_of("bar.warp.sync 0x7fffffff;"), "divergent");
}

// Of 512 threads, which begin with 128 registers each, the second half asks for more.
std::string registers(const char* first_half, const char* second_half) {
  std::string text = ptx_with_body(joined({"setp.ge.u32 %p1, %r0, 256; @%p1 bra second;",
                                           first_half, "bra done; second:", second_half, "done:"}));
  text.insert(text.find("{\n"), ".maxntid 512, 1, 1\n.minnctapersm 1\n");
  PtxCase test;
  test.threads = 512;
  std::uint64_t address = 0;
  LaunchRequest request = test.request_of("", address);
  request.module = Module::parse(text, "test");
  test.findings = run(request, test.memory, test.options);
  return test.kinds();
}

TEST(Handover, RegistersAreGivenUpBeforeOthersHaveThem) {
  const char* fewer = "setmaxnreg.dec.sync.aligned.u32 40;";
  const char* more = "setmaxnreg.inc.sync.aligned.u32 208;";
  EXPECT_EQ(registers(fewer, more), "");
  EXPECT_EQ(registers("", more), "deadlock");
  EXPECT_EQ(registers(fewer, "setmaxnreg.inc.sync.aligned.u32 224;"), "deadlock");
  EXPECT_EQ(registers(more, fewer), "");
  EXPECT_EQ(registers("setmaxnreg.dec.sync.aligned.u32 208;", ""), "registers");
}

}  // namespace
}  // namespace bwgemm::vgpu
