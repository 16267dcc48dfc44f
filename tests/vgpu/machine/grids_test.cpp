// SPDX-License-Identifier: Apache-2.0
// Grids that depend on each other: when the second may begin, what it sees, and what is found.
#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

// Thread i of the first kernel writes i + 1 to word i; the second adds 10 and writes to word i +
// 1024. 64 threads in CTAs of 32.
constexpr char index[] = R"(
  mov.u32 %r1, %ctaid.x; mad.lo.s32 %r1, %r1, 32, %r0;
  mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd0, %rd2;)";
const std::string first = joined({index, R"(
  griddepcontrol.launch_dependents;
  add.s32 %r2, %r1, 1; st.global.u32 [%rd2], %r2;)"});

struct Outcome {
  std::string kinds;     // of the second kernel's findings
  bool is_right = true;  // in every word
};

Outcome run_pair(const std::string& first, const std::string& second, std::uint64_t seed) {
  GlobalMemory memory;
  const std::uint64_t address = memory.allocate(8192);
  auto* words = static_cast<std::uint32_t*>(memory.host(address, 8192));
  std::memset(words, 0, 8192);
  memory.mark_initialised(address, 8192);
  std::vector<Grid> grids(2);
  for (Grid& grid : grids) {
    const std::string& body = &grid == &grids[0] ? first : second;
    grid.request.module = Module::parse(ptx_with_body(body), "test");
    grid.request.kernel = std::string("k");
    grid.request.grid = {2};
    grid.request.block = {32};
    grid.request.seed = seed + static_cast<std::uint64_t>(&grid - grids.data());
    grid.request.parameters.resize(192);
    std::memcpy(grid.request.parameters.data(), &address, sizeof address);
  }
  const auto findings = run_dependent(grids, memory);
  Outcome outcome;
  EXPECT_TRUE(findings[0].empty());
  std::set<std::string> kinds;
  for (const Finding& finding : findings[1]) kinds.insert(finding.kind);
  for (const std::string& kind : kinds) outcome.kinds += kind;
  for (std::uint32_t i = 0; i < 64; ++i) outcome.is_right &= words[1024 + i] == i + 11;
  return outcome;
}

std::string second(std::string_view before, std::string_view between = "") {
  return joined({index, before, "ld.global.u32 %r3, [%rd2];", between,
                 "add.s32 %r3, %r3, 10; st.global.u32 [%rd2+4096], %r3;"});
}

TEST(DependentGrids, WaitForWhatTheyRead) {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 32; ++seed) {
    const Outcome right = run_pair(first, second("griddepcontrol.wait;"), seed);
    EXPECT_EQ(right.kinds, "");
    EXPECT_TRUE(right.is_right);
    const Outcome late = run_pair(first, second("", "griddepcontrol.wait;"), seed);
    EXPECT_EQ(late.kinds, "grid-race") << "whatever the schedule";
    const Outcome missing = run_pair(first, second(""), seed);
    EXPECT_EQ(missing.kinds, "grid-race");
    wrong += missing.is_right ? 0 : 1;
  }
  EXPECT_GT(wrong, 4) << "the schedule makes use of it, too";
}

TEST(DependentGrids, NeedNotWaitForOtherMemory) {
  const std::string other = joined({index, "st.global.u32 [%rd2+4096], 7;"});
  EXPECT_EQ(run_pair(first, other, 1).kinds, "");
  const std::string over = joined({index, "st.global.u32 [%rd2], 7;"});
  EXPECT_EQ(run_pair(first, over, 1).kinds, "grid-race");
  const std::string reader = joined({index, "ld.global.u32 %r2, [%rd2];"});
  EXPECT_EQ(run_pair(reader, over, 1).kinds, "grid-race") << "what was read is overwritten";
  EXPECT_EQ(run_pair(reader, reader, 1).kinds, "");
}

// One thread waits for all, a barrier hands it on; without the barrier nobody else has waited.
TEST(DependentGrids, OneThreadMayWaitForAll) {
  const char* wait = "setp.eq.s32 %p1, %r0, 5; @%p1 griddepcontrol.wait;";
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_EQ(run_pair(first, second(joined({wait, "bar.sync 0;"})), seed).kinds, "");
    EXPECT_EQ(run_pair(first, second(wait), seed).kinds, "grid-race");
  }
}

// Nobody has to say anything: a CTA that ends lets the next grid begin, but has not published.
TEST(DependentGrids, EndingIsNotPublishing) {
  const std::string silent = joined({index, "add.s32 %r2, %r1, 1; st.global.u32 [%rd2], %r2;"});
  EXPECT_EQ(run_pair(silent, second("griddepcontrol.wait;"), 3).kinds, "");
  EXPECT_EQ(run_pair(silent, second(""), 3).kinds, "grid-race");
}

// The second spins until the first has written: it runs beside it, and so the first must go on.
TEST(DependentGrids, RunBesideEachOther) {
  const std::string both = joined({index, R"(
    griddepcontrol.launch_dependents;
    again: ld.relaxed.gpu.global.u32 %r3, [%rd0+4000]; setp.eq.s32 %p1, %r3, 0; @%p1 bra again;
    add.s32 %r2, %r1, 1; st.global.u32 [%rd2], %r2;)"});
  const std::string beside = joined({index, R"(
    red.global.add.u32 [%rd0+4000], 1;
    griddepcontrol.wait; ld.global.u32 %r3, [%rd2];
    add.s32 %r3, %r3, 10; st.global.u32 [%rd2+4096], %r3;)"});
  const Outcome outcome = run_pair(both, beside, 2);
  EXPECT_EQ(outcome.kinds, "grid-race") << "such a message needs no wait, but PTX promises nothing";
  EXPECT_TRUE(outcome.is_right);
}

}  // namespace
}  // namespace bwgemm::vgpu
