// SPDX-License-Identifier: Apache-2.0
// Products in parts: what is divided and how, that parts are the whole, and what selection makes of
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "core/error.h"
#include "families/variants.h"
#include "problems.h"
#include "rules/copies.h"
#include "select/algos.h"
#include "select/candidate.h"
#include "support/error_of.h"

namespace bwgemm {
namespace {

using test::error_of, test::in_odd_lines, test::kk, test::kn, test::mk, test::mn, test::problem_of;
using ::testing::HasSubstr, ::testing::Not;

constexpr std::int64_t first_lines = 256;  // of the smallest parts

std::size_t bytes_of(const Problem& problem, Operands operands) {
  return copies_of(problem, operands).bytes();
}

// What the copies of so many of the lines take.
std::size_t bytes_of_lines(Problem problem, Operands operands, std::int64_t lines) {
  (operands == Operands::copied_a ? problem.m : problem.n) = lines;
  return bytes_of(problem, operands);
}

Choice chosen(const Problem& problem, Operands operands, std::size_t workspace,
              const DeviceFacts& facts = nominal_h200) {
  return select(problem, facts, kernel_variants,
                {.forced = {.operands = operands}, .workspace_bytes = workspace});
}

TEST(Parts, AreAsFewAsTheWorkspaceAllows) {
  const Problem problem = in_odd_lines(1500, 2000, 333);
  for (const Operands operands : {Operands::copied_a, Operands::copied_b}) {
    const bool of_n = operands == Operands::copied_b;
    const auto divided = [&](std::size_t workspace) {
      return division_of(problem, operands, workspace);
    };
    const std::size_t all = bytes_of(problem, operands);
    EXPECT_EQ(divided(all), Division{});
    const std::int64_t half = of_n ? 1024 : 768;
    EXPECT_EQ(divided(all - 1), (Division{2, of_n, half}));
    const std::size_t bytes_of_half = bytes_of_lines(problem, operands, half);
    EXPECT_EQ(divided(bytes_of_half), (Division{2, of_n, half}));
    EXPECT_GT(divided(bytes_of_half - 1)->parts, 2);
    const std::size_t least = bytes_of_lines(problem, operands, first_lines);
    EXPECT_EQ(divided(least), (Division{of_n ? 8 : 6, of_n, first_lines}));
    EXPECT_EQ(divided(least - 1), std::nullopt);
    EXPECT_EQ(divided(0), std::nullopt);
  }
  EXPECT_EQ(division_of(problem, Operands::in_place, SIZE_MAX), std::nullopt);
}

TEST(Parts, AreOfTheOperandThatIsCopiedAlone) {
  Problem problem = in_odd_lines(700, 600, 333);
  EXPECT_EQ(division_of(problem, Operands::copied, bytes_of(problem, Operands::copied) - 1),
            std::nullopt)
      << "both are";
  problem.a = problem_of(700, 600, 336).a;
  const std::size_t all = bytes_of(problem, Operands::copied);
  EXPECT_EQ(division_of(problem, Operands::copied, all - 1), (Division{2, true, 512}));
  EXPECT_EQ(division_of(problem, Operands::copied_b, all), std::nullopt)
      << "one that lies alone is meant by `copied`";
  problem = in_odd_lines(700, 600, 333);
  problem.b = problem_of(700, 600, 336).b;
  EXPECT_EQ(division_of(problem, Operands::copied, bytes_of(problem, Operands::copied) - 1),
            (Division{2, false, 512}));
}

TEST(Parts, AreAtMostSoMany) {
  const Problem most = in_odd_lines(300, most_parts * first_lines, 40);
  const std::size_t least = bytes_of_lines(most, Operands::copied_b, first_lines);
  EXPECT_EQ(division_of(most, Operands::copied_b, least)->parts, most_parts);
  const Problem more = in_odd_lines(300, most_parts * first_lines + 1, 40);
  EXPECT_EQ(division_of(more, Operands::copied_b, least), std::nullopt);
}

TEST(Parts, AreNotOfBatchesGatesAndSums) {
  const auto can_divide = [](const Problem& problem) {
    return division_of(problem, Operands::copied_b, bytes_of(problem, Operands::copied_b) - 1)
        .has_value();
  };
  const Problem problem = in_odd_lines(600, 600, 333);
  EXPECT_TRUE(can_divide(problem));
  Problem batches = problem, gated = problem, summed = problem;
  batches.batch = 2;
  EXPECT_FALSE(can_divide(batches));
  gated.epilogue.gate = Gate::interleaved;
  EXPECT_FALSE(can_divide(gated));
  summed.bias_gradient = {Summed::d, true, {test::address(0x500000000)}};
  EXPECT_FALSE(can_divide(summed));
}

// Lines of fewer than 16 bytes are not copied, and each part is to have a copy.
TEST(Parts, AllHaveSomethingToCopy) {
  constexpr std::int64_t unit = 8;  // elements
  for (const std::int64_t left : {unit - 1, unit}) {
    const Problem problem = in_odd_lines(300, 2 * first_lines + left, 333, kn);
    const std::size_t half = bytes_of_lines(problem, Operands::copied_b, 2 * first_lines);
    const auto division = division_of(problem, Operands::copied_b, half);
    EXPECT_EQ(division.has_value(), left == unit);
  }
}

const std::byte* element(const Matrix& matrix, std::int64_t row, std::int64_t column) {
  const std::int64_t index =
      matrix.order == Order::row ? row * matrix.ld + column : column * matrix.ld + row;
  return static_cast<const std::byte*>(matrix.data) + index * size_bytes(matrix.type);
}

const std::byte* element(const Vector& vector, std::int64_t index) {
  return static_cast<const std::byte*>(vector.data) + index * size_bytes(vector.type);
}

// Everything that there can be, of different types and orders.
Problem with_everything(test::Majors majors) {
  Problem problem = in_odd_lines(1100, 900, 77, majors);
  problem.c = {test::address(0x400000000), Dtype::f32, Order::column, 1103, 0};
  Epilogue& epilogue = problem.epilogue;
  epilogue.aux = {test::address(0x500000000), Dtype::bf16, Order::row, 905, 0};
  epilogue.row_scale = {test::address(0x600000000), Dtype::f32};
  epilogue.column_scale = {test::address(0x700000000), Dtype::f32};
  epilogue.row_bias = {test::address(0x800000000), Dtype::bf16};
  epilogue.column_bias = {test::address(0x900000000), Dtype::bf16};
  return problem;
}

void expect_part(const Problem& whole, const Problem& part, std::int64_t row, std::int64_t column) {
  EXPECT_EQ(part.k, whole.k);
  const Epilogue &of = part.epilogue, &all = whole.epilogue;
  for (const std::int64_t i : {std::int64_t{0}, part.m - 1}) {
    EXPECT_EQ(element(of.row_scale, i), element(all.row_scale, row + i));
    EXPECT_EQ(element(of.row_bias, i), element(all.row_bias, row + i));
    EXPECT_EQ(element(part.a, i, part.k - 1), element(whole.a, row + i, part.k - 1));
    for (const std::int64_t j : {std::int64_t{0}, part.n - 1}) {
      EXPECT_EQ(element(of.column_scale, j), element(all.column_scale, column + j));
      EXPECT_EQ(element(of.column_bias, j), element(all.column_bias, column + j));
      EXPECT_EQ(element(part.b, part.k - 1, j), element(whole.b, part.k - 1, column + j));
      EXPECT_EQ(element(part.c, i, j), element(whole.c, row + i, column + j));
      EXPECT_EQ(element(part.d, i, j), element(whole.d, row + i, column + j));
      EXPECT_EQ(element(of.aux, i, j), element(all.aux, row + i, column + j));
    }
  }
}

TEST(Parts, AreTogetherTheWhole) {
  for (const test::Majors majors : {kk, kn, mk, mn}) {
    const Problem whole = with_everything(majors);
    EXPECT_EQ(part_of(whole, {}, 0), whole);
    for (const bool of_n : {false, true}) {
      const Division division{of_n ? 4 : 5, of_n, first_lines};
      std::int64_t from = 0;
      for (int i = 0; i < division.parts; ++i) {
        const Problem part = part_of(whole, division, i);
        expect_part(whole, part, of_n ? 0 : from, of_n ? from : 0);
        EXPECT_EQ(of_n ? part.m : part.n, of_n ? whole.m : whole.n);
        from += of_n ? part.n : part.m;
      }
      EXPECT_EQ(from, of_n ? whole.n : whole.m);
    }
  }
}

TEST(Parts, HaveNothingWhereTheWholeHasNothing) {
  const Problem whole = in_odd_lines(600, 600, 333);
  for (const bool of_n : {false, true})
    EXPECT_EQ(part_of(whole, {3, of_n, first_lines}, 1).epilogue, Epilogue{});
}

TEST(DividedChoice, IsOfAllParts) {
  const Problem problem = in_odd_lines(4099, 4100, 4101);
  for (const DeviceFacts& facts : {nominal_h200, nominal_b200})
    for (const Operands operands : {Operands::copied_a, Operands::copied_b}) {
      const std::size_t half = bytes_of_lines(problem, operands, 2304);
      const Choice choice = chosen(problem, operands, half, facts);
      EXPECT_EQ(choice.operands, operands);
      EXPECT_EQ(choice.division, (Division{2, operands == Operands::copied_b, 2304}));
      EXPECT_EQ(choice.splits, 1);
      const KernelConfig& row = kernel_variants[static_cast<std::size_t>(choice.variant)];
      EXPECT_EQ(workspace_bytes(problem, row, choice), half);
      const Choice whole = chosen(problem, operands, bytes_of(problem, operands), facts);
      EXPECT_EQ(whole.division, Division{});
      EXPECT_GT(choice.predicted_us, whole.predicted_us);
      EXPECT_LT(choice.predicted_us, 1.5 * whole.predicted_us);
      for (int i = 0; i < choice.division.parts; ++i) {
        const Choice of_part = select(part_of(problem, choice.division, i), facts, kernel_variants,
                                      {.pick = recipe_of(choice), .workspace_bytes = half});
        EXPECT_EQ(of_part.variant, choice.variant);
        EXPECT_EQ(of_part.tile_n, choice.tile_n);
        EXPECT_EQ(of_part.operands, operands);
        EXPECT_EQ(of_part.division, Division{});
      }
    }
}

TEST(DividedChoice, IsPickedAgain) {
  const Problem problem = in_odd_lines(600, 2000, 1333);
  const std::size_t workspace = bytes_of_lines(problem, Operands::copied_b, 768);
  const Choice choice = chosen(problem, Operands::copied_b, workspace);
  EXPECT_EQ(choice.division.parts, 3);
  const Recipe pick = recipe_of(choice);
  EXPECT_EQ(
      select(problem, nominal_h200, kernel_variants, {.pick = pick, .workspace_bytes = workspace}),
      choice);
  Recipe split = pick;
  split.splits = 2;
  const Error error = error_of<Error>([&] {
    select(problem, nominal_h200, kernel_variants, {.pick = split, .workspace_bytes = workspace});
  });
  EXPECT_THAT(error.what(), HasSubstr("k is split, and the product is divided"));
}

TEST(DividedChoice, IsListedWithItsWorkspace) {
  const Problem problem = in_odd_lines(600, 2000, 1333);
  const std::size_t workspace = bytes_of_lines(problem, Operands::copied_b, 768);
  int of_b = 0;
  for (const Algo& algo :
       algos(problem, nominal_h200, kernel_variants, {.workspace_bytes = workspace})) {
    if (algo.recipe.operands != Operands::copied_b) continue;
    ++of_b;
    EXPECT_EQ(algo.recipe.splits, 1);
    EXPECT_EQ(algo.workspace_bytes, workspace);
  }
  EXPECT_GT(of_b, 0);
}

TEST(DividedChoice, IsExplained) {
  const Problem problem = in_odd_lines(600, 2000, 1333);
  const auto report = [&](std::size_t workspace) {
    return explain(problem, nominal_h200, kernel_variants,
                   {.forced = {.operands = Operands::copied_b}, .workspace_bytes = workspace});
  };
  const std::size_t bytes = bytes_of_lines(problem, Operands::copied_b, 768);
  EXPECT_THAT(report(bytes),
              HasSubstr("\ncopied     B first, " + std::to_string(bytes) +
                        " bytes of workspace\ndivided    into 3 products of 768 columns, each "
                        "behind its copy\n"));
  EXPECT_THAT(report(bytes), HasSubstr(" us with operands copied_b in 3 parts\n"));
  EXPECT_THAT(report(bytes_of(problem, Operands::copied_b)), Not(HasSubstr("divided")));
}

}  // namespace
}  // namespace bwgemm
