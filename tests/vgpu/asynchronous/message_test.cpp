// SPDX-License-Identifier: Apache-2.0
// What moves bytes on its own besides tensors: bulk copies and reductions, messages to other CTAs,
// cp.async, and requests for more work. What arrives, and what is found around it.
#include <functional>

#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

// Thread 0's mbarrier at smem + 8192 for one arrival; %r1 = smem, %r2 the barrier, %p1: not thread
// 0.
const std::string barrier = R"(
  mov.u32 %r1, smem; add.s32 %r2, %r1, 8192; setp.ne.s32 %p1, %r0, 0;
  @!%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
  @!%p1 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
)";
const std::string wait_for_bytes = R"(
  again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra again;
)";
const std::string meet =
    "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

std::string expect(int bytes) {
  return joined({"@!%p1 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r2], ",
                 std::to_string(bytes), ";"});
}

// Under eight schedules; `check` sees the words of the last.
std::string kinds(const std::string& body, std::uint32_t ctas = 1,
                  const std::function<void(const PtxCase&)>& check = nullptr,
                  std::uint32_t threads = 64) {
  std::set<std::string> all;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    PtxCase test;
    test.threads = threads;
    test.ctas = test.cluster = ctas;
    test.seed = seed;
    all.insert(test.run(body).kinds());
    if (check && test.findings.empty()) check(test);
  }
  std::string text;
  for (const std::string& kind : all) text += (text.empty() ? "" : "|") + kind;
  return text;
}

// ---- bulk copies
// ----------------------------------------------------------------------------------

// Words 0 .. 63 of `out` become their numbers, are copied to shared memory, and from there behind.
std::string round_trip(const char* fence, const char* before_reading) {
  return joined({barrier, R"(
    mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd0, %rd2; st.global.u32 [%rd2], %r0;
    fence.proxy.async.global; bar.sync 0;)",
                 expect(256), R"(
    @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 256, [%r2];)",
                 before_reading, R"(
    shl.b32 %r3, %r0, 2; add.s32 %r3, %r1, %r3; ld.shared.u32 %r4, [%r3];
    add.s32 %r4, %r4, 100; st.shared.u32 [%r3], %r4;)",
                 fence, R"(
    bar.sync 0; add.s64 %rd3, %rd0, 1024;
    @%p1 bra done;
    cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r1], 256;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    done:)"});
}

TEST(Bulk, CopiesBothWays) {
  EXPECT_EQ(kinds(round_trip("fence.proxy.async.shared::cta;", wait_for_bytes.c_str()), 1,
                  [](const PtxCase& test) {
                    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(test.out[256 + i], i + 100);
                  }),
            "");
  EXPECT_EQ(kinds(round_trip("", wait_for_bytes.c_str())), "proxy-fence");
  EXPECT_THAT(kinds(round_trip("fence.proxy.async.shared::cta;", "")), testing::HasSubstr("race"));
}

TEST(Bulk, SizesAndAddressesAreMultiplesOf16) {
  const char* copies[] = {"[%r1], [%rd0], 24, [%r2];", "[%r1+8], [%rd0], 16, [%r2];"};
  const std::string copy = "@!%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes ";
  EXPECT_EQ(kinds(joined({barrier, copy, copies[0]})), "tma-alignment");
  EXPECT_EQ(kinds(joined({"add.s64 %rd0, %rd0, 8;", barrier, copy, "[%r1], [%rd0], 16, [%r2];"})),
            "tma-alignment");
}

// Rank 0 sends what its threads wrote to rank 1.
std::string to_peer(const char* fence) {
  return joined({barrier, R"(
    shl.b32 %r3, %r0, 2; add.s32 %r3, %r1, %r3; add.s32 %r4, %r0, 7; st.shared.u32 [%r3], %r4;)",
                 fence, R"(bar.sync 0; mov.u32 %r5, %cluster_ctarank; setp.eq.s32 %p3, %r5, 0;
    @%p3 bra sender;)",
                 expect(256), wait_for_bytes, R"(
    ld.shared.u32 %r9, [%r3+1024];
    mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd0, %rd2; st.global.u32 [%rd2], %r9;
    bra.uni done;
    sender: mapa.shared::cluster.u32 %r6, %r1, 1; add.s32 %r6, %r6, 1024;
    mapa.shared::cluster.u32 %r7, %r2, 1;
    @!%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r6], [%r1], 256, [%r7];
    done:)",
                 meet});
}

TEST(Bulk, CopiesBetweenCtas) {
  EXPECT_EQ(kinds(to_peer("fence.proxy.async.shared::cta;"), 2,
                  [](const PtxCase& test) {
                    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(test.out[i], i + 7);
                  }),
            "");
  EXPECT_THAT(kinds(to_peer(""), 2), testing::HasSubstr("proxy-fence"));
}

// Both CTAs of a cluster add to the same words; ordinary stores there would race.
std::string reduction(const char* form) {
  return joined({barrier, R"(
    shl.b32 %r3, %r0, 2; add.s32 %r3, %r1, %r3; cvt.rn.f32.u32 %f1, %r0; st.shared.f32 [%r3], %f1;
    fence.proxy.async.shared::cta; bar.sync 0; @%p1 bra done;
    cp.)",
                 form, R"( [%rd0], [%r1], 256;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; done:)"});
}

TEST(Bulk, ReductionsAddUp) {
  EXPECT_EQ(kinds(reduction("reduce.async.bulk.global.shared::cta.bulk_group.add.f32"), 2,
                  [](const PtxCase& test) {
                    float sum = 0;
                    std::memcpy(&sum, &test.out[21], 4);
                    EXPECT_EQ(sum, 42.0f);
                  }),
            "");
  EXPECT_EQ(kinds(reduction("async.bulk.global.shared::cta.bulk_group"), 2), "global-race");
}

// The judge keeps lines that TMA writes as a whole in one piece; the words of others race all the
// same, whoever came first, and nothing beside the lines does.
TEST(Bulk, LinesAndTheirWordsInGlobalMemory) {
  constexpr std::uint32_t line = 128;
  const auto kinds = [](const char* access, std::uint32_t byte, std::uint64_t seed) {
    PtxCase test;
    test.ctas = 2;
    test.seed = seed;
    const std::uint64_t memory = test.memory.allocate(4 * line);
    std::memset(test.memory.host(memory, 4 * line), 0, 4 * line);
    test.memory.mark_initialised(memory, 4 * line);
    test.map.address = memory + line;
    test.map.rank = 2;
    test.map.element = TensorElement::f32;
    test.map.extent = {line / 4, 2, 1, 1, 1};
    test.map.box = {line / 4, 2, 1, 1, 1};
    test.map.stride[0] = line;
    test.map.element_stride.fill(1);
    std::string other(access);
    other.replace(other.find('@'), 1, std::to_string(memory + byte));
    const std::string store = joined({"[", std::to_string(memory + line + 124), "], 1;"});
    return test
        .run(joined({R"(
    mov.u32 %r1, smem; setp.ne.s32 %p1, %r0, 0; shl.b32 %r3, %r0, 3; add.s32 %r3, %r1, %r3;
    st.shared.u32 [%r3], %r0; st.shared.u32 [%r3+4], %r0;
    fence.proxy.async.shared::cta; bar.sync 0; @%p1 bra done;
    mov.u32 %r4, %ctaid.x; setp.eq.s32 %p3, %r4, 1; @%p3 bra other;
    cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {0, 0}], [%r1];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; st.global.u32 )",
                     store, " bra done;\n other: ", other, "\n done:"}))
        .kinds();
  };
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const std::uint32_t byte : {line, 2 * line - 4, 2 * line, 3 * line - 4})
      for (const char* access : {"st.global.u32 [@], 5;", "ld.global.u32 %r5, [@];"})
        EXPECT_EQ(kinds(access, byte, seed), "global-race") << access << byte;
    for (const std::uint32_t byte : {line - 4, 3 * line})
      EXPECT_EQ(kinds("st.global.u32 [@], 5;", byte, seed), "") << byte;
  }
}

TEST(Bulk, ReductionsOfTensors) {
  PtxCase test;
  test.threads = 64;
  test.map.address = test.memory.allocate(1024);
  std::memset(test.memory.host(test.map.address, 1024), 0, 1024);
  test.memory.mark_initialised(test.map.address, 1024);
  test.map.rank = 2;
  test.map.element = TensorElement::f32;
  test.map.extent = {3, 16, 1, 1, 1};
  test.map.stride[0] = 32;
  test.map.box = {8, 8, 1, 1, 1};
  test.map.element_stride.fill(1);
  std::string body = reduction("reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group");
  const std::string_view plain = "[%rd0], [%r1], 256;";
  body.replace(body.find(plain), plain.size(), "[%rd1, {0, 4}], [%r1];");
  EXPECT_EQ(test.run(body).kinds(), "");
  const auto* sums = static_cast<const float*>(test.memory.host(test.map.address, 1024));
  EXPECT_EQ(sums[5 * 8 + 2], 10.0f);
  EXPECT_EQ(sums[5 * 8 + 3], 11.0f) << "the end of the 16-byte unit in which the row ends";
  EXPECT_EQ(sums[5 * 8 + 4], 0.0f) << "beyond it";
}

// ---- messages
// -------------------------------------------------------------------------------------

// Every thread of rank 0 sends its number plus 1 to rank 1, one word each or a pair.
std::string message(const char* form, const char* value, int bytes, const std::string& receives) {
  return joined({barrier, R"(
    shl.b32 %r3, %r0, 3; add.s32 %r3, %r1, %r3; st.shared.u32 [%r3], %r0; st.shared.u32 [%r3+4], 5;
    mov.u32 %r5, %cluster_ctarank; setp.ne.s32 %p3, %r5, 0;)",
                 meet, R"(
    mapa.shared::cluster.u32 %r6, %r3, 1; mapa.shared::cluster.u32 %r7, %r2, 1;
    add.s32 %r8, %r0, 1; @%p3 bra receiver;
    )",
                 form, " [%r6], ", value, ", [%r7]; bra.uni done; receiver:", expect(bytes),
                 receives,
                 R"(
    ld.shared.u32 %r9, [%r3];
    mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd0, %rd2; st.global.u32 [%rd2], %r9;
    done:)",
                 meet});
}

TEST(Message, StoresArriveWithTheirBytes) {
  const char* store = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32";
  EXPECT_EQ(kinds(message(store, "%r8", 256, wait_for_bytes), 2,
                  [](const PtxCase& test) {
                    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(test.out[i], i + 1);
                  }),
            "");
  EXPECT_THAT(kinds(message(store, "%r8", 256, ""), 2), testing::HasSubstr("race"));
  EXPECT_THAT(kinds(message(store, "%r8", 260, wait_for_bytes), 2), testing::HasSubstr("deadlock"));
  const char* pair = "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32";
  EXPECT_EQ(kinds(message(pair, "{%r8, %r0}", 512, wait_for_bytes), 2), "");
}

TEST(Message, SumsNeedNoOrderAmongThemselves) {
  const char* sum =
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32";
  std::string body = message(sum, "%r8", 512, wait_for_bytes);
  EXPECT_EQ(kinds(message(sum, "%r8", 256, wait_for_bytes), 2,
                  [](const PtxCase& test) {
                    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(test.out[i], 2 * i + 1);
                  }),
            "");
  EXPECT_THAT(kinds(message(sum, "%r8", 256, ""), 2), testing::HasSubstr("race"));
  // All to one word, from four CTAs but the receiver.
  const std::string one =
      joined({barrier, R"(
    @!%p1 st.shared.u32 [%r1+4096], 0; bar.sync 0; mov.u32 %r5, %cluster_ctarank;)",
              R"( setp.eq.s32 %p3, %r5, 1;)", meet, R"(
    mapa.shared::cluster.u32 %r6, %r1, 1; mapa.shared::cluster.u32 %r7, %r2, 1; @%p3 bra receiver;
    )",
              sum, " [%r6+4096], 1, [%r7]; bra.uni done; receiver:", expect(3 * 32 * 4),
              wait_for_bytes, R"(
    ld.shared.u32 %r9, [%r1+4096]; @!%p1 st.global.u32 [%rd0], %r9; done:)",
              meet});
  EXPECT_EQ(kinds(
                one, 4, [](const PtxCase& test) { EXPECT_EQ(test.out[0], 96u); }, 32),
            "");
}

// ---- cp.async
// -------------------------------------------------------------------------------------

// Thread i copies 16 bytes to its own place, all read their neighbour's.
std::string copies(const std::string& before, const std::string& between) {
  return joined({barrier, R"(
    shl.b32 %r3, %r0, 4; mul.wide.u32 %rd2, %r0, 16; add.s64 %rd2, %rd0, %rd2;
    st.global.v4.u32 [%rd2], {%r0, %r0, %r0, %r0};
    add.s32 %r4, %r1, %r3;
    cp.async.cg.shared.global [%r4], [%rd2], 16;
    add.s32 %r5, %r4, 2048; cp.async.ca.shared.global [%r5], [%rd2+8], 8, 4;
    )",
                 before, R"(
    xor.b32 %r6, %r4, 16;)",
                 between, R"(
    ld.shared.u32 %r9, [%r6+12]; ld.shared.v2.u32 {%r10, %r11}, [%r6+2048];
    sub.s32 %r10, %r10, %r11; add.s32 %r9, %r9, %r10;
    add.s64 %rd3, %rd0, 4096; mul.wide.u32 %rd4, %r0, 4; add.s64 %rd3, %rd3, %rd4;
    st.global.u32 [%rd3], %r9;)"});
}

TEST(CopyAsync, GroupsAndBarriers) {
  const std::string commit = "cp.async.commit_group;";
  const auto check = [](const PtxCase& test) {
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(test.out[1024 + i], 2 * (i ^ 1));
  };
  EXPECT_EQ(kinds(copies(commit + "cp.async.wait_group 0;", "bar.sync 0;"), 1, check), "");
  EXPECT_EQ(kinds(copies("cp.async.wait_all;", "bar.warp.sync -1;"), 1, check), "");
  EXPECT_THAT(kinds(copies("cp.async.wait_all;", "")), testing::HasSubstr("race"))
      << "each lane has waited for its own";
  EXPECT_THAT(kinds(copies(commit + "cp.async.wait_group 1;", "bar.sync 0;")),
              testing::HasSubstr("race"));
}

TEST(CopyAsync, ArrivesWhenItIsDone) {
  const std::string count = R"(
    @!%p1 mbarrier.inval.shared::cta.b64 [%r2]; @!%p1 mbarrier.init.shared::cta.b64 [%r2], 64;
    bar.sync 0; cp.async.mbarrier.arrive.noinc.shared.b64 [%r2];)";
  EXPECT_EQ(kinds(copies(count, wait_for_bytes)), "");
  EXPECT_THAT(kinds(copies(count, "")), testing::HasSubstr("race"));
}

// The tensor cores and TMA see ordinary writes behind a proxy fence only.
TEST(CopyAsync, IsOrdinaryWriting) {
  const std::string store = R"(bar.sync 0; add.s64 %rd5, %rd0, 8192;
    @!%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%r1], 1024;
    @!%p1 cp.async.bulk.commit_group; @!%p1 cp.async.bulk.wait_group 0;)";
  EXPECT_EQ(kinds(copies(joined({"cp.async.wait_all; fence.proxy.async.shared::cta;", store}), "")),
            "");
  EXPECT_EQ(kinds(copies(joined({"cp.async.wait_all;", store}), "")), "proxy-fence");
}

// ---- cluster launch control
// -----------------------------------------------------------------------

// Each CTA adds 1 to the word of its number, and of those that it takes over.
std::string work(const char* expected_bytes, const char* fence) {
  return joined({R"(
    .reg .b128 answer;
    mov.u32 %r1, smem; add.s32 %r2, %r1, 64; mov.u32 %r3, %ctaid.x; mov.u32 %r4, 0;
    mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
    next: mul.wide.u32 %rd2, %r3, 4; add.s64 %rd2, %rd0, %rd2; red.global.add.u32 [%rd2], 1;
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r2], )",
                 expected_bytes, R"(;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
    again: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r2], %r4; @!%p2 bra again;
    ld.shared.b128 answer, [%r1];)",
                 fence, R"( xor.b32 %r4, %r4, 1;
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, answer;
    @!%p3 bra done;
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r3, %r5, %r6, _}, answer;
    bra next; done:)"});
}

TEST(LaunchControl, EveryCtaRunsOnce) {
  const char* fence = "fence.proxy.async.shared::cta;";
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    PtxCase test;
    test.threads = 1;
    test.ctas = 40;
    test.options.concurrent_ctas = 4;
    test.seed = seed;
    EXPECT_EQ(test.run(work("16", fence)).kinds(), "");
    for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(test.out[i], 1u) << i;
    PtxCase short_of, unfenced;
    short_of.threads = unfenced.threads = 1;
    EXPECT_EQ(short_of.run(work("8", fence)).kinds(), "deadlock");
  }
}

TEST(LaunchControl, AsksNoMoreAfterARefusal) {
  PtxCase test;
  test.threads = 1;
  test.options.max_findings = 1;
  std::string body = work("16", "fence.proxy.async.shared::cta;");
  const std::string_view leave = "@!%p3 bra done;";
  body.replace(body.find(leave), leave.size(), "@!%p3 bra next;");
  EXPECT_EQ(test.run(body).kinds(), "launch-control");
}

}  // namespace
}  // namespace bwgemm::vgpu
