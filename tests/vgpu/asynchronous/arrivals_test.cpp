// SPDX-License-Identifier: Apache-2.0
// What comes to several CTAs comes to each in its own time: commits and loads that are multicast.
// And what is there before anything has come: junk.
#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

using testing::IsSupersetOf, testing::UnorderedElementsAre;

constexpr std::uint64_t seeds = 60;

// Of two CTAs, whose thread 0 has three barriers at %r2; CTA 0 does `sends`. Each waits for the
// second barrier, looks whether the first has completed, and leaves when it has. The answers of
// both under many seeds: 0 for not yet, else 1.
std::set<std::pair<std::uint32_t, std::uint32_t>> answers_of(const std::string& sends) {
  const std::string body = joined({R"(
    mov.u32 %r1, smem; add.s32 %r2, %r1, 8192; mov.u32 %r3, %cluster_ctarank;
    setp.ne.s32 %p1, %r0, 0; setp.ne.s32 %p3, %r3, 0; mov.b16 %rs1, 3;
    @%p1 bra ready;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    mbarrier.init.shared::cta.b64 [%r2+8], 1;
    fence.mbarrier_init.release.cluster;
    ready: bar.warp.sync -1;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    @%p1 bra done;
    )",
                                   sends, R"(
    second: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r2+8], 0;
    @!%p2 bra second;
    mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %p4, [%r2], 0;
    selp.u32 %r9, 1, 0, %p4;
    mul.wide.u32 %rd9, %r3, 4; add.s64 %rd9, %rd0, %rd9; st.global.u32 [%rd9], %r9;
    first: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra first;
    done: bar.warp.sync -1;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;)"});
  std::set<std::pair<std::uint32_t, std::uint32_t>> answers;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    PtxCase test;
    test.ctas = test.cluster = 2;
    test.seed = seed;
    const std::size_t bytes = 64 * 64 * 2;
    test.map.address = test.memory.allocate(bytes);
    test.memory.mark_initialised(test.map.address, bytes);
    test.map.rank = 2;
    test.map.element = TensorElement::u16;
    test.map.extent = {64, 64, 1, 1, 1};
    test.map.stride[0] = 128;
    test.map.box = {64, 64, 1, 1, 1};
    test.map.element_stride.fill(1);
    test.run(body);
    EXPECT_EQ(test.kinds(), "") << to_string(test.findings[0]);
    answers.insert({test.out[0], test.out[1]});
  }
  return answers;
}

TEST(Arrivals, OfCommitsComeApartAndInAnyOrder) {
  const std::string commit =
      "@!%p3 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
      ".multicast::cluster.b64 ";
  const auto answers = answers_of(commit + "[%r2], %rs1;" + commit + "[%r2+8], %rs1;");
  EXPECT_THAT(answers, IsSupersetOf({std::pair{0u, 1u}, std::pair{1u, 0u}, std::pair{1u, 1u}}));
}

// Each says when its copy, of so many bytes, has come; one that sees the other's message first
// waits for its own.
std::string sent_by_the_first(const char* bytes, const char* copy) {
  return joined({"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r2], ", bytes,
                 "; @!%p3 ", copy, R"(
    xor.b32 %r4, %r3, 1; add.s32 %r5, %r2, 8; mapa.shared::cluster.u32 %r5, %r5, %r4;
    own: mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %p5, [%r2], 0;
    mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %p6, [%r2+8], 0;
    or.pred %p7, %p5, %p6;
    @!%p7 bra own;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];)"});
}

TEST(Arrivals, OfMulticastLoadsComeApart) {
  const std::string sends = sent_by_the_first(
      "8192",
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%r1], [%rd1, {0, 0}], [%r2], %rs1;");
  EXPECT_THAT(answers_of(sends), IsSupersetOf({std::pair{0u, 1u}, std::pair{1u, 0u}}));
}

TEST(Arrivals, OfLaunchControlComeApart) {
  const std::string sends = sent_by_the_first(
      "16",
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
      ".multicast::cluster::all.b128 [%r1], [%r2];");
  EXPECT_THAT(answers_of(sends), IsSupersetOf({std::pair{0u, 1u}, std::pair{1u, 0u}}));
}

TEST(Arrivals, AreAwaitedBeforeTheExit) {
  const std::string body = R"(
    mov.u32 %r1, smem; setp.ne.s32 %p1, %r0, 0; mov.b16 %rs1, 1;
    @%p1 bra done;
    mbarrier.init.shared::cta.b64 [%r1], 1;
    fence.mbarrier_init.release.cluster; fence.proxy.async;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];
    done:)";
  EXPECT_EQ(kinds_of(body, 32), "exited-peer");
}

// What two CTAs give that arrive at each other's barriers.
std::string kinds_of_arrival(const char* semantics) {
  PtxCase test;
  test.ctas = test.cluster = 2;
  test.run(joined({R"(
    mov.u32 %r1, smem; mov.u32 %r3, %cluster_ctarank; xor.b32 %r3, %r3, 1;
    setp.ne.s32 %p1, %r0, 0;
    @!%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
    @!%p1 fence.mbarrier_init.release.cluster;
    bar.warp.sync -1;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    @%p1 bra done;
    mapa.shared::cluster.u32 %r2, %r1, %r3;
    mbarrier.arrive.)",
                   semantics, R"(.shared::cluster.b64 _, [%r2];
    again: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p2, [%r1], 0;
    @!%p2 bra again;
    done: bar.warp.sync -1;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;)"}));
  return test.kinds();
}

TEST(Arrivals, HaveAScopeThatIncludesTheirBarrier) {
  EXPECT_EQ(kinds_of_arrival("relaxed.cluster"), "");
  EXPECT_EQ(kinds_of_arrival("relaxed.cta"), "mbarrier-scope");
  EXPECT_EQ(kinds_of_arrival("release.cta"), "mbarrier-scope");
}

// How often a wait that asks once, for another warp's arrival, has seen it.
int times_seen(bool is_impatient) {
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (seed % 3 == 0) continue;  // waits often return for no reason
    PtxCase test;
    test.threads = 64;
    test.seed = seed;
    if (is_impatient) test.options.impatient_line = body_line + 9;
    test.run(R"(
    mov.u32 %r1, smem; setp.ne.s32 %p1, %r0, 0; setp.ne.s32 %p2, %r0, 32;
    @!%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
    bar.sync 0;
    @!%p2 bra arrives;
    @%p1 bra done;
    bra asks;
    arrives: mbarrier.arrive.release.cta.shared::cta.b64 _, [%r1];
    bra done; asks:
    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p3, [%r1], 0;
    selp.u32 %r9, 1, 0, %p3; st.global.u32 [%rd0], %r9;
    done:)");
    EXPECT_EQ(test.kinds(), "");
    seen += static_cast<int>(test.out[0]);
  }
  return seen;
}

TEST(Arrivals, AreMissedByAWaitThatIsImpatient) {
  EXPECT_GE(times_seen(false), 36);  // of 40
  EXPECT_LE(times_seen(true), 30);
}

// The word that lane 0 stores, under several seeds.
std::set<std::uint32_t> words_under_seeds(const std::string& body, bool judged) {
  std::set<std::uint32_t> words;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    PtxCase test;
    test.seed = seed;
    test.options.clocks = judged;
    test.run(body + "setp.ne.s32 %p9, %r0, 0; @!%p9 st.global.u32 [%rd0], %r9;");
    EXPECT_EQ(test.kinds(), "");
    words.insert(test.out[0]);
  }
  return words;
}

TEST(Junk, IsInRegistersThatNobodyWrote) {
  const auto words = words_under_seeds("mov.u32 %r9, %r77;", true);
  EXPECT_EQ(words.size(), 7u);  // of eight seeds, two of which give zero
  EXPECT_EQ(words.count(0), 1u);
}

TEST(Junk, IsInPredicatesThatNobodyWrote) {
  EXPECT_THAT(words_under_seeds("selp.u32 %r9, 1, 0, %p8;", true), UnorderedElementsAre(0u, 1u));
}

// Which is a finding where accesses are judged.
TEST(Junk, IsInSharedMemoryThatNobodyWrote) {
  const auto words = words_under_seeds("mov.u32 %r1, smem; ld.shared.u32 %r9, [%r1+64];", false);
  EXPECT_EQ(words.size(), 5u);  // of four seeds; NaN of the others
  EXPECT_EQ(words.count(0xffffffff), 1u);
  EXPECT_EQ(kinds_of("mov.u32 %r1, smem; ld.shared.u32 %r9, [%r1+64];", 32),
            "uninitialised-shared");
}

}  // namespace
}  // namespace bwgemm::vgpu
