// SPDX-License-Identifier: Apache-2.0
// Known bugs: synchronisation mistakes seeded into the PTX of the library's kernels. Each must be
// found under every one of ten schedules. Skipped where the build made no PTX.
#include <gtest/gtest.h>

#include "vgpu/kernel_case.h"

namespace bwgemm::vgpu {
namespace {

constexpr int schedules = 10;
constexpr int every = -1;

struct Bug {
  const char* name;
  const char* kernel;
  const char* search;   // text within one line of PTX
  const char* replace;  // for that line's text; "" makes the line an empty statement
  int occurrence;       // from 0; every
};

// The text with the line(s) that contain the search text changed; empty if there are none.
std::string seeded(const std::string& ptx, const Bug& bug) {
  std::istringstream lines(ptx);
  std::string line, result;
  int found = 0;
  bool changed = false;
  while (std::getline(lines, line)) {
    const std::size_t at = line.find(bug.search);
    const bool is_code = line.find("//") == std::string::npos;
    if (at != std::string::npos && is_code &&
        (bug.occurrence == every || found++ == bug.occurrence)) {
      changed = true;
      if (*bug.replace)
        line.replace(at, std::strlen(bug.search), bug.replace);
      else
        line.assign(1, ';');
    }
    result += line + '\n';
  }
  return changed ? result : "";
}

constexpr char coop[] = "bwgemm_sm90_bf16_kk_128x256x64_2x1_s4_coop";
constexpr char pair[] = "bwgemm_sm100_b16_256xNx64_2x1_pair";
constexpr char direct[] = "bwgemm_sm90_b16_64x64x32_direct";

const Bug bugs[] = {
    {"CoopNoProxyFence", coop, "fence.proxy.async.shared::cta;", "", every},
    {"CoopNoInitFence", coop, "fence.mbarrier_init.release.cluster;", "", every},
    {"CoopNoWarpSync", coop, "bar.warp.sync", "", every},
    {"CoopNoWgmmaFence", coop, "wgmma.fence.sync.aligned;", "", every},
    {"CoopReleasesSlotEarly", coop, "wgmma.wait_group.sync.aligned 1;",
     "wgmma.wait_group.sync.aligned 2;", 0},
    {"CoopReadsSumsEarly", coop, "wgmma.wait_group.sync.aligned 0;",
     "wgmma.wait_group.sync.aligned 1;", every},
    {"CoopReusesStagingEarly", coop, "cp.async.bulk.wait_group.read 1;",
     "cp.async.bulk.wait_group.read 2;", every},
    {"CoopLeavesStores", coop, "cp.async.bulk.wait_group.read 0;", "", every},
    {"CoopLeavesPeers", coop, "barrier.cluster.wait", "", 1},
    {"CoopRelaxedStagingArrival", coop, "mbarrier.arrive.release.cta.shared::cta",
     "mbarrier.arrive.relaxed.cta.shared::cta", every},
    {"CoopForgetsCommit", coop, "cp.async.bulk.commit_group;", "", every},
    {"PairNoProxyFence", pair, "fence.proxy.async.shared::cta;", "", every},
    {"PairNoInitFence", pair, "fence.mbarrier_init.release.cluster;", "", every},
    {"PairNoWaitForLoads", pair, "tcgen05.wait::ld", "", every},
    {"PairNoFenceAfter", pair, "tcgen05.fence::after_thread_sync;", "", every},
    {"PairNoFenceBefore", pair, "tcgen05.fence::before_thread_sync;", "", every},
    {"PairRelaxedStagingArrival", pair, "mbarrier.arrive.release.cta.shared::cta",
     "mbarrier.arrive.relaxed.cta.shared::cta", every},
    {"PairNoDealloc", pair, "tcgen05.dealloc", "", every},
    {"PairNoWarpSync", pair, "bar.warp.sync", "", every},
    {"PairLeavesStores", pair, "cp.async.bulk.wait_group.read 0;", "", every},
    {"PairReusesStagingEarly", pair, "cp.async.bulk.wait_group.read 1;",
     "cp.async.bulk.wait_group.read 2;", every},
    {"DirectNoBarrier0", direct, "bar.sync", "", 0},
    {"DirectNoBarrier1", direct, "bar.sync", "", 1},
    {"DirectNoBarrier2", direct, "bar.sync", "", 2},
    {"DirectNoBarrier3", direct, "bar.sync", "", 3},
    {"DirectRelaxedArrival", direct, "atom.add.acq_rel.gpu", "atom.add.relaxed.gpu", every},
    {"DirectOnlyReleases", direct, "atom.add.acq_rel.gpu", "atom.add.release.gpu", every},
    {"DirectOnlyAcquires", direct, "atom.add.acq_rel.gpu", "atom.add.acquire.gpu", every},
    {"DirectCtaScope", direct, "atom.add.acq_rel.gpu", "atom.add.acq_rel.cta", every},
};

KernelProblem problem_for(const KernelConfig& config) {
  KernelProblem problem{};
  problem.alpha = 1;
  problem.batch = 1;
  problem.clusters = config.family == Family::direct ? 4 : 1;
  problem.pad = 8;
  problem.m = config.family == Family::direct ? 100 : 300;
  problem.n = config.family == Family::direct ? 70 : 300;
  problem.k = config.family == Family::direct ? 256 : 450;
  problem.splits = config.family == Family::direct ? 3 : 1;
  problem.beta = config.family == Family::direct ? 0.0f : 1.0f;
  problem.tile_n = 128;
  return problem;
}

class KnownBug : public testing::TestWithParam<Bug> {};

TEST_P(KnownBug, IsFoundUnderEverySchedule) {
  const Bug& bug = GetParam();
  for (const KernelConfig& config : kernel_rows) {
    if (kernel_name(config).view() != bug.kernel) continue;
    const std::string file = kernel_ptx_file(bug.kernel);
    if (file.empty()) GTEST_SKIP() << "no PTX of " << bug.kernel;
    const std::string text = seeded(read_text(file), bug);
    ASSERT_FALSE(text.empty()) << "nothing to change: " << bug.search;
    const auto module = Module::parse(text, file);
    for (int seed = 1; seed <= schedules; ++seed) {
      RunOptions options;
      options.max_findings = 1;
      const auto outcome = KernelCase(config, problem_for(config))
                               .run(module, static_cast<std::uint64_t>(seed), options);
      EXPECT_FALSE(outcome.clean()) << "missed with seed " << seed;
      if (seed == 1 && !outcome.findings.empty())
        RecordProperty("finding", to_string(outcome.findings[0]));
    }
    return;
  }
  FAIL() << "no row " << bug.kernel;
}

INSTANTIATE_TEST_SUITE_P(Bugs, KnownBug, testing::ValuesIn(bugs),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace bwgemm::vgpu
