// SPDX-License-Identifier: Apache-2.0
// Problem: the canonical form, and what zero scalars and sizes mean.
#include "core/problem.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/canonical_vectors.h"
#include "core/tiling.h"
#include "problems.h"
#include "support/flushed_denormals.h"

namespace bwgemm {
namespace {

using test::FlushedDenormals;

Problem column_order_problem() {
  Problem problem = test::problem_of(48, 80, 32, test::kn);
  problem.c.data = test::address(0x400000000);
  for (Matrix* matrix : {&problem.c, &problem.d}) {
    matrix->order = Order::column;
    matrix->ld = 48;
  }
  return problem;
}

TEST(Problem, RowOrderStaysAsItIs) {
  const Problem problem = test::problem_of(48, 80, 32, test::kn);
  EXPECT_EQ(with_row_order_d(problem), problem);
}

TEST(Problem, ColumnOrderBecomesTheTransposedProduct) {
  const Problem problem = column_order_problem();
  const Problem canonical = with_row_order_d(problem);
  EXPECT_EQ(canonical.d.order, Order::row);
  EXPECT_EQ(canonical.c.order, Order::row);
  EXPECT_EQ(canonical.m, problem.n);
  EXPECT_EQ(canonical.n, problem.m);
  EXPECT_EQ(canonical.k, problem.k);
  EXPECT_EQ(canonical.a.data, problem.b.data);
  EXPECT_EQ(canonical.b.data, problem.a.data);
  // An operand that is contiguous along k stays so: transposing does not move memory.
  EXPECT_EQ(a_major(canonical), b_major(problem));
  EXPECT_EQ(b_major(canonical), a_major(problem));
  EXPECT_EQ(with_row_order_d(canonical), canonical);
}

TEST(Problem, ZeroIsZeroOfEitherSignAndNothingElse) {
  const FlushedDenormals flushed;
  for (const float zero : {0.0f, -0.0f}) EXPECT_TRUE(is_zero(zero));
  for (const float number : {1e-40f, -1e-40f, 0x1p-149f, 0x1p-126f, 1.0f, -2.0f, INFINITY, NAN})
    EXPECT_FALSE(is_zero(number));
  Problem problem = test::problem_of(48, 80, 32);
  problem.alpha.value = problem.beta.value = 1e-40f;
  EXPECT_FALSE(problem.scale_only());
  EXPECT_TRUE(problem.reads_c());
  Problem other = problem;
  EXPECT_EQ(problem, other);
  other.alpha.value = 0;
  EXPECT_FALSE(problem == other);
}

TEST(Problem, TransposingTwiceRestores) {
  Problem problem = column_order_problem();
  const float bias = 0, scale = 0;
  problem.epilogue.row_bias.data = &bias;
  problem.epilogue.column_scale.data = &scale;
  problem.bias_gradient = {Summed::a, true, {&scale}};
  Problem canonical = with_row_order_d(problem);
  EXPECT_EQ(canonical.epilogue.column_bias.data, &bias);
  EXPECT_EQ(canonical.epilogue.row_scale.data, &scale);
  EXPECT_EQ(canonical.bias_gradient, (BiasGradient{Summed::b, false, {&scale}}));
  // Calling D column-order by hand asks for the other transposition.
  Epilogue& epilogue = canonical.epilogue;
  for (Matrix* matrix : {&canonical.a, &canonical.b, &canonical.c, &canonical.d, &epilogue.aux})
    matrix->order = flipped(matrix->order);
  std::swap(canonical.m, canonical.n);
  std::swap(canonical.a, canonical.b);
  std::swap(epilogue.row_bias, epilogue.column_bias);
  std::swap(epilogue.row_scale, epilogue.column_scale);
  canonical.bias_gradient = problem.bias_gradient;
  EXPECT_EQ(canonical, problem);
}

// One row in column order, elements next to each other: it is a line in row order too.
TEST(Problem, VectorsAreLines) {
  Problem problem = test::problem_of(1, 1000, 33, test::kk);
  for (Matrix* matrix : {&problem.c, &problem.d}) matrix->order = Order::column, matrix->ld = 1;
  problem.a.ld = 33;
  const Problem lines = canonical_vectors(problem);
  EXPECT_EQ(lines.d.order, Order::row);
  EXPECT_EQ(lines.d.ld, 1000);
  EXPECT_EQ(lines.c, lines.d);
  EXPECT_EQ(lines.a.ld, 40);
  EXPECT_EQ(lines.b, problem.b);
  EXPECT_EQ(canonical_vectors(lines), lines);
  problem.d.ld = 2;  // with gaps
  EXPECT_EQ(canonical_vectors(problem).d, problem.d);
}

TEST(Problem, ColumnsAreLinesOfTheTransposedProduct) {
  Problem problem = test::problem_of(1001, 1, 64, test::kk);
  for (Matrix* matrix : {&problem.c, &problem.d}) matrix->ld = 1;
  const Problem canonical = with_row_order_d(canonical_vectors(problem));
  EXPECT_EQ(canonical.m, 1);
  EXPECT_EQ(canonical.n, 1001);
  EXPECT_EQ(canonical.d.order, Order::row);
  EXPECT_EQ(canonical.d.ld, 1008);
  EXPECT_EQ(canonical.a.data, problem.b.data);
}

// Where another size would be served in another order of operations.
TEST(Problem, LinesOfTwoScalesKeepTheirOrder) {
  Problem problem = test::problem_of(1, 1000, 64, test::kk);
  problem.d.order = Order::column, problem.d.ld = 1;
  const float scale = 0;
  problem.epilogue.row_scale.data = problem.epilogue.column_scale.data = &scale;
  EXPECT_EQ(canonical_vectors(problem).d, problem.d);
  problem.epilogue = {};
  problem.epilogue.gate = Gate::interleaved;
  EXPECT_EQ(canonical_vectors(problem).d, problem.d);
}

TEST(Problem, KnownZeros) {
  Problem problem = test::problem_of(8, 8, 8);
  EXPECT_FALSE(problem.scale_only());
  EXPECT_FALSE(problem.reads_c());
  problem.beta.value = 2;
  EXPECT_TRUE(problem.reads_c());
  problem.alpha.value = 0;
  EXPECT_TRUE(problem.scale_only());
  const float device_scalar = 0;
  problem.alpha.device = &device_scalar;  // unknown until the kernel runs
  EXPECT_FALSE(problem.scale_only());
  problem.beta = {0, &device_scalar};
  EXPECT_TRUE(problem.reads_c());
  problem.k = 0;
  EXPECT_TRUE(problem.scale_only());
}

TEST(Problem, Empty) {
  EXPECT_FALSE(test::problem_of(1, 1, 0).empty());
  EXPECT_TRUE(test::problem_of(0, 1, 1).empty());
  EXPECT_TRUE(test::problem_of(1, 0, 1).empty());
  EXPECT_TRUE(test::problem_of(1, 1, 1, test::kk, {}, 0).empty());
}

TEST(Tiling, CountsRaggedTiles) {
  EXPECT_EQ(tile_counts(test::problem_of(257, 512, 8, test::kk, {}, 3), 256, 256),
            (TileCounts{2, 2, 3}));
  EXPECT_EQ(tile_counts(test::problem_of(1, 1, 8), 256, 256).total(), 1);
  constexpr std::int64_t largest = std::int64_t{1} << 62;
  EXPECT_EQ(ceil_div(largest + 1, 2), largest / 2 + 1);
}

}  // namespace
}  // namespace bwgemm
