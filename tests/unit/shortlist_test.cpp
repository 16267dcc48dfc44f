// SPDX-License-Identifier: Apache-2.0
// Which recipes measured times are asked about, and what the answers depend on.
#include "select/shortlist.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "families/variants.h"
#include "problems.h"
#include "select/algos.h"

namespace bwgemm {
namespace {

using test::problem_of;

constexpr std::size_t workspace = 32 << 20;
constexpr SelectOptions ample{.workspace_bytes = workspace};

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const std::int64_t m : {1, 24, 333, 2048})
    for (const std::int64_t n : {768, 5376})
      for (const std::int64_t k : {192, 1024, 4096}) all.push_back(problem_of(m, n, k));
  return all;
}

bool is_empty(const Problem& problem, const DeviceFacts& facts, const SelectOptions& options) {
  return Shortlist(problem, limited(facts, options), kernel_variants, options).empty();
}

TEST(Shortlist, HasTheBestPredictionsAndTheChoiceFirst) {
  int reordered = 0;
  for (const Problem& problem : problems()) {
    const Shortlist shortlist(problem, nominal_h100, kernel_variants, ample);
    ASSERT_FALSE(shortlist.empty());
    const Choice choice = select(problem, nominal_h100, kernel_variants, ample);
    EXPECT_EQ(choice.variant, shortlist.candidates().front().variant);
    EXPECT_EQ(choice.splits, shortlist.candidates().front().splits);
    double least = 1e30, most = 0;
    for (const Candidate& one : shortlist.candidates()) {
      least = std::min(least, one.predicted_us);
      most = std::max(most, one.predicted_us);
    }
    EXPECT_LT(most, furthest_corrected * least);
    // Nothing else is predicted to be faster than the slowest. Others may be as fast.
    std::size_t faster = 0, as_fast = 0;
    for (const Algo& algo : algos(problem, nominal_h100, kernel_variants, ample)) {
      if (algo.recipe.raster != Raster::grouped) continue;
      faster += algo.predicted_us < most ? 1 : 0;
      as_fast += algo.predicted_us == most ? 1 : 0;
    }
    EXPECT_LT(faster, shortlist.candidates().size());
    EXPECT_GE(faster + as_fast, shortlist.candidates().size());
    reordered += choice.predicted_us > least ? 1 : 0;
  }
  EXPECT_GT(reordered, 2) << "the trees change nothing";
}

TEST(Shortlist, IsEmptyWhereSelectionIsNotFreeOrNothingWasMeasured) {
  const Problem problem = problem_of(512, 4096, 4096);
  EXPECT_FALSE(is_empty(problem, nominal_h100, ample));
  EXPECT_FALSE(is_empty(problem, nominal_h200, ample));
  EXPECT_TRUE(is_empty(problem, nominal_b200, ample));
  EXPECT_TRUE(is_empty(problem, nominal_h100, {.sm_count_target = 64}));
  EXPECT_TRUE(is_empty(problem, nominal_h100, {.forced = {.splits = 2}}));
  const Choice choice = select(problem, nominal_h100, kernel_variants, ample);
  EXPECT_TRUE(is_empty(problem, nominal_h100, {.pick = recipe_of(choice)}));
  Problem gated = problem;
  gated.epilogue.gate = Gate::stacked;
  EXPECT_TRUE(is_empty(gated, nominal_h100, ample));
  Problem scaled = problem;
  scaled.alpha.value = 0;
  EXPECT_TRUE(is_empty(scaled, nominal_h100, ample));
  EXPECT_TRUE(is_empty(problem_of(512, 4096, 0), nominal_h100, ample));
}

// A divided product is left in the order of the model.
TEST(Shortlist, OfADividedProductIsInTheOrderOfItsPredictions) {
  Problem divided = problem_of(8192, 8192, 4160);
  divided.a.data = test::address(0x100000002);  // no map takes A
  const Shortlist shortlist(divided, nominal_h100, kernel_variants, ample);
  const auto few = shortlist.candidates();
  ASSERT_GT(few.size(), 1U);
  EXPECT_GT(few.front().division.parts, 1);
  for (std::size_t i = 1; i < few.size(); ++i)
    EXPECT_LE(few[i - 1].weighed_us(), few[i].weighed_us());
  constexpr std::string_view compared = "slower by times of such kernels";
  EXPECT_EQ(explain(divided, nominal_h100, kernel_variants, ample).find(compared),
            std::string::npos);
  EXPECT_NE(
      explain(problem_of(512, 4096, 4096), nominal_h100, kernel_variants, ample).find(compared),
      std::string::npos);
}

TEST(Shortlist, KeepsToTheOptions) {
  for (const Problem& problem : problems()) {
    const SelectOptions invariant{.batch_invariant = true, .workspace_bytes = workspace};
    const Shortlist shortlist(problem, nominal_h100, kernel_variants, invariant);
    ASSERT_FALSE(shortlist.empty());
    for (const Candidate& one : shortlist.candidates()) EXPECT_EQ(one.splits, 1);
  }
}

// A kernel's factor depends on its own features alone, and says something.
TEST(Correction, FactorsAreOfTheirOwnKernels) {
  std::array<CorrectionFeatures, most_corrected> features{};
  const Problem problem = problem_of(24, 5376, 4096);
  const Shortlist shortlist(problem, nominal_h100, kernel_variants, ample);
  const auto few = shortlist.candidates();
  for (std::size_t i = 0; i < few.size(); ++i) {
    const KernelConfig& config = kernel_variants[static_cast<std::size_t>(few[i].variant)];
    features[i] = correction_features_of(
        {seen_by(config, problem), config, few[i].tile_n, few[i].splits, few[i].predicted_us},
        nominal_h100, few.front().predicted_us);
  }
  const CorrectionFactors factors = correction_factors(features);
  std::array<CorrectionFeatures, most_corrected> turned = features;
  std::ranges::reverse(turned);
  CorrectionFactors of_turned = correction_factors(turned);
  std::ranges::reverse(of_turned);
  EXPECT_EQ(factors, of_turned);
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_GT(factors[i], 0.5);
    EXPECT_LT(factors[i], 2);
  }
  EXPECT_NE(factors[0], factors[1]);
}

}  // namespace
}  // namespace bwgemm
