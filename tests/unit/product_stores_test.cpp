// SPDX-License-Identifier: Apache-2.0
// How D leaves Hopper's kernels, by what the step that multiplies says of it.
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string_view>

#include "fake_driver.h"
#include "problems.h"
#include "product_step.h"

namespace bwgemm {
namespace {

using test::problem_of;
using ::testing::ElementsAre;

constexpr std::string_view wide = "bwgemm_sm90_b16_kk_128x128x64_s6_coop",
                           half_wide = "bwgemm_sm90_b16_kk_128x64x64_s8_coop";

class ProductStores : public test::ProductStep {};

// Where k is short, the consumers of wide tiles store lines, if they write no aux.
TEST_F(ProductStores, InLines) {
  constexpr std::int64_t gap = 2;  // rows with gaps are no pieces
  const auto lines_of = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    Problem problem = problem_of(m, n, k);
    problem.d.ld += gap;
    return problem;
  };
  Problem problem = lines_of(100, 101, 520), writing = lines_of(100, 102, 512);
  EXPECT_EQ(planned(problem_of(104, 104, 64), wide).params.stores, Stores::by_map);
  test::Planned plan = planned(problem, wide);
  EXPECT_EQ(plan.params.stores, Stores::by_lines);
  EXPECT_EQ(plan.params.d.data, problem.d.data);
  EXPECT_EQ(plan.params.d.outer_stride, 103);
  EXPECT_EQ(test::fake_map(plan.params.d_map).dims[0], 0U);  // there is none
  EXPECT_EQ(planned(lines_of(100, 101, 512), wide).params.stores, Stores::from_staging);
  EXPECT_EQ(planned(lines_of(100, 101, 512), half_wide).params.stores, Stores::by_lines);
  writing.epilogue.aux = writing.d;
  EXPECT_EQ(planned(writing, wide).params.stores, Stores::by_lines);
  problem.m = 8;
  plan = planned(problem, "bwgemm_sm90_b16_kk_64x16x64_s13_t_coop");
  EXPECT_EQ(plan.params.stores, Stores::from_registers);
  EXPECT_EQ(plan.params.d.data, problem.d.data);
  EXPECT_EQ(plan.params.d.outer_stride, 103);
}

// Whole rows of D leave as pieces of memory where they have no gaps, and TMA cannot store them or
// would tear many sectors.
TEST_F(ProductStores, InPieces) {
  const auto stores_of = [this](const Problem& problem, std::string_view kernel) {
    return planned(problem, kernel).params.stores;
  };
  Problem problem = problem_of(1000, 102, 64);
  const test::Planned plan = planned(problem, wide);
  EXPECT_EQ(plan.params.stores, Stores::in_pieces);
  EXPECT_EQ(plan.params.d.data, problem.d.data);
  EXPECT_EQ(plan.params.d.outer_stride, 102);
  EXPECT_EQ(test::fake_map(plan.params.d_map).dims[0], 0U);  // there is none
  EXPECT_EQ(stores_of(problem_of(1000, 101, 64), wide), Stores::in_pieces);
  EXPECT_EQ(stores_of(problem_of(1000, 131, 64), wide), Stores::from_staging);  // two tiles
  EXPECT_EQ(stores_of(problem_of(1000, 127, 64), wide), Stores::from_staging);  // banks
  EXPECT_EQ(stores_of(problem_of(1000, 50, 64), half_wide), Stores::in_pieces);
  EXPECT_EQ(stores_of(problem_of(1000, 70, 64), half_wide), Stores::by_lines);  // two tiles
  EXPECT_EQ(stores_of(problem_of(1000, 104, 64), wide), Stores::by_map);
  EXPECT_EQ(stores_of(problem_of(40'000, 104, 64), wide), Stores::in_pieces);
  EXPECT_EQ(stores_of(problem_of(40'000, 112, 64), wide), Stores::by_map);
  Problem other = problem;
  other.d.ld = 103;
  EXPECT_EQ(stores_of(other, wide), Stores::from_staging);
  other = problem;
  other.d.type = Dtype::f32;
  EXPECT_EQ(stores_of(other, wide), Stores::from_staging);
  other = problem;
  other.epilogue.aux = problem.d;
  EXPECT_EQ(stores_of(other, wide), Stores::by_lines);
  other = problem_of(40'000, 104, 64);
  const float zero = 0;
  other.beta.device = &zero;  // there may be a C
  EXPECT_EQ(stores_of(other, wide), Stores::by_map);
  other = problem_of(1000, 104, 64);
  other.d.data = static_cast<char*>(const_cast<void*>(other.d.data)) + 2;  // TMA cannot store it
  EXPECT_EQ(stores_of(other, wide), Stores::in_pieces);
  other = problem;
  other.epilogue.activation = Activation::relu;  // takes pairs of columns
  EXPECT_EQ(stores_of(other, wide), Stores::in_pieces);
  EXPECT_EQ(stores_of(problem_of(1000, 1, 64), half_wide), Stores::by_lines);  // banks
  // The staging buffers have no room for all columns.
  EXPECT_EQ(stores_of(problem_of(1000, 50, 64), "bwgemm_sm90_b16_kk_192x128x64_s5_coop"),
            Stores::from_staging);
}

// Consumers of narrow columns store D themselves, if the plan knows that they need no C for it.
TEST_F(ProductStores, OfNarrowColumns) {
  constexpr const char* narrow = "bwgemm_sm90_b16_kk_64x32x64_s13_t_coop";
  Problem problem = problem_of(8, 104, 64);
  test::Planned plan = planned(problem, narrow);
  EXPECT_EQ(plan.params.stores, Stores::from_registers);
  EXPECT_EQ(plan.params.d.data, problem.d.data);
  EXPECT_EQ(plan.params.d.outer_stride, 104);
  EXPECT_EQ(test::fake_map(plan.params.d_map).dims[0], 0U);  // there is none
  EXPECT_EQ(planned(problem, "bwgemm_sm90_b16_kk_64x96x64_s10_t_coop").params.stores,
            Stores::by_map);
  const float zero = 0;
  problem.beta.device = &zero;
  plan = planned(problem, narrow);
  EXPECT_EQ(plan.params.stores, Stores::by_map);
  EXPECT_EQ(plan.params.d.data, nullptr);
  EXPECT_THAT(test::fake_map(plan.params.d_map).dims, ElementsAre(104, 8, 1));
}

}  // namespace
}  // namespace bwgemm
