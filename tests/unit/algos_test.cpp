// SPDX-License-Identifier: Apache-2.0
// Lists of algos, the numbers that stand for them, and what becomes of a pick.
#include "select/algos.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "core/error.h"
#include "core/tiling.h"
#include "families/variants.h"
#include "problems.h"
#include "select/shortlist.h"
#include "support/error_of.h"

namespace bwgemm {
namespace {

using test::error_of, test::kk, test::mn, test::problem_of;
using ::testing::HasSubstr;

constexpr std::size_t ample_workspace = std::size_t{32} << 20;

struct Case {
  Problem problem;
  DeviceFacts facts;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DeviceFacts& facts : {nominal_h200, nominal_b200}) {
    for (const Problem& problem :
         {problem_of(4096, 4096, 4096), problem_of(64, 128, 16384, mn), problem_of(1, 4096, 4096),
          problem_of(300, 72, 200, kk, {Dtype::f16, Dtype::f32}, 5)})
      all.push_back({problem, facts});
    Problem unaligned = problem_of(77, 99, 1234);
    unaligned.a.ld = unaligned.b.ld = 1235;
    all.push_back({unaligned, facts});
  }
  return all;
}

std::vector<Algo> algos_of(const Case& of,
                           SelectOptions options = {.workspace_bytes = ample_workspace}) {
  return algos(of.problem, of.facts, kernel_variants, options);
}

int row_of(Family family, Arch arch) {
  const auto row = std::find_if(
      kernel_variants.begin(), kernel_variants.end(),
      [&](const auto& config) { return config.family == family && config.arch == arch; });
  return static_cast<int>(row - kernel_variants.begin());
}

TEST(Algos, NumbersStandForPicks) {
  std::set<std::int64_t> numbers;
  for (const Case& of : cases())
    for (const Algo& algo : algos_of(of)) {
      EXPECT_EQ(unpacked(packed(algo.recipe)), algo.recipe);
      numbers.insert(packed(algo.recipe));
      EXPECT_GT(packed(algo.recipe), 1 << 30);
    }
  EXPECT_GT(numbers.size(), 500u);
}

TEST(Algos, OtherNumbersStandForNothing) {
  for (std::int64_t number = -10; number < 200; ++number) EXPECT_EQ(unpacked(number), std::nullopt);
  const std::int64_t number = packed({0, 256, 1});
  for (const int bit : {42, 50, 61, 62, 63})  // the table's mark
    EXPECT_EQ(unpacked(number ^ static_cast<std::int64_t>(std::uint64_t{1} << bit)), std::nullopt);
  EXPECT_EQ(unpacked(packed({static_cast<int>(kernel_variants.size()), 256, 1})), std::nullopt);
  EXPECT_EQ(unpacked(packed({0, 256, 0})), std::nullopt);
  EXPECT_EQ(unpacked(packed({0, 256, 1, static_cast<Raster>(3)})), std::nullopt);
}

TEST(Algos, AreSortedDistinctAndServe) {
  for (const Case& of : cases()) {
    const std::vector<Algo> all = algos_of(of);
    ASSERT_FALSE(all.empty());
    std::set<std::int64_t> numbers;
    double before = 0;
    const Shortlist shortlist(of.problem, of.facts, kernel_variants,
                              {.workspace_bytes = ample_workspace});
    const auto is_short = [&](const Recipe& recipe) {
      return std::ranges::any_of(shortlist.candidates(), [&](const Candidate& one) {
        return one.variant == recipe.variant && one.splits == recipe.splits &&
               one.operands == recipe.operands;
      });
    };
    if (!shortlist.empty()) {
      EXPECT_EQ(all.front().recipe.variant, shortlist.candidates().front().variant);
    }
    EXPECT_TRUE(std::ranges::is_partitioned(all, is_short, &Algo::recipe));
    for (const Algo& algo : all) {
      EXPECT_TRUE(numbers.insert(packed(algo.recipe)).second);
      if (!is_short(algo.recipe)) {
        EXPECT_GE(algo.predicted_us, before);
        before = algo.predicted_us;
      }
      const SelectOptions options{.pick = algo.recipe, .workspace_bytes = algo.workspace_bytes};
      const Choice choice = select(of.problem, of.facts, kernel_variants, options);
      EXPECT_EQ(recipe_of(choice), algo.recipe);
      EXPECT_EQ(choice.predicted_us, algo.predicted_us);
      EXPECT_EQ(workspace_bytes(of.problem,
                                kernel_variants[static_cast<std::size_t>(choice.variant)], choice),
                algo.workspace_bytes);
    }
  }
}

TEST(Algos, HoldTheChoiceAndKeepToTheSettings) {
  for (const Case& of : cases()) {
    const Choice choice =
        select(of.problem, of.facts, kernel_variants, {.workspace_bytes = ample_workspace});
    const std::vector<Algo> all = algos_of(of);
    EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                            [&](const Algo& algo) { return algo.recipe == recipe_of(choice); }));
    for (const Algo& algo : algos_of(of, {})) EXPECT_EQ(algo.workspace_bytes, 0u);
    for (const Algo& algo :
         algos_of(of, {.batch_invariant = true, .workspace_bytes = ample_workspace})) {
      EXPECT_TRUE(algo.is_batch_invariant);
      EXPECT_EQ(algo.recipe.splits, 1);
      EXPECT_NE(kernel_variants[static_cast<std::size_t>(algo.recipe.variant)].family, Family::dot);
    }
  }
}

TEST(Algos, WhatIsForcedDoesNotMatter) {
  const Case of{problem_of(512, 512, 512), nominal_h200};
  const SelectOptions forced{.pick = Recipe{0, 256, 1},
                             .forced = {.kernel = "bwgemm_sm90_b16_64x64x32_direct"},
                             .workspace_bytes = ample_workspace};
  EXPECT_EQ(algos_of(of, forced).size(), algos_of(of).size());
}

TEST(Picks, GoBeforeWhatIsForced) {
  const Problem problem = problem_of(512, 512, 512);
  const int direct = row_of(Family::direct, Arch::sm90);
  const SelectOptions options{
      .pick = Recipe{direct, 64, 1},
      .forced = {.kernel = kernel_name(kernel_variants[0]).view(), .splits = 3},
      .workspace_bytes = ample_workspace};
  const Choice choice = select(problem, nominal_h200, kernel_variants, options);
  EXPECT_EQ(choice.variant, direct);
  EXPECT_EQ(choice.splits, 1);
}

TEST(Picks, ThatCannotServeSayWhy) {
  const Problem problem = problem_of(64, 64, 16384);
  const int direct = row_of(Family::direct, Arch::sm90), dot = row_of(Family::dot, Arch::sm90);
  const auto refusal = [&](const Recipe& pick, const DeviceFacts& facts, bool invariant = false) {
    const SelectOptions options{
        .pick = pick, .batch_invariant = invariant, .workspace_bytes = std::size_t{1} << 20};
    EXPECT_FALSE(can_serve(problem, facts, kernel_variants, options));
    EXPECT_THAT(explain(problem, facts, kernel_variants, options),
                HasSubstr("is picked and cannot"));
    const Error error = error_of<Error>([&] { select(problem, facts, kernel_variants, options); });
    EXPECT_EQ(error.status(), BWGEMM_STATUS_NOT_SUPPORTED);
    return std::string(error.what());
  };
  EXPECT_THAT(refusal({direct, 64, 1}, nominal_b200), HasSubstr("the algo, bwgemm_sm90_b16"));
  EXPECT_THAT(refusal({direct, 128, 1}, nominal_h200), HasSubstr("tile_n"));
  EXPECT_THAT(refusal({direct, 64, 1, Raster::snake}, nominal_h200), HasSubstr("order of tiles"));
  EXPECT_THAT(refusal({direct, 64, 60000}, nominal_h200), HasSubstr("k cannot be split so"));
  EXPECT_THAT(refusal({direct, 64, 128}, nominal_h200), HasSubstr("more workspace"));
  EXPECT_THAT(refusal({direct, 64, 4}, nominal_h200, true), HasSubstr("not batch-invariant"));
  EXPECT_THAT(refusal({dot, 16, 1}, nominal_h200), HasSubstr("more than 8"));
}

// What a caller has tuned is not refused because a scalar is zero today.
TEST(Picks, AreIgnoredWhereNothingIsMultiplied) {
  Problem problem = problem_of(512, 512, 512);
  problem.alpha.value = 0;
  problem.beta.value = 2;
  const SelectOptions picked{.pick = Recipe{0, 256, 1}};
  EXPECT_EQ(select(problem, nominal_h200, kernel_variants, picked),
            select(problem, nominal_h200, kernel_variants, {}));
}

TEST(BatchInvariance, LeavesOutWhatAddsInAnotherOrder) {
  const auto chosen = [](const Problem& problem, const DeviceFacts& facts,
                         Operands operands = Operands::in_place) {
    const Choice choice = select(problem, facts, kernel_variants,
                                 {.batch_invariant = true,
                                  .forced = {.operands = operands},
                                  .workspace_bytes = ample_workspace});
    EXPECT_EQ(choice.splits, 1);
    return kernel_variants[static_cast<std::size_t>(choice.variant)];
  };
  for (const DeviceFacts& facts : {nominal_h200, nominal_b200}) {
    for (std::int64_t m = 1; m <= 300; m += 13)
      for (const std::int64_t k : {64, 1000, 65536})
        EXPECT_NE(chosen(problem_of(m, 4096, k), facts).family, Family::dot);
    Problem unaligned = problem_of(1000, 1000, 1000, mn);
    unaligned.a.ld = unaligned.b.ld = 1001;
    const Family in_order = facts.arch() == Arch::sm90 ? Family::direct : Family::single;
    EXPECT_EQ(chosen(unaligned, facts).family, in_order) << "others take k by classes";
    EXPECT_NE(chosen(unaligned, facts, Operands::copied).family, Family::direct) << "or its copies";
  }
  const Error error = error_of<Error>([] {
    select(problem_of(1, 4096, 4096), nominal_h200, kernel_variants,
           {.batch_invariant = true,
            .forced = {
                .kernel =
                    kernel_name(
                        kernel_variants[static_cast<std::size_t>(row_of(Family::dot, Arch::sm90))])
                        .view()}});
  });
  EXPECT_EQ(error.status(), BWGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_THAT(error.what(), HasSubstr("not batch-invariant"));
}

}  // namespace
}  // namespace bwgemm
