// SPDX-License-Identifier: Apache-2.0
// The library's kernels, every code class of them, on small problems: right bits and no findings
// under adversarial schedules, or one of them (BWGEMM_TEST_SCALE=small). Skipped where the build
// made no PTX.
#include <cstdlib>
#include <gtest/gtest.h>
#include <string_view>

#include "kernels_on_vgpu/kernel_case.h"

namespace bwgemm::vgpu {
namespace {

std::shared_ptr<const Module> module_of(const KernelConfig& config) {
  const std::string file = kernel_ptx_file(kernel_name(config).c_str());
  return file.empty() ? nullptr : Module::parse(read_text(file), file);
}

// The row with this name's ending; fails the test if there is none.
KernelConfig row(std::string_view name) {
  for (const KernelConfig& config : kernel_variants)
    if (kernel_name(config).view() == name) return config;
  ADD_FAILURE() << "no row " << name;
  return kernel_variants[0];
}

// How many schedules of this many are wanted.
int wanted_of(int seeds) {
  const char* scale = std::getenv("BWGEMM_TEST_SCALE");
  return scale != nullptr && std::string_view(scale) == "small" ? 1 : seeds;
}

void run_all(const char* name, const std::vector<KernelProblem>& problems, int most_seeds) {
  const int seeds = wanted_of(most_seeds);
  const KernelConfig config = row(name);
  const auto module = module_of(config);
  if (!module) GTEST_SKIP() << "no PTX of " << name;
  for (const KernelProblem& problem : problems)
    for (int seed = 1; seed <= seeds; ++seed) {
      const auto outcome =
          KernelCase(config, problem).run(module, static_cast<std::uint64_t>(seed));
      for (const Finding& finding : outcome.findings) ADD_FAILURE() << to_string(finding);
      EXPECT_EQ(outcome.wrong_bytes, 0u)
          << problem.m << "x" << problem.n << "x" << problem.k << " seed " << seed;
      if (testing::Test::HasFailure()) return;
    }
}

KernelProblem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  KernelProblem result;
  result.m = m;
  result.n = n;
  result.k = k;
  return result;
}

std::vector<KernelProblem> tma_problems() {
  std::vector<KernelProblem> problems{problem(333, 413, 205), problem(130, 258, 1),
                                      problem(200, 136, 720), problem(300, 100, 130),
                                      problem(260, 300, 0)};
  problems[0].beta = 1.5f;
  problems[0].alpha = -0.5f;
  problems[0].device_scalars = true;
  problems[1].f32_output = true;
  problems[3].batch = 3;
  problems[3].in_place = true;
  problems[3].beta = 1.5f;
  problems[4].beta = 0.5f;
  return problems;
}

std::vector<KernelProblem> of_f16(std::vector<KernelProblem> problems) {
  for (KernelProblem& problem : problems) problem.input = Dtype::f16;
  return problems;
}

TEST(Kernels, CooperativePair) {
  run_all("bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop", tma_problems(), 3);
}
TEST(Kernels, CooperativeMnMajor) {
  run_all("bwgemm_sm90_b16_mn_128x64x64_s8_coop", of_f16(tma_problems()), 2);
}

// Splits of k: fewer, as many and more than clusters, with and without C, some of them empty, and
// none that has a product.
std::vector<KernelProblem> split_problems() {
  std::vector<KernelProblem> problems{problem(137, 261, 448), problem(119, 125, 320),
                                      problem(130, 60, 320), problem(63, 189, 579)};
  problems[0].splits = problems[0].clusters = 3;
  problems[1].splits = problems[1].clusters = 4;
  problems[1].beta = 1.5f;
  problems[1].f32_output = true;
  problems[1].in_place = true;
  problems[2].splits = 2;
  problems[2].alpha = 0;
  problems[2].beta = 2;
  problems[2].device_scalars = true;
  problems[3].splits = 5;
  problems[3].clusters = 1;
  problems[3].batch = 2;
  return problems;
}

std::vector<KernelProblem> tma_and_split_problems() {
  std::vector<KernelProblem> problems = tma_problems();
  for (const KernelProblem& split : split_problems()) problems.push_back(split);
  return problems;
}

TEST(Kernels, CooperativeSplit) {
  run_all("bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop", split_problems(), 2);
}
TEST(Kernels, CooperativeThreeWarpgroups) {
  run_all("bwgemm_sm90_b16_kn_192x128x64_s5_coop", of_f16(tma_and_split_problems()), 1);
}
TEST(Kernels, CooperativeOneWarpgroup) {
  run_all("bwgemm_sm90_b16_kk_64x128x64_s8_coop", tma_and_split_problems(), 1);
}
TEST(Kernels, CooperativeSharingAMultiprocessor) {
  run_all("bwgemm_sm90_b16_kk_64x128x64_s4_o2_coop", tma_and_split_problems(), 1);
  run_all("bwgemm_sm90_b16_mn_64x64x64_s4_o3_coop", tma_and_split_problems(), 1);
}
TEST(Kernels, CooperativeColumns) {
  run_all("bwgemm_sm90_b16_kk_64x16x64_s13_t_coop", tma_and_split_problems(), 1);
  run_all("bwgemm_sm90_b16_mn_128x128x64_s6_t_coop", of_f16(tma_and_split_problems()), 2);
}

// Clusters that share both operands and stick out of D in both directions: CTAs that need nothing
// for their own sums keep step with the others all the same, round after round of the ring.
TEST(Kernels, CooperativeClustersInTwoDirections) {
  const auto run_cluster = [](const char* name, Dtype input) {
    const KernelConfig config = row(name);
    const int rows = config.tile.m * config.cluster.m, columns = config.tile.n * config.cluster.n;
    const int ring = 64 * config.stages;
    const int some_rows = config.cluster.m == 1 ? rows - 3 : rows - config.tile.m;
    std::vector<KernelProblem> problems{problem(config.tile.m - 3, config.tile.n - 5, 3 * ring),
                                        problem(some_rows, columns + 9, 2 * ring + 55),
                                        problem(rows + 1, 7, 130),
                                        problem(config.tile.m, config.tile.n / config.cluster.m,
                                                ring + 130)};  // zeros in whole boxes
    problems[1].beta = 1.5f;
    problems[1].splits = 2;
    problems[1].clusters = 2;
    problems[2].batch = 2;
    for (KernelProblem& one : problems) one.input = input;
    run_all(name, {problems[0]}, 8);  // without loads of zeros the fourth finds a race
    run_all(name, {problems[1], problems[2], problems[3]}, 2);
  };
  run_cluster("bwgemm_sm90_b16_kk_128x160x64_4x2_s5_t_coop", Dtype::bf16);
  run_cluster("bwgemm_sm90_b16_mk_128x160x64_4x2_s5_t_coop", Dtype::f16);
  run_cluster("bwgemm_sm90_b16_mn_128x128x64_2x2_s6_coop", Dtype::f16);
  run_cluster("bwgemm_sm90_b16_kk_64x64x64_2x2_s13_coop", Dtype::bf16);
  run_cluster("bwgemm_sm90_b16_kk_64x96x64_4x1_s10_coop", Dtype::f16);
  run_cluster("bwgemm_sm90_b16_kn_128x64x64_1x4_s8_coop", Dtype::bf16);
  // Swap-AB in a cluster, with the registers of two CTAs a multiprocessor.
  run_cluster("bwgemm_sm90_b16_kk_128x16x64_2x1_s5_t_o2_coop", Dtype::bf16);
  // Parts of B that are rows of k of its only chunk, whose rows have 128, 64 and 32 bytes.
  run_cluster("bwgemm_sm90_b16_kn_64x64x64_4x1_s13_coop", Dtype::bf16);
  run_cluster("bwgemm_sm90_b16_kn_128x32x64_4x1_s10_coop", Dtype::f16);
  run_cluster("bwgemm_sm90_b16_kn_64x16x64_4x1_s13_t_coop", Dtype::bf16);
}

// Ping-pong in clusters: the CTAs release each slot for the next tile, which the other warpgroup
// multiplies. In one problem a cluster has five tiles for two warpgroups. Some CTAs are outside D.
TEST(Kernels, CooperativeClustersThatTakeTurns) {
  for (const char* name : {"bwgemm_sm90_b16_kk_64x256x64_1x4_s4_pp_coop",
                           "bwgemm_sm90_b16_mn_64x256x64_1x4_s4_pp_coop",
                           "bwgemm_sm90_b16_kk_128x128x64_1x4_s6_pp_coop",
                           "bwgemm_sm90_b16_kn_128x128x64_2x1_s6_pp_coop"}) {
    const KernelConfig config = row(name);
    const int rows = config.tile.m * config.cluster.m, ring = 64 * config.stages;
    std::vector<KernelProblem> problems{problem(5 * rows - 3, config.tile.n + 9, 130),
                                        problem(3 * rows, config.tile.n - 5, ring + 190)};
    problems[0].beta = 1.5f;
    problems[0].clusters = 1;
    problems[1].clusters = 2;
    run_all(name, problems, 4);
  }
}

// Splits of k that are the CTAs of a cluster: two to sixteen, some of them empty, with and without
// C, and none that has a product.
TEST(Kernels, CooperativeClustersOfSplits) {
  const auto run_clusters = [](const char* name, int most, Dtype input) {
    const KernelConfig config = row(name);
    std::vector<KernelProblem> problems{
        problem(config.tile.m + 1, config.tile.n - 7, 64 * 2 * most - 3),
        problem(config.tile.m, config.tile.n + 9, 64 * 9), problem(2, 3, 64 * (most - 1) - 5),
        problem(30, config.tile.n, 640),
        problem(config.tile.m + 5, config.tile.n, 64 * 2 * (config.stages + 1))};
    for (KernelProblem& one : problems) {
      one.reduces_in_cluster = true;
      one.splits = most;
      one.clusters = 2;
      one.input = input;
    }
    problems[1].splits = 2;
    problems[1].beta = 1.5f;
    problems[1].f32_output = true;
    problems[1].in_place = true;
    problems[2].batch = 2;
    problems[4].splits = 2;  // each fills the ring
    problems[3].batch = 2;
    problems[3].alpha = 0;
    problems[3].beta = 2;
    problems[3].device_scalars = true;
    run_all(name, problems, 3);
  };
  run_clusters("bwgemm_sm90_b16_kk_64x16x64_s13_t_coop", 16, Dtype::bf16);
  run_clusters("bwgemm_sm90_b16_mn_64x32x64_s18_coop", 8, Dtype::f16);
  run_clusters("bwgemm_sm90_b16_kk_64x32x64_s18_coop", 5, Dtype::bf16);
  run_clusters("bwgemm_sm90_b16_kn_128x32x64_s8_t_coop", 2, Dtype::f16);
}

TEST(Kernels, TensorPair) {
  std::vector<KernelProblem> problems = tma_problems();
  problems[1].tile_n = 64;
  problems[2].tile_n = 128;
  problems[2].b = Major::mn;
  problems[2].input = Dtype::f16;
  problems[3].a = Major::mn;
  run_all("bwgemm_sm100_b16_256xNx64_2x1_pair", problems, 3);
}

// Lines of A and B that only threads can load, of every majority.
TEST(Kernels, TensorSingleWithLoaders) {
  std::vector<KernelProblem> problems{problem(200, 300, 205), problem(130, 100, 65),
                                      problem(100, 170, 450), problem(150, 70, 70),
                                      problem(140, 90, 0)};
  for (KernelProblem& one : problems) one.pad = 3;
  problems[0].beta = 1.5f;
  problems[1].tile_n = 96;
  problems[1].a = Major::mn;
  problems[1].batch = 3;
  problems[2].tile_n = 128;
  problems[2].b = Major::mn;
  problems[2].input = Dtype::f16;
  problems[3].a = problems[3].b = Major::mn;
  problems[3].tile_n = 64;
  problems[3].f32_output = true;
  problems[4].beta = 0.5f;
  run_all("bwgemm_sm100_b16_128xNx64_u_single", problems, 3);
}

TEST(Kernels, Direct) {
  std::vector<KernelProblem> problems{problem(70, 130, 75), problem(65, 33, 200),
                                      problem(64, 64, 512), problem(33, 70, 40),
                                      problem(67, 69, 70),  problem(69, 67, 100)};
  problems[0].pad = 1;
  problems[0].beta = 2;
  problems[1].a = Major::mn;
  problems[1].input = Dtype::f16;
  problems[1].splits = 3;
  problems[1].clusters = 6;
  problems[2].splits = 4;
  problems[2].b = Major::mn;
  problems[2].clusters = 4;
  problems[3].f32_output = true;
  problems[3].batch = 2;
  problems[4].a = problems[4].b = Major::mn;
  problems[4].pad = 1;  // single elements
  problems[5].a = problems[5].b = Major::mn;
  problems[5].pad = 2;  // pairs
  run_all("bwgemm_sm90_b16_64x64x32_direct", problems, 3);
  if (!testing::Test::IsSkipped()) run_all("bwgemm_sm100_b16_64x64x32_direct", problems, 1);
}

// C and D of the other 16-bit type than A and B, in each way that a family stores D.
TEST(Kernels, OutputOfAnotherTypeThanTheInputs) {
  for (const char* name :
       {"bwgemm_sm90_b16_kk_128x128x64_s6_coop", "bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop",
        "bwgemm_sm90_b16_kk_64x16x64_s13_t_coop", "bwgemm_sm90_b16_kk_128x128x64_s6_t_coop",
        "bwgemm_sm90_b16_64x64x32_direct", "bwgemm_sm100_b16_256xNx64_2x1_pair",
        "bwgemm_sm100_b16_128xNx64_t_single", "bwgemm_sm100_b16_128xNx64_u_single"}) {
    std::vector<KernelProblem> problems{problem(72, 136, 75), problem(72, 136, 75)};
    problems[0].output16 = Dtype::f16;
    problems[1].input = Dtype::f16;
    problems[1].output16 = Dtype::bf16;
    problems[1].beta = 1.5f;
    for (KernelProblem& one : problems) {
      one.tile_n = 64;
      if (row(name).store == Store::elements) one.pad = 3;
    }
    run_all(name, problems, 1);
    if (testing::Test::IsSkipped()) return;
  }
}

}  // namespace
}  // namespace bwgemm::vgpu
