// SPDX-License-Identifier: Apache-2.0
// Known bugs: synchronisation mistakes seeded into the PTX of the library's kernels. Each must be
// found under every one of ten schedules. A bug names its instructions by opcode and role, not by
// text; where none is left, its test fails. Skipped where the build made no PTX.
#include <gtest/gtest.h>

#include "kernels_on_vgpu/kernel_case.h"
#include "vgpu/ptx/ptx_roles.h"
#include "vgpu/ptx/ptx_text.h"

namespace bwgemm::vgpu {
namespace {

constexpr int schedules = 10;

// ---- what is done to an instruction; an empty string: it does not apply ------------------------

using Edit = std::string (*)(const PtxLine&);

std::string rebuilt(const PtxLine& line, const std::string& opcode, const std::string& operands) {
  return line.guard + opcode + ' ' + operands + ';';
}

std::string removed(const PtxLine&) {
  return ";";
}

std::string with_opcode_part(const PtxLine& line, std::string_view from, std::string_view to) {
  const std::size_t at = line.opcode.find(from);
  if (at == std::string::npos) return "";
  std::string opcode = line.opcode;
  return rebuilt(line, opcode.replace(at, from.size(), to), line.operands);
}

std::string relaxed(const PtxLine& line) {
  const std::string acq_rel = with_opcode_part(line, ".acq_rel.", ".relaxed.");
  return acq_rel.empty() ? with_opcode_part(line, ".release.", ".relaxed.") : acq_rel;
}
std::string only_releases(const PtxLine& line) {
  return with_opcode_part(line, ".acq_rel.", ".release.");
}
std::string only_acquires(const PtxLine& line) {
  return with_opcode_part(line, ".acq_rel.", ".acquire.");
}
std::string only_in_the_cta(const PtxLine& line) {
  return with_opcode_part(line, ".gpu", ".cta");
}

// A wait that does not wait.
std::string passes(const PtxLine& line) {
  return rebuilt(line, "setp.eq.u32", split_operands(line.operands).at(0) + ", 0, 0");
}

// Computes the last operand anew before the instruction.
std::string with_last_operand(const PtxLine& line, const std::string& operation) {
  std::vector<std::string> operands = split_operands(line.operands);
  std::string text = "{ .reg .b32 seeded; " + operation.substr(0, operation.find('?')) +
                     operands.back() + operation.substr(operation.find('?') + 1) + "; ";
  operands.back() = "seeded";
  std::string joined;
  for (const std::string& operand : operands)
    joined.append(joined.empty() ? "" : ", ").append(operand);
  return text + rebuilt(line, line.opcode, joined) + " }";
}
std::string other_parity(const PtxLine& line) {
  return with_last_operand(line, "xor.b32 seeded, ?, 1");
}
std::string fewer_bytes(const PtxLine& line) {
  return with_last_operand(line, "sub.u32 seeded, ?, 1024");
}
std::string half_the_bytes(const PtxLine& line) {
  return with_last_operand(line, "shr.u32 seeded, ?, 1");
}

// Of the barriers around an allocation: the cluster meets at the one of the CTA, behind it.
std::string meets_later(const PtxLine& line) {
  if (line.opcode.starts_with("barrier.cluster")) return ";";
  if (!line.opcode.starts_with("bar.sync")) return "";
  return "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned; " +
         rebuilt(line, line.opcode, line.operands);
}

// Of a multicast: one CTA instead of both.
std::string only_rank_0(const PtxLine& line) {
  const std::size_t comma = line.operands.rfind(',');
  return rebuilt(line, line.opcode, line.operands.substr(0, comma) + ", 1");
}

std::string one_more_pending(const PtxLine& line) {
  return rebuilt(line, line.opcode, std::to_string(std::stoi(line.operands) + 1));
}

// Whether a wait for products is one of the main loop, where those of the last block may be
// pending.
bool is_in_main_loop(const PtxLine& line) {
  return line.operands.starts_with("1");
}
std::string removed_in_main_loop(const PtxLine& line) {
  return is_in_main_loop(line) ? removed(line) : "";
}
std::string one_more_in_main_loop(const PtxLine& line) {
  return is_in_main_loop(line) ? one_more_pending(line) : "";
}
std::string one_more_behind_it(const PtxLine& line) {
  return is_in_main_loop(line) ? "" : one_more_pending(line);
}

// A commit that does not wait for what it commits.
std::string arrives_at_once(const PtxLine& line) {
  return rebuilt(line, "mbarrier.arrive.shared::cta.b64",
                 "_, " + split_operands(line.operands).at(0));
}

// In the constant part of a matrix descriptor: rows of the second group where the first lie.
std::string wrong_stride(const PtxLine& line) {
  constexpr std::uint64_t stride = std::uint64_t{1024 / 16} << 32;
  constexpr std::uint64_t mask = std::uint64_t{0x3fff} << 32, kind = std::uint64_t{3} << 61;
  const std::vector<std::string> operands = split_operands(line.operands);
  if (operands.empty()) return "";
  const std::string& constant = operands.back();
  constexpr std::size_t least_digits = 11;  // of 2^36
  if (constant.size() < least_digits ||
      constant.find_first_not_of("0123456789") != std::string::npos)
    return "";
  const std::uint64_t value = std::stoull(constant);
  if ((value & mask) != stride || (value & kind) == 0) return "";
  const std::size_t at = line.operands.rfind(constant);
  return rebuilt(line, line.opcode, line.operands.substr(0, at) + std::to_string(value - stride));
}

// ---- the bugs ----------------------------------------------------------------------------------

enum class Kernel { coop, splits, pair, blocks, loading, direct };

// Of the instructions that match, in the order of the text: the first to change, and every how
// manyeth from there. first < 0 counts from the end.
struct Which {
  int first, step;
};
constexpr Which all{0, 1}, only_first{0, 0}, only_last{-1, 0};

struct Bug {
  const char* name;
  Kernel kernel;
  const char* opcode;  // what it begins with, and parts that it contains
  const char* role;    // parts of the names of its functions
  Edit edit;
  Which which = all;
  bool reads_c = true;
};

const Bug bugs[] = {
    {"CoopWrongParity", Kernel::coop, "mbarrier.try_wait", "run_producer wait_empty", other_parity},
    {"CoopReusesSlots", Kernel::coop, "mbarrier.try_wait", "run_producer wait_empty", passes},
    {"CoopExpectsTooFewBytes", Kernel::coop, "mbarrier.arrive.expect_tx", "run_producer",
     fewer_bytes},
    {"CoopMulticastsToOne", Kernel::coop, "cp.async.bulk.tensor multicast", "run_producer",
     only_rank_0},
    {"CoopMultipliesEarly", Kernel::coop, "mbarrier.try_wait", "multiply_tile wait_full", passes},
    {"CoopNoWgmmaFence", Kernel::coop, "wgmma.fence", "", removed},
    {"CoopWrongStride", Kernel::coop, "", "", wrong_stride},
    {"CoopReleasesSlotAtIssue", Kernel::coop, "wgmma.wait_group", "multiply_tile",
     removed_in_main_loop},
    {"CoopReleasesSlotEarly", Kernel::coop, "wgmma.wait_group", "multiply_tile",
     one_more_in_main_loop},
    {"CoopReadsSumsEarly", Kernel::coop, "wgmma.wait_group", "multiply_tile", one_more_behind_it},
    {"CoopReusesStagingEarly", Kernel::coop, "cp.async.bulk.wait_group.read", "store_over_c",
     one_more_pending, only_first},
    {"CoopWritesStagingEarly", Kernel::coop, "mbarrier.try_wait", "BoxWriter wait_full", passes},
    {"CoopNoProxyFence", Kernel::coop, "fence.proxy.async", "", removed},
    {"CoopStoresEarly", Kernel::coop, "mbarrier.try_wait", "store_box", passes},
    {"CoopNoWarpSync", Kernel::coop, "bar.warp.sync", "", removed},
    {"CoopRelaxedStagingArrival", Kernel::coop, "mbarrier.arrive.release.cta", "BoxWriter",
     relaxed},
    {"CoopForgetsCommit", Kernel::coop, "cp.async.bulk.commit_group", "", removed},
    {"CoopLeavesStores", Kernel::coop, "cp.async.bulk.wait_group.read", "run_output", removed,
     only_last, false},  // with C every store is awaited anyway
    {"CoopLeavesPeers", Kernel::coop, "barrier.cluster.wait", "", removed, only_last},
    {"CoopNoInitFence", Kernel::coop, "fence.mbarrier_init", "", removed},

    {"SplitsSendEarly", Kernel::splits, "mbarrier.try_wait", "ClusterReduction send", passes},
    {"SplitsReadEarly", Kernel::splits, "mbarrier.try_wait", "ClusterReduction receive", passes},
    {"SplitsExpectTooFewBytes", Kernel::splits, "mbarrier.arrive.expect_tx", "ClusterReduction",
     fewer_bytes},
    {"SplitsDoNotMeet", Kernel::splits, "barrier.cluster.wait", "ClusterReduction", removed},

    {"PairWrongParity", Kernel::pair, "mbarrier.try_wait", "run_producer wait_empty", other_parity,
     only_first},
    {"PairReusesSlots", Kernel::pair, "mbarrier.try_wait", "run_producer wait_empty", passes,
     only_first},
    {"PairForgetsBytesOfThePeer", Kernel::pair, "mbarrier.arrive.expect_tx", "run_producer",
     half_the_bytes},
    {"PairReusesAccumulatorsEarly", Kernel::pair, "mbarrier.try_wait", "run_mma wait_for_rows",
     passes, only_first},
    {"PairMultipliesEarly", Kernel::pair, "mbarrier.try_wait", "run_mma wait_full", passes},
    {"PairNoFenceAfter", Kernel::pair, "tcgen05.fence::after_thread_sync", "", removed},
    {"PairNoFenceBefore", Kernel::pair, "tcgen05.fence::before_thread_sync", "", removed},
    {"PairWrongStride", Kernel::pair, "", "run_mma", wrong_stride},
    {"PairReleasesSlotAtIssue", Kernel::pair, "tcgen05.commit", "run_mma", arrives_at_once,
     only_first},
    {"PairCommitsToOne", Kernel::pair, "tcgen05.commit", "run_mma", only_rank_0, only_first},
    {"PairAnnouncesSumsEarly", Kernel::pair, "tcgen05.commit", "run_mma", arrives_at_once,
     only_last},
    {"PairReadsSumsEarly", Kernel::pair, "mbarrier.try_wait", "AccumulatorReader begin wait_full",
     passes},
    {"PairWritesStagingEarly", Kernel::pair, "mbarrier.try_wait", "receive wait_full", passes},
    {"PairNoWaitForLoads", Kernel::pair, "tcgen05.wait::ld", "", removed},
    {"PairNoProxyFence", Kernel::pair, "fence.proxy.async", "", removed},
    {"PairNoWarpSync", Kernel::pair, "bar.warp.sync", "", removed},
    {"PairRelaxedStagingArrival", Kernel::pair, "mbarrier.arrive.release.cta", "run_epilogue",
     relaxed},
    {"PairReusesStagingEarly", Kernel::pair, "cp.async.bulk.wait_group.read", "store_over_c",
     one_more_pending, only_first},
    {"PairLeavesStores", Kernel::pair, "cp.async.bulk.wait_group.read", "run_output", removed,
     only_last, false},
    {"PairLeavesThePeer", Kernel::pair, "barrier.cluster.wait", "", removed, only_last},
    {"PairNoDealloc", Kernel::pair, "tcgen05.dealloc", "", removed},
    {"PairMeetsBehindItsAllocation", Kernel::pair, "bar", "set_up", meets_later},
    {"PairNoInitFence", Kernel::pair, "fence.mbarrier_init", "", removed},

    {"BlocksReuseFirstRowsEarly", Kernel::blocks, "mbarrier.try_wait", "run_mma wait_for_rows",
     passes, only_first},
    {"BlocksReuseSecondRowsEarly", Kernel::blocks, "mbarrier.try_wait",
     "multiply_apart wait_for_rows", passes},
    {"BlocksAnnounceSumsEarly", Kernel::blocks, "tcgen05.commit", "run_mma", arrives_at_once,
     only_last},
    {"BlocksNoWaitForLoads", Kernel::blocks, "tcgen05.wait::ld", "", removed},
    {"BlocksNoFenceBefore", Kernel::blocks, "tcgen05.fence::before_thread_sync", "", removed},

    {"LoadersReuseSlots", Kernel::loading, "mbarrier.try_wait", "run_loader wait_empty", passes},
    {"LoadersWrongParity", Kernel::loading, "mbarrier.try_wait", "run_loader wait_empty",
     other_parity},
    {"LoadersNoProxyFence", Kernel::loading, "fence.proxy.async", "run_loader", removed},
    {"LoadersNoWarpSync", Kernel::loading, "bar.warp.sync", "run_loader", removed},
    {"LoadersRelaxedArrival", Kernel::loading, "mbarrier.arrive.release.cta", "run_loader",
     relaxed},

    {"DirectReadsSlabsEarly", Kernel::direct, "bar.sync", "multiply_copied", removed},
    {"DirectArrivesEarly", Kernel::direct, "bar.sync", "sum_splits", removed},
    {"DirectReadsStagedEarly", Kernel::direct, "bar.sync", "6direct4gemm", removed, {-2, 0}},
    {"DirectReusesStagingEarly", Kernel::direct, "bar.sync", "6direct4gemm", removed, only_last},
    {"DirectRelaxedArrival", Kernel::direct, "atom.add", "sum_splits", relaxed},
    {"DirectOnlyReleases", Kernel::direct, "atom.add", "sum_splits", only_releases},
    {"DirectOnlyAcquires", Kernel::direct, "atom.add", "sum_splits", only_acquires},
    {"DirectCtaScope", Kernel::direct, "atom.add", "sum_splits", only_in_the_cta},
};

// ---- seeding -----------------------------------------------------------------------------------

bool has_parts(const std::string& text, const char* words) {
  std::istringstream parts(words);
  for (std::string part; parts >> part;)
    if (text.find(part) == std::string::npos) return false;
  return true;
}

bool is_meant(const PtxLine& line, const Bug& bug) {
  const std::string_view opcode = bug.opcode;
  return !line.opcode.empty() && line.opcode.starts_with(opcode.substr(0, opcode.find(' '))) &&
         has_parts(line.opcode, bug.opcode) && has_parts(line.role, bug.role);
}

// The text with the bug; empty if it has nothing to change.
std::string seeded(const std::string& ptx, const Bug& bug) {
  PtxRoles text(ptx);
  std::vector<std::pair<PtxLine*, std::string>> places;
  for (PtxLine& line : text.lines()) {
    if (!is_meant(line, bug)) continue;
    std::string edited = bug.edit(line);
    if (!edited.empty()) places.emplace_back(&line, std::move(edited));
  }
  const int count = static_cast<int>(places.size());
  int at = bug.which.first < 0 ? count + bug.which.first : bug.which.first;
  if (at < 0 || at >= count) return "";
  do {
    places[static_cast<std::size_t>(at)].first->text = places[static_cast<std::size_t>(at)].second;
    at += bug.which.step;
  } while (bug.which.step > 0 && at < count);
  return text.ptx();
}

// The first row of its kind; CTAs of a cluster share an operand, or are splits.
const KernelConfig* row_of(Kernel kernel) {
  for (const KernelConfig& row : kernel_variants) {
    const bool is_plain = stores_rows_by_tma(row) && row.cluster == Cluster{2, 1};
    if (kernel == Kernel::coop && row.family == Family::cooperative && is_plain) return &row;
    if (kernel == Kernel::splits && row.family == Family::cooperative && row.tile.m == 64 &&
        sm90::parts_of(row).can_reduce_in_cluster())
      return &row;
    if (kernel == Kernel::pair && row.family == Family::pair && is_plain) return &row;
    if (kernel == Kernel::blocks && uses_tensor_memory(row) && sm100::cta_tiles(row).row_blocks > 1)
      return &row;
    if (kernel == Kernel::loading && uses_tensor_memory(row) && sm100::has_loaders(row))
      return &row;
    if (kernel == Kernel::direct && row.family == Family::direct) return &row;
  }
  return nullptr;
}

KernelProblem problem_for(const KernelConfig& config) {
  KernelProblem problem{};
  problem.alpha = 1;
  problem.batch = 1;
  problem.clusters = config.family == Family::direct ? 2 : 1;
  problem.pad = config.family == Family::single ? 3 : 8;
  problem.m = config.family == Family::direct ? 100 : 300;
  problem.n = config.family == Family::direct ? 70 : 300;
  problem.k = config.family == Family::direct ? 256 : 450;
  problem.splits = config.family == Family::direct ? 3 : 1;
  problem.beta = config.family == Family::direct ? 0.0f : 1.0f;
  problem.tile_n = 128;
  return problem;
}

// One tile, whose splits fill the ring twice.
KernelProblem splits_of(const KernelConfig& config) {
  KernelProblem problem = problem_for(config);
  problem.reduces_in_cluster = true;
  problem.splits = 3;
  problem.m = config.tile.m - 1;
  problem.n = config.tile.n - 1;
  problem.k = std::int64_t{config.tile.k} * config.stages * 2 * problem.splits;
  return problem;
}

// Without a bug nothing is found.
TEST(KnownBugs, KernelsAreCleanWithoutThem) {
  for (const Kernel kernel : {Kernel::coop, Kernel::splits, Kernel::pair, Kernel::blocks,
                              Kernel::loading, Kernel::direct}) {
    const KernelConfig* row = row_of(kernel);
    ASSERT_NE(row, nullptr);
    const std::string file = kernel_ptx_file(std::string(kernel_name(*row).view()));
    if (file.empty()) GTEST_SKIP() << "no PTX";
    const auto module = Module::parse(read_text(file), file);
    const KernelProblem problem = kernel == Kernel::splits ? splits_of(*row) : problem_for(*row);
    for (int seed = 1; seed <= 3; ++seed)
      EXPECT_TRUE(KernelCase(*row, problem).run(module, static_cast<std::uint64_t>(seed)).clean())
          << kernel_name(*row).view() << " seed " << seed;
  }
}

class KnownBug : public testing::TestWithParam<Bug> {};

TEST_P(KnownBug, IsFoundUnderEverySchedule) {
  const Bug& bug = GetParam();
  const KernelConfig* row = row_of(bug.kernel);
  ASSERT_NE(row, nullptr) << "no row of the kind that this bug is seeded into";
  const std::string kernel(kernel_name(*row).view());
  const std::string file = kernel_ptx_file(kernel);
  if (file.empty()) GTEST_SKIP() << "no PTX of " << kernel;
  const std::string text = seeded(read_text(file), bug);
  ASSERT_FALSE(text.empty()) << "nothing to change in " << kernel << ": " << bug.opcode << " of "
                             << bug.role;
  const auto module = Module::parse(text, file);
  for (int seed = 1; seed <= schedules; ++seed) {
    RunOptions options;
    options.max_findings = 1;
    KernelProblem problem = bug.kernel == Kernel::splits ? splits_of(*row) : problem_for(*row);
    if (!bug.reads_c) problem.beta = 0;
    const auto outcome =
        KernelCase(*row, problem).run(module, static_cast<std::uint64_t>(seed), options);
    EXPECT_FALSE(outcome.clean()) << "missed with seed " << seed;
    if (seed == 1)
      RecordProperty("finding",
                     outcome.findings.empty() ? "wrong result" : to_string(outcome.findings[0]));
  }
}

INSTANTIATE_TEST_SUITE_P(Bugs, KnownBug, testing::ValuesIn(bugs),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace bwgemm::vgpu
