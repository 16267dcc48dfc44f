// SPDX-License-Identifier: Apache-2.0
// Sums: which memory is added up along which dimension, and who shares the work. The order of
// the additions follows from the number of terms alone.
#include <cstring>
#include <gtest/gtest.h>

#include "core/error.h"
#include "families/bias_gradient/step.h"
#include "problems.h"

namespace bwgemm {
namespace {

using test::address, test::kk, test::kn, test::problem_of;

constexpr std::size_t much = std::size_t{24} << 20;

Problem summed(Summed of, bool of_rows, std::int64_t m, std::int64_t n, std::int64_t k,
               std::int64_t batch = 1) {
  Problem problem = problem_of(m, n, k, kk, {}, batch);
  problem.bias_gradient = {
      of, of_rows, {address(0x900000000), Dtype::f32, batch > 1 ? m + n + k : 0}};
  return problem;
}

BiasGradientLaunch plan_of(const Problem& problem, int sm_limit = 0,
                           std::size_t workspace_bytes = much) {
  return bias_gradient_launch(problem, {nominal_h200, sm_limit, workspace_bytes});
}

TEST(BiasGradientStep, ChunksFollowFromTheNumberOfTerms) {
  EXPECT_EQ(bias_gradient::chunk_terms(0), 512);
  EXPECT_EQ(bias_gradient::chunk_terms(1), 512);
  EXPECT_EQ(bias_gradient::chunk_terms(65536), 512);
  EXPECT_EQ(bias_gradient::chunk_terms(65537), 1024);
  EXPECT_EQ(bias_gradient::chunk_terms(std::int64_t{1} << 40), std::int64_t{1} << 33);
}

TEST(BiasGradientStep, NoneIsNoLaunch) {
  EXPECT_FALSE(plan_of(problem_of(256, 256, 256)).any());
}

TEST(BiasGradientStep, OfEachMatrix) {
  const Problem of_rows = summed(Summed::d, true, 100, 200, 300);
  BiasGradientLaunch plan = plan_of(of_rows);
  EXPECT_EQ(plan.params.matrix, of_rows.d.data);
  EXPECT_EQ(plan.params.outputs, 100);
  EXPECT_EQ(plan.params.terms, 200);
  EXPECT_TRUE(plan.params.terms_lie_together);
  EXPECT_EQ(plan.params.units, 2u);
  EXPECT_EQ(plan.params.chunks, 1u);
  EXPECT_EQ(plan.grid, 2);
  EXPECT_EQ(plan.workspace_bytes, 0u);

  plan = plan_of(summed(Summed::d, false, 100, 200, 300));
  EXPECT_EQ(plan.params.outputs, 200);
  EXPECT_EQ(plan.params.terms, 100);
  EXPECT_FALSE(plan.params.terms_lie_together);

  const Problem of_a = summed(Summed::a, true, 100, 200, 300);
  plan = plan_of(of_a);
  EXPECT_EQ(plan.params.matrix, of_a.a.data);
  EXPECT_EQ(plan.params.outputs, 100);
  EXPECT_EQ(plan.params.terms, 300);
  EXPECT_TRUE(plan.params.terms_lie_together) << "A is in row order";

  const Problem of_b = summed(Summed::b, false, 100, 200, 300);
  plan = plan_of(of_b);
  EXPECT_EQ(plan.params.matrix, of_b.b.data);
  EXPECT_EQ(plan.params.outputs, 200);
  EXPECT_EQ(plan.params.terms, 300);
  EXPECT_TRUE(plan.params.terms_lie_together) << "B is in column order";
}

TEST(BiasGradientStep, AGateHalvesD) {
  Problem problem = summed(Summed::d, false, 100, 200, 300);
  problem.epilogue.gate = Gate::stacked;
  EXPECT_EQ(plan_of(problem).params.outputs, 100);
  problem.bias_gradient.of_rows = true;
  EXPECT_EQ(plan_of(problem).params.terms, 100);
  problem.bias_gradient.of = Summed::b, problem.bias_gradient.of_rows = false;
  EXPECT_EQ(plan_of(problem).params.outputs, 200);
}

// Written as D^T = B^T A^T it is the same memory, added up in the same way.
TEST(BiasGradientStep, AreThoseOfTheTransposedProduct) {
  for (const Summed of : {Summed::d, Summed::a, Summed::b})
    for (const bool of_rows : {false, true}) {
      if ((of == Summed::a && !of_rows) || (of == Summed::b && of_rows)) continue;
      const Problem problem = summed(of, of_rows, 1000, 2000, 3000, 2);
      const BiasGradientLaunch plan = plan_of(problem), other = plan_of(transposed(problem));
      EXPECT_EQ(plan.grid, other.grid);
      EXPECT_EQ(std::memcmp(&plan.params, &other.params, sizeof plan.params), 0);
    }
}

TEST(BiasGradientStep, FewUnitsAreShared) {
  const Problem problem = summed(Summed::d, false, 2000, 100, 64, 3);
  const BiasGradientLaunch plan = plan_of(problem);
  EXPECT_EQ(plan.params.chunks, 4u);
  EXPECT_EQ(plan.params.parts, 4u);
  EXPECT_EQ(plan.params.chunks_per_part, 1u);
  EXPECT_EQ(plan.grid, 2 * 3 * 4);
  EXPECT_EQ(plan.arrivals, 6u);
  EXPECT_EQ(plan.workspace_bytes, 6u * 4 * 64 * sizeof(float));
  // Exactly that suffices; with less each CTA takes all chunks.
  EXPECT_EQ(plan_of(problem, 0, plan.workspace_bytes).params.parts, 4u);
  const BiasGradientLaunch alone = plan_of(problem, 0, plan.workspace_bytes - 1);
  EXPECT_EQ(alone.params.parts, 1u);
  EXPECT_EQ(alone.params.chunks_per_part, 4u);
  EXPECT_EQ(alone.grid, 6);
  EXPECT_EQ(alone.workspace_bytes, 0u);
  EXPECT_EQ(alone.arrivals, 0u);
  EXPECT_EQ(alone.params.chunk, plan.params.chunk);
  // Enough units need no help.
  EXPECT_EQ(plan_of(summed(Summed::d, false, 2000, 64 * 4 * 132, 64)).params.parts, 1u);
  EXPECT_EQ(plan_of(summed(Summed::d, false, 2000, 64 * 4 * 132 - 64, 64)).params.parts, 4u);
}

TEST(BiasGradientStep, OccupyNoMoreThanTheyMay) {
  const Problem problem = summed(Summed::d, false, 2000, 10000, 64);
  EXPECT_GT(plan_of(problem).grid, 132);
  EXPECT_EQ(plan_of(problem, 7).grid, 7);
  EXPECT_EQ(plan_of(problem, 1000).grid, plan_of(problem).grid);
}

TEST(BiasGradientStep, OfNothingReadNothing) {
  Problem problem = summed(Summed::a, true, 100, 200, 0, 2);
  problem.is_pointer_array = true;
  const BiasGradientLaunch plan = plan_of(problem);
  EXPECT_EQ(plan.params.chunks, 0u);
  EXPECT_EQ(plan.params.parts, 1u);
  EXPECT_FALSE(plan.params.is_pointer_array);
  EXPECT_EQ(plan.grid, 4) << "zeros are written";
}

TEST(BiasGradientStep, MoreThanAGridCanBeToldAreRefused) {
  const Problem problem = summed(Summed::a, true, std::int64_t{1} << 37, 1, 8);
  EXPECT_THROW(plan_of(problem), Error);
}

}  // namespace
}  // namespace bwgemm
