// SPDX-License-Identifier: Apache-2.0
// mbarriers, TMA and cluster barriers in small: what they move, and what goes wrong around them.
#include <numeric>

#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

// A 64 x 16 matrix of 16-bit numbers 0, 1, 2, ..., moved in boxes of 64 x 8.
struct TmaCase : PtxCase {
  TmaCase() {
    threads = 64;
    const std::size_t bytes = 64 * 16 * 2;
    map.address = memory.allocate(bytes);
    map.rank = 2;
    map.element = TensorElement::u16;
    map.swizzle = Swizzle::bytes128;
    map.extent = {60, 16, 1, 1, 1};
    map.stride[0] = 128;
    map.box = {64, 8, 1, 1, 1};
    map.element_stride.fill(1);
    std::iota(elements(), elements() + 64 * 16, std::uint16_t{0});
    memory.mark_initialised(map.address, bytes);
  }
  std::uint16_t* elements() { return static_cast<std::uint16_t*>(memory.host(map.address, 2048)); }
};

constexpr char setup[] = R"(
  mov.u32 %r1, smem; add.s32 %r2, %r1, 8192; setp.ne.s32 %p1, %r0, 0;
  @%p1 bra ready;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r2], 1024;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 12}], [%r2];
  ready: bar.sync 0;
)";
constexpr char wait[] = R"(
  again: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra again;
)";
// Thread t takes 16-bit pair t % 32 of row t / 32, past the swizzle.
constexpr char take[] = R"(
  shl.b32 %r3, %r0, 2; shr.u32 %r4, %r3, 3; and.b32 %r4, %r4, 0x70; xor.b32 %r3, %r3, %r4;
  add.s32 %r3, %r1, %r3; ld.shared.u32 %r9, [%r3];
  mul.wide.u32 %rd9, %r0, 4; add.s64 %rd9, %rd0, %rd9; st.global.u32 [%rd9], %r9;
)";

TEST(Tma, LoadsABoxWithSwizzleAndZeroFill) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    TmaCase test;
    test.seed = seed;
    test.run(std::string(setup) + wait + take);
    EXPECT_EQ(test.kinds(), "");
    for (std::uint32_t t = 0; t < 64; ++t) {
      const std::uint32_t element = (12 + t / 32) * 64 + t % 32 * 2;
      const std::uint32_t expected = t % 32 < 30 ? element | (element + 1) << 16 : 0;
      EXPECT_EQ(test.out[t], expected) << t;
    }
  }
}

TEST(Tma, LoadsMustBeWaitedFor) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    TmaCase test;
    test.seed = seed;
    test.run(std::string(setup) + take + wait);
    EXPECT_THAT(test.kinds(), testing::HasSubstr("race"));
  }
}

TEST(Tma, WrongByteCountsShow) {
  std::string less = setup;
  less.replace(less.find("1024;"), 5, "1008;");
  TmaCase test;
  EXPECT_EQ(test.run(less + wait + take).kinds(), "deadlock");
  std::string more = setup;
  more.replace(more.find("1024;"), 5, "1040;");
  TmaCase other;
  EXPECT_EQ(other.run(more + wait + take).kinds(), "deadlock");
}

TEST(Tma, MapsAreChecked) {
  TmaCase damaged;
  damaged.map = {};
  std::string body = setup;
  body.replace(body.find("[%rd1,"), 6, "[%rd0,");
  EXPECT_EQ(damaged.run(body).kinds(), "tensor-map");
  TmaCase misplaced;
  body = setup;
  body.replace(body.find("bytes [%r1]"), 11, "bytes [%r3]");
  EXPECT_EQ(misplaced.run("mov.u32 %r3, smem; add.s32 %r3, %r3, 128;" + body).kinds(),
            "tma-alignment");
}

std::string store(const char* fence, const char* before_exit) {
  return std::string(R"(
    mov.u32 %r1, smem; shl.b32 %r3, %r0, 4; add.s32 %r3, %r1, %r3;
    st.shared.v4.u32 [%r3], {%r0, %r0, %r0, %r0};
    )") + fence +
         R"(
    bar.sync 0;
    setp.ne.s32 %p1, %r0, 0; @%p1 bra done;
    cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {0, 8}], [%r1];
    cp.async.bulk.commit_group;
    )" + before_exit +
         "done:";
}

TEST(Tma, StoresABoxAndClipsIt) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    TmaCase test;
    test.seed = seed;
    test.run(store("fence.proxy.async.shared::cta;", "cp.async.bulk.wait_group 0;"));
    EXPECT_EQ(test.kinds(), "");
    EXPECT_EQ(test.elements()[7 * 64 + 3], 7 * 64 + 3);  // above the box
    EXPECT_EQ(test.elements()[8 * 64], 0);               // thread 0's
    EXPECT_EQ(test.elements()[9 * 64], 8 ^ 1);           // row 1, chunk 0 lies in chunk 1
    EXPECT_EQ(test.elements()[9 * 64 + 58], 8 + (7 ^ 1));
  }
}

// Stores clip at units of 16 bytes, whatever is left of the unit in which a row ends.
TEST(Tma, StoresEndWithAUnit) {
  const std::string body = store("fence.proxy.async.shared::cta;", "cp.async.bulk.wait_group 0;");
  for (const std::uint32_t extent : {49u, 52u, 55u, 56u, 57u}) {
    TmaCase test;
    test.map.extent[0] = extent;
    EXPECT_EQ(test.run(body).kinds(), "");
    const std::uint32_t end = (extent + 7) / 8 * 8;
    for (std::uint32_t i = 48; i < 64; ++i) {
      const std::uint32_t thread = 8 + (i / 8 ^ 1);  // of row 1; stores its number as 32 bits
      const std::uint32_t expected = i >= end ? 9 * 64 + i : i % 2 ? 0 : thread;
      EXPECT_EQ(test.elements()[9 * 64 + i], expected) << extent << " element " << i;
    }
  }
  TmaCase last;  // whose last row ends with the allocation, in the middle of a unit
  const std::uint64_t inner = last.memory.allocate(15 * 128 + 52 * 2);
  last.map.address = inner;
  last.map.extent[0] = 52;
  EXPECT_EQ(last.run(body).kinds(), "global-bounds");
}

TEST(Tma, StoresNeedAProxyFenceAndAWait) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    TmaCase unfenced, left, read;
    unfenced.seed = left.seed = read.seed = seed;
    EXPECT_EQ(unfenced.run(store("", "cp.async.bulk.wait_group 0;")).kinds(), "proxy-fence");
    EXPECT_THAT(left.run(store("fence.proxy.async.shared::cta;", "")).kinds(),
                testing::HasSubstr("bulk-exit"));
    EXPECT_EQ(read.run(store("fence.proxy.async.shared::cta;", "cp.async.bulk.wait_group.read 0;"))
                  .kinds(),
              "");
  }
}

TEST(MBarrier, Protocol) {
  const std::string init =
      "mov.u32 %r1, smem; setp.eq.s32 %p1, %r0, 0;"
      "@%p1 mbarrier.init.shared::cta.b64 [%r1], 1; bar.sync 0;";
  const std::string arrive = "@%p1 mbarrier.arrive.release.cta.shared::cta.b64 _, [%r1];";
  EXPECT_EQ(kinds_of(init + arrive), "");
  EXPECT_EQ(kinds_of(init + "mbarrier.arrive.release.cta.shared::cta.b64 _, [%r1], 2;"),
            "mbarrier-arrivals");
  EXPECT_EQ(kinds_of(init + "mbarrier.arrive.release.cta.shared::cta.b64 _, [%r1+8];"),
            "mbarrier-invalid");
  EXPECT_EQ(kinds_of(init + "ld.shared.u32 %r2, [%r1];"), "barrier-access");
  EXPECT_EQ(kinds_of(init + "st.shared.u32 [%r1+4], 0;"), "barrier-access");
  EXPECT_EQ(kinds_of(init + "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;"), "deadlock");
  // A failure without a cause shows a missing loop; here nobody ever arrives, so test_wait fails.
  EXPECT_EQ(kinds_of(init + "mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r1], 0;"), "");
  EXPECT_EQ(kinds_of("mov.u32 %r1, smem; setp.eq.s32 %p1, %r0, 0;"
                     "@%p1 mbarrier.init.shared::cta.b64 [%r1], 1;"
                     "setp.eq.s32 %p2, %r0, 32; bar.sync 0;"
                     "@%p2 mbarrier.arrive.release.cta.shared::cta.b64 _, [%r1];"),
            "");
}

// Thread 0 writes a word and arrives; thread 32 waits and reads it.
std::string message(const char* arrival) {
  return std::string(R"(
    mov.u32 %r1, smem; setp.eq.s32 %p1, %r0, 0; setp.eq.s32 %p2, %r0, 32;
    @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
    bar.sync 0;
    @%p1 st.shared.u32 [%r1+64], 5;
    @%p1 mbarrier.arrive.)") +
         arrival + R"(.shared::cta.b64 _, [%r1];
    @!%p2 bra done;
    again: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p3, [%r1], 0;
    @!%p3 bra again;
    ld.shared.u32 %r2, [%r1+64];
    done:)";
}

TEST(MBarrier, ARelaxedArrivalPublishesNothing) {
  EXPECT_EQ(kinds_of(message("release.cta")), "");
  EXPECT_EQ(kinds_of(message("relaxed.cta")), "race");
}

// Rank 0 writes into rank 1's shared memory.
std::string remote(const char* arrive, const char* at_end) {
  return std::string(R"(
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, smem;
    mapa.shared::cluster.u32 %r3, %r2, 1;
    setp.ne.s32 %p1, %r1, 0; setp.ne.s32 %p2, %r0, 0; or.pred %p1, %p1, %p2;
    @!%p1 st.shared::cluster.u32 [%r3], 7;
    bar.warp.sync -1;
    )") + arrive +
         at_end + R"(
    setp.eq.s32 %p3, %r1, 0; @%p3 bra done;
    ld.shared.u32 %r4, [%r2];
    done:)";
}

TEST(Cluster, BarriersOrderRemoteAccesses) {
  auto kinds = [](const std::string& body, std::uint64_t seed) {
    PtxCase test;
    test.ctas = test.cluster = 2;
    test.seed = seed;
    return test.run(body).kinds();
  };
  const char* wait = "barrier.cluster.wait.acquire.aligned;";
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_EQ(kinds(remote("barrier.cluster.arrive.release.aligned;", wait), seed), "");
    EXPECT_EQ(kinds(remote("barrier.cluster.arrive.relaxed.aligned;", wait), seed),
              "exited-peer race");
    EXPECT_NE(kinds(remote("", ""), seed), "");
    EXPECT_EQ(kinds("barrier.cluster.wait.acquire.aligned;", seed), "barrier");
  }
}

}  // namespace
}  // namespace bwgemm::vgpu
