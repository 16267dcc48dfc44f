// SPDX-License-Identifier: Apache-2.0
// Where k is cut, and where the sums of splits are added.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string_view>
#include <vector>

#include "core/tiling.h"
#include "families/variants.h"
#include "problems.h"
#include "rows.h"
#include "select/candidate.h"
#include "select/select.h"

namespace bwgemm {
namespace {

using test::problem_of, test::row_named;
using ::testing::Contains, ::testing::IsSupersetOf;

constexpr std::string_view narrow = "bwgemm_sm90_b16_kk_64x16x64_s13_t_coop";

// Of an H200's groups of SMs, some lack the one or two that would make another cluster.
TEST(Splits, ResidentClusters) {
  const auto resident = [](std::string_view name) {
    return resident_clusters(nominal_h200, row_named(name));
  };
  EXPECT_EQ(resident("bwgemm_sm90_b16_kk_64x64x64_s4_o3_coop"), 3 * 132);
  EXPECT_EQ(resident("bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop"), 66);
  EXPECT_EQ(resident("bwgemm_sm90_b16_kk_64x64x64_2x2_s13_coop"), 30);
  EXPECT_EQ(resident("bwgemm_sm90_b16_kk_128x160x64_4x2_s5_t_coop"), 15);
  DeviceFacts few = nominal_h200;
  few.sm_count = 8;  // in proportion less than one
  EXPECT_EQ(resident_clusters(few, row_named("bwgemm_sm90_b16_kk_128x160x64_4x2_s5_t_coop")), 1);
}

// What the driver answered counts, of as many SMs as a call may use.
TEST(Splits, ResidentClustersThatTheDriverCounted) {
  const KernelConfig& row = row_named("bwgemm_sm100_b16_256xNx64_4x1_pair");
  DeviceFacts facts = nominal_b200;
  EXPECT_EQ(resident_clusters(facts, row), 37);
  facts.clusters.set(4, 34);
  EXPECT_EQ(resident_clusters(facts, row), 34);
  EXPECT_EQ(resident_clusters(facts, row_named("bwgemm_sm100_b16_256xNx64_2x1_pair")), 74);
  facts.sm_count = 100;
  EXPECT_EQ(resident_clusters(facts, row), 25);
  facts = nominal_h200;
  facts.clusters.set(8, 12);
  EXPECT_EQ(resident_clusters(facts, row_named("bwgemm_sm90_b16_kk_128x160x64_4x2_s5_t_coop")), 12);
}

// Tried are as many splits as there can be CTAs in clusters for all tiles, too: 17 clusters of 6
// fit an H200, but 15 of 8.
TEST(Splits, InClusters) {
  const Problem problem = problem_of(16, 1024, 8192);
  SelectOptions options;
  options.forced.kernel = narrow;
  options.workspace_bytes = 32 << 20;
  const Choice cluster = select(problem, nominal_h200, kernel_variants, options);
  EXPECT_EQ(cluster.reduction, SplitReduction::cluster);
  EXPECT_THAT(std::vector({2, 4, 6}), Contains(cluster.splits));
  const KernelConfig& row = row_named(narrow);
  const Splits tried = splits_to_try(seen_by(row, problem), nominal_h200, row, 32 << 20, 0);
  EXPECT_THAT(std::vector(tried.number, tried.number + tried.count), IsSupersetOf({1, 2, 4, 6, 8}));
  options.forced.reduction = SplitReduction::workspace;
  EXPECT_EQ(select(problem, nominal_h200, kernel_variants, options).reduction,
            SplitReduction::workspace);
  options.forced.reduction = SplitReduction::cluster;
  options.forced.splits = 8;
  EXPECT_EQ(select(problem, nominal_h200, kernel_variants, options).reduction,
            SplitReduction::workspace);
  options.forced.splits = 0;
  options.workspace_bytes = 0;
  EXPECT_EQ(select(problem, nominal_h200, kernel_variants, options).splits, 1);
}

// Wide tiles, other families, and more tiles than there can be clusters are summed in memory.
TEST(Splits, WhereClustersCannotBe) {
  const auto can = [](std::string_view kernel, const Problem& problem, int splits) {
    const KernelConfig& row = row_named(kernel);
    return can_reduce_in_cluster(seen_by(row, problem), nominal_h200, row, row.tile.n, splits);
  };
  const Problem problem = problem_of(16, 1024, 8192);
  EXPECT_TRUE(can(narrow, problem, 6));
  EXPECT_FALSE(can(narrow, problem, 1));
  EXPECT_FALSE(can(narrow, problem, 8));
  EXPECT_TRUE(can(narrow, problem_of(16, 448, 8192), 16));
  EXPECT_FALSE(can(narrow, problem_of(16, 448, 8192), 17));
  EXPECT_FALSE(can(narrow, problem_of(16, 512, 8192), 16));
  EXPECT_FALSE(can("bwgemm_sm90_b16_kk_64x64x64_s13_coop", problem, 2));
  EXPECT_FALSE(can("bwgemm_sm90_b16_8x16x1024_dot", problem, 2));
}

}  // namespace
}  // namespace bwgemm
