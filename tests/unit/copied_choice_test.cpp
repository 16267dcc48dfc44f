// SPDX-License-Identifier: Apache-2.0
// When operands are copied in front of the product: if that saves enough, if it is forced, if an
// algo says so; and never without room for the copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <string>

#include "core/error.h"
#include "families/registry.h"
#include "families/variants.h"
#include "problems.h"
#include "rows.h"
#include "rules/copies.h"
#include "select/algos.h"
#include "select/candidate.h"
#include "support/error_of.h"

namespace bwgemm {
namespace {

// With multiprocessors of which no times correct the predictions that are compared here.
constexpr DeviceFacts hopper = [] {
  DeviceFacts facts = nominal_h200;
  facts.sm_count = 131;
  return facts;
}();

using test::big_kk, test::error_of, test::in_odd_lines, test::kk, test::kn, test::mn,
    test::problem_of, test::row_named;
using ::testing::HasSubstr, ::testing::Not;

constexpr std::size_t workspace = std::size_t{32} << 20;
// Of the time in place that a product with copies may take to be chosen: that of select.cpp.
constexpr double needed_part = 0.95;

// Copies of it fit the workspace, and save much.
Problem large() {
  return in_odd_lines(2039, 2053, 2063);
}

Problem aligned() {
  return problem_of(2048, 2048, 2048);
}

Choice chosen(const Problem& problem, const DeviceFacts& facts = hopper,
              SelectOptions options = {.workspace_bytes = workspace}) {
  return select(problem, facts, kernel_variants, options);
}

Choice forced(const Problem& problem, Operands operands, const DeviceFacts& facts = hopper,
              std::size_t workspace_bytes = workspace) {
  return chosen(problem, facts,
                {.forced = {.operands = operands}, .workspace_bytes = workspace_bytes});
}

const KernelConfig& row_of(const Choice& choice) {
  return kernel_variants[static_cast<std::size_t>(choice.variant)];
}

std::size_t bytes_of(const Problem& problem, const Choice& choice) {
  return workspace_bytes(problem, row_of(choice), choice);
}

TEST(CopiedChoice, WhereItSavesEnough) {
  for (const DeviceFacts& facts : {hopper, nominal_b200}) {
    const Choice choice = chosen(large(), facts);
    EXPECT_EQ(choice.operands, facts == nominal_b200 ? Operands::copied_b : Operands::copied);
    EXPECT_EQ(choice, forced(large(), choice.operands, facts));
    EXPECT_LT(choice.predicted_us,
              needed_part * forced(large(), Operands::in_place, facts).predicted_us);
    EXPECT_EQ(chosen(aligned(), facts).operands, Operands::in_place);
    EXPECT_EQ(chosen(in_odd_lines(61, 35, 77), facts).operands, Operands::in_place);
  }
}

// Whatever the problem.
TEST(CopiedChoice, ExactlyWhereItSavesEnough) {
  std::mt19937 random(20261124);
  const auto extent = [&](int most_log2) {
    return std::uniform_int_distribution<std::int64_t>(
        1, std::int64_t{1} << std::uniform_int_distribution(3, most_log2)(random))(random);
  };
  int copied = 0, in_place = 0;
  for (int i = 0; i < 200; ++i) {
    const auto bits = random();
    Problem problem =
        in_odd_lines(extent(12), extent(12), extent(13), {(bits & 1) != 0, (bits & 2) != 0});
    if ((bits & 12) == 0) problem.a = problem_of(problem.m, problem.n, problem.k).a;
    if ((bits & 16) != 0) problem.d.ld = problem.c.ld = (problem.n + 7) / 8 * 8;
    for (const DeviceFacts& facts : {hopper, nominal_b200}) {
      Choice best = forced(problem, Operands::in_place, facts);
      EXPECT_EQ(best.operands, Operands::in_place);
      double least = needed_part * best.predicted_us;
      for (const Operands operands : {Operands::copied, Operands::copied_a, Operands::copied_b}) {
        const Choice copy = forced(problem, operands, facts);
        const bool can_copy = division_of(problem, operands, workspace).has_value();
        EXPECT_EQ(copy.operands, can_copy ? operands : Operands::in_place);
        if (!can_copy || copy.predicted_us >= least) continue;
        best = copy;
        least = copy.predicted_us;
      }
      EXPECT_EQ(chosen(problem, facts), best)
          << problem.m << " x " << problem.n << " x " << problem.k << ": best with operands "
          << name(best.operands);
      (best.operands == Operands::in_place ? in_place : copied) += 1;
    }
  }
  EXPECT_GT(copied, 40);
  EXPECT_GT(in_place, 50);
}

TEST(CopiedChoice, TakesTheWorkspaceFirst) {
  const Problem problem = in_odd_lines(300, 300, 8191);
  const std::size_t copies = copies_of(problem).bytes();
  SelectOptions options{
      .forced = {.reduction = SplitReduction::workspace, .operands = Operands::copied},
      .workspace_bytes = workspace};
  const Choice much = chosen(problem, hopper, options);
  EXPECT_EQ(much.operands, Operands::copied);
  ASSERT_GT(much.splits, 1);
  Choice in_place = much;
  in_place.operands = Operands::in_place;
  const std::size_t splits = bytes_of(with_copies(problem, copies_of(problem)), in_place);
  EXPECT_GT(splits, 0u);
  EXPECT_EQ(bytes_of(problem, much), copies + splits);

  options.workspace_bytes = copies + splits;
  EXPECT_EQ(chosen(problem, hopper, options), much);
  for (const std::size_t bytes : {copies + splits - 1, copies}) {
    options.workspace_bytes = bytes;
    const Choice less = chosen(problem, hopper, options);
    EXPECT_EQ(less.operands, Operands::copied);
    EXPECT_LE(bytes_of(problem, less), bytes);
  }
  for (const std::size_t bytes : {copies - 1, std::size_t{0}}) {
    EXPECT_EQ(forced(problem, Operands::copied, hopper, bytes),
              forced(problem, Operands::in_place, hopper, bytes));
    EXPECT_NE(chosen(problem, hopper, {.workspace_bytes = bytes}).operands, Operands::copied);
  }
}

// Where copies are no choice, forcing them changes nothing.
TEST(CopiedChoice, IsForcedWherePossible) {
  const Problem small = in_odd_lines(61, 35, 77);
  EXPECT_EQ(forced(small, Operands::copied).operands, Operands::copied);
  EXPECT_EQ(forced(large(), Operands::in_place).operands, Operands::in_place);
  EXPECT_EQ(forced(aligned(), Operands::copied), chosen(aligned()));
  Problem scaling = large();
  scaling.alpha.value = 0;
  EXPECT_EQ(forced(scaling, Operands::copied), chosen(scaling));
  EXPECT_EQ(chosen(scaling).operands, Operands::in_place);
}

TEST(CopiedChoice, OfAForcedKernelOnlyIfForcedToo) {
  const Problem problem = in_odd_lines(2039, 2048, 2063);
  for (const std::string_view kernel :
       {big_kk, std::string_view("bwgemm_sm90_b16_64x64x32_direct")}) {
    SelectOptions options{.forced = {.kernel = kernel}, .workspace_bytes = workspace};
    const KernelConfig& row = row_named(kernel);
    EXPECT_EQ(can_serve(problem, hopper, kernel_variants, options),
              rejects(problem, hopper, row) == nullptr);
    if (can_serve(problem, hopper, kernel_variants, options)) {
      EXPECT_EQ(chosen(problem, hopper, options).operands, Operands::in_place);
    }
    options.forced.operands = Operands::copied;
    const Choice copied = chosen(problem, hopper, options);
    EXPECT_EQ(row_of(copied), row);
    EXPECT_EQ(copied.operands, Operands::copied);
    EXPECT_GE(bytes_of(problem, copied), copies_of(problem).bytes());
    options.workspace_bytes = 0;
    EXPECT_EQ(can_serve(problem, hopper, kernel_variants, options),
              rejects(problem, hopper, row) == nullptr);
  }
}

TEST(CopiedChoice, IsBatchInvariantToo) {
  for (const DeviceFacts& facts : {hopper, nominal_b200})
    for (const Problem& problem : {large(), in_odd_lines(300, 300, 8191, mn)}) {
      const Choice choice =
          chosen(problem, facts, {.batch_invariant = true, .workspace_bytes = workspace});
      EXPECT_NE(choice.operands, Operands::in_place);
      EXPECT_EQ(choice.splits, 1);
      const Problem source = with_copies(problem, copies_of(problem, choice.operands));
      EXPECT_EQ(batch_invariance_rejects(source, row_of(choice)), nullptr);
    }
}

TEST(CopiedChoice, CountsThatFewMultiprocessorsCopySlowly) {
  const auto us = [](int target) {
    return chosen(large(), hopper,
                  {.forced = {.operands = Operands::copied},
                   .sm_count_target = target,
                   .workspace_bytes = workspace})
        .predicted_us;
  };
  EXPECT_GT(us(8), us(64));
  EXPECT_GT(us(64), us(0));
}

TEST(CopiedChoice, IsExplained) {
  const auto report = [](const Problem& problem, SelectOptions options) {
    return explain(problem, hopper, kernel_variants, options);
  };
  const auto line = [](const Problem& problem, const std::string& operands) {
    return "\ncopied     " + operands + " first, " + std::to_string(copies_of(problem).bytes()) +
           " bytes of workspace\n";
  };
  const SelectOptions options{.forced = {.operands = Operands::copied},
                              .workspace_bytes = workspace};
  Problem only_a = large(), only_b = large();
  only_a.b.ld = only_b.a.ld = 2064;
  EXPECT_THAT(report(large(), options), HasSubstr(line(large(), "A and B")));
  EXPECT_THAT(report(large(), {.workspace_bytes = workspace}), HasSubstr(line(large(), "A and B")));
  EXPECT_THAT(report(only_a, options), HasSubstr(line(only_a, "A")));
  EXPECT_THAT(report(only_b, options), HasSubstr(line(only_b, "B")));
  EXPECT_THAT(report(large(), options), HasSubstr(" with operands copied\n"));
  EXPECT_THAT(report(large(), {}), Not(HasSubstr("cop")));
  EXPECT_THAT(report(aligned(), options), Not(HasSubstr("cop")));
}

TEST(CopiedChoice, IsAmongTheAlgos) {
  for (const DeviceFacts& facts : {hopper, nominal_b200}) {
    const auto listed = [&](SelectOptions options) {
      return algos(large(), facts, kernel_variants, options);
    };
    const std::vector<Algo> all = listed({.workspace_bytes = workspace});
    EXPECT_EQ(
        listed({.forced = {.operands = Operands::in_place}, .workspace_bytes = workspace}).size(),
        all.size())
        << "what is forced does not matter";
    const std::size_t copies = copies_of(large()).bytes();
    std::map<Operands, int> listed_so;
    for (const Algo& algo : all) {
      ++listed_so[algo.recipe.operands];
      EXPECT_GE(algo.workspace_bytes, copies_of(large(), algo.recipe.operands).bytes());
      std::set<std::int64_t> numbers;
      for (const Operands operands : all_operands) {
        Recipe other = algo.recipe;
        other.operands = operands;
        EXPECT_TRUE(numbers.insert(packed(other)).second);
        EXPECT_EQ(unpacked(packed(other)), other);
      }
    }
    EXPECT_EQ(listed_so.size(), all_operands.size());
    EXPECT_GT(listed_so[Operands::copied], listed_so[Operands::in_place])
        << "copies serve more kernels";
    for (const Algo& algo : listed({.workspace_bytes = copies - 1}))
      EXPECT_NE(algo.recipe.operands, Operands::copied);
  }
}

TEST(CopiedPicks, AreTheChoiceThatTheyComeFrom) {
  for (const DeviceFacts& facts : {hopper, nominal_b200})
    for (const Problem& problem : {large(), in_odd_lines(300, 300, 8191), aligned()})
      for (const Operands operands : all_operands) {
        const Choice choice = forced(problem, operands, facts);
        const SelectOptions options{.pick = recipe_of(choice),
                                    .forced = {.operands = Operands::in_place},
                                    .workspace_bytes = bytes_of(problem, choice)};
        EXPECT_TRUE(can_serve(problem, facts, kernel_variants, options));
        EXPECT_EQ(chosen(problem, facts, options), choice);
      }
}

TEST(CopiedPicks, ThatCannotServeSayWhy) {
  const auto refusal = [](const Problem& problem, std::size_t workspace_bytes,
                          const Choice& of = chosen(large())) {
    const SelectOptions options{.pick = recipe_of(of), .workspace_bytes = workspace_bytes};
    EXPECT_FALSE(can_serve(problem, hopper, kernel_variants, options));
    EXPECT_THAT(explain(problem, hopper, kernel_variants, options),
                HasSubstr("is picked and cannot serve"));
    const Error error = error_of<Error>([&] { chosen(problem, hopper, options); });
    EXPECT_EQ(error.status(), BWGEMM_STATUS_NOT_SUPPORTED);
    return std::string(error.what());
  };
  EXPECT_THAT(refusal(aligned(), workspace), HasSubstr("it copies operands, but none"));
  EXPECT_THAT(refusal(large(), copies_of(large()).bytes() - 1),
              HasSubstr("its copies of operands need more workspace than the call may use"));
  EXPECT_THAT(refusal(in_odd_lines(2039, 2053, 2063, mn), workspace), HasSubstr("contiguous"));
  const Problem deep = in_odd_lines(300, 300, 8191);
  const Choice split = forced(deep, Operands::copied);
  EXPECT_THAT(refusal(deep, bytes_of(deep, split) - 1, split), HasSubstr("its splits of k need"));
  Problem scaling = large();
  scaling.alpha.value = 0;
  EXPECT_EQ(chosen(scaling, hopper, {.pick = recipe_of(chosen(large()))}), chosen(scaling))
      << "nothing is multiplied";
}

}  // namespace
}  // namespace bwgemm
