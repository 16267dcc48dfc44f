// SPDX-License-Identifier: Apache-2.0
// Allocation of tensor memory: what a pair of CTAs must do together, and who waits for columns. One
// seeded bug per rule, found under every schedule where the rule does not depend on one.
#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

constexpr std::uint64_t schedules = 10;
constexpr std::string_view meet_relaxed =
    "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;";
constexpr std::string_view end =
    "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
constexpr std::string_view alloc =
    "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r5], %r2;";
constexpr std::string_view read =
    "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;"
    "bar.warp.sync -1; ld.shared.b32 %r6, [%r5];";
constexpr std::string_view dealloc = "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r6, %r2;";

// One warp per CTA, whose rank is in %r1: 64 columns, the address to `smem`.
struct PairCase : PtxCase {
  PairCase(std::uint64_t schedule, std::initializer_list<std::string_view> parts) {
    ctas = cluster = 2;
    seed = schedule;
    run(
        joined({"mov.u32 %r5, smem; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, 64;"
                "setp.eq.u32 %p1, %r1, 0;",
                joined(parts), "done:"}));
  }
};

void expect_kinds(const char* expected, std::initializer_list<std::string_view> parts) {
  for (std::uint64_t seed = 1; seed <= schedules; ++seed)
    EXPECT_EQ(PairCase(seed, parts).kinds(), expected) << joined(parts) << " seed " << seed;
}

TEST(PairAllocation, BothCtasReadTheAddressThatOneWrites) {
  constexpr std::string_view store =
      "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd0, %rd2; setp.eq.u32 %p2, %r0, 0;"
      "add.u32 %r7, %r6, 1; @%p2 st.global.u32 [%rd2], %r7;";
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    const PairCase test(seed, {meet_relaxed, alloc, read, store, end, dealloc});
    EXPECT_EQ(test.kinds(), "");
    EXPECT_GT(test.out[0], 0u);
    EXPECT_EQ(test.out[0], test.out[1]);
  }
}

TEST(PairAllocation, BeforeThePeerRuns) {
  expect_kinds("tensor-pair", {alloc, read, end, dealloc});
}

TEST(PairAllocation, AfterThePeerHasGone) {
  for (std::uint64_t seed = 1; seed <= schedules; ++seed)
    EXPECT_THAT(PairCase(seed, {meet_relaxed, "@!%p1 bra done;", alloc, read, dealloc}).kinds(),
                testing::AnyOf("tensor-pair", "exited-peer tensor-pair"));
}

TEST(PairAllocation, OfOtherCounts) {
  expect_kinds("tensor-pair", {meet_relaxed, "shl.b32 %r2, %r2, %r1;", alloc, read, end, dealloc});
}

TEST(PairAllocation, ToOtherSlots) {
  expect_kinds("tensor-pair", {meet_relaxed, "shl.b32 %r3, %r1, 4; add.u32 %r5, %r5, %r3;", alloc,
                               read, end, dealloc});
}

TEST(PairAllocation, ByTheEvenCtaAlone) {
  expect_kinds("tensor-pair", {meet_relaxed, "@!%p1 bra skip;", alloc, read, dealloc,
                               "skip: bar.warp.sync -1;", end});
}

TEST(PairAllocation, ByTheOddCtaAlone) {
  expect_kinds("deadlock", {meet_relaxed, "@%p1 bra skip;", alloc, read, dealloc,
                            "skip: bar.warp.sync -1;", end});
}

// The even CTA writes to the odd one's slot.
TEST(PairAllocation, RacesWithTheOddCtasUseOfItsSlot) {
  constexpr std::string_view clear = "setp.eq.u32 %p2, %r0, 0; @%p2 st.shared.u32 [%r5], 0;";
  expect_kinds("", {clear, end, alloc, read, end, dealloc});
  expect_kinds("race", {clear, meet_relaxed, "bar.warp.sync -1;", alloc, read, end, dealloc});
}

TEST(PairDeallocation, BeforeThePeersAllocIsOver) {
  expect_kinds("tensor-pair", {meet_relaxed, alloc, read, dealloc, end});
  expect_kinds("", {meet_relaxed, alloc, read, meet_relaxed, dealloc});
}

constexpr std::string_view alone =
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], %r2;"
    "bar.warp.sync -1; ld.shared.b32 %r6, [%r5];";
constexpr std::string_view free_again = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r6, %r2;";

TEST(Allocation, WaitsForColumns) {
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    PtxCase test;
    test.threads = 128;
    test.seed = seed;
    test.run(
        joined({"and.b32 %r3, %r0, 96; mov.u32 %r5, smem; add.u32 %r5, %r5, %r3;"
                "mov.u32 %r2, 512;",
                alone, free_again}));
    EXPECT_EQ(test.kinds(), "") << "seed " << seed;
  }
}

TEST(Allocation, WaitsForEverWhereNobodyFreesColumns) {
  PtxCase test;
  test.run(joined({"mov.u32 %r5, smem; mov.u32 %r2, 512;", alone, alone}));
  ASSERT_EQ(test.kinds(), "deadlock");
  EXPECT_THAT(test.findings[0].text, testing::HasSubstr("free columns of tensor memory"));
}

TEST(Allocation, GoesAsAWhole) {
  EXPECT_EQ(kinds_of(joined({"mov.u32 %r5, smem; mov.u32 %r2, 64;", alone, "mov.u32 %r2, 32;",
                             free_again}),
                     32),
            "tensor-allocation");
}

// The CTAs of a grid, and others, may share a multiprocessor: columns are where the address says.
TEST(Allocation, DoesNotBeginAtColumnZero) {
  constexpr std::string_view store =
      "mov.b32 %r7, 0; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r8], {%r7};"
      "tcgen05.wait::st.sync.aligned;";
  int found = 0;
  for (std::uint64_t seed = 1; seed <= schedules; ++seed)
    for (const bool assumes : {false, true}) {
      PtxCase test;
      test.ctas = 8;
      test.seed = seed;
      test.run(joined({"mov.u32 %r5, smem; mov.u32 %r2, 256;", alone,
                       assumes ? "mov.u32 %r8, 0;" : "mov.u32 %r8, %r6;", store, free_again}));
      if (assumes)
        found += test.kinds() == "tensor-bounds" ? 1 : 0;
      else
        EXPECT_EQ(test.kinds(), "") << "seed " << seed;
    }
  EXPECT_GE(found, static_cast<int>(schedules) - 1);
}

}  // namespace
}  // namespace bwgemm::vgpu
