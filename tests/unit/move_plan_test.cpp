// SPDX-License-Identifier: Apache-2.0
// A moved plan is, byte for byte, the plan that would be made of the moved problem, for every row.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <optional>

#include "core/error.h"
#include "core/tiling.h"
#include "fake_driver.h"
#include "kernels/rows.h"
#include "plan/plan.h"
#include "problems.h"

namespace bwgemm {
namespace {

// That the row serves, with addresses and scalars of its own.
Problem problem_for(const KernelConfig& row) {
  const test::Majors majors{row.a != Major::mn, row.b != Major::mn};
  // Of no whole number of tiles: the last rows have maps of their own.
  const std::int64_t m = row.family == Family::dot ? row.tile.m : 264;
  Problem problem = test::problem_of(m, 520, 768, majors);
  problem.beta.value = sm90::takes_matrices(row) ? 1 : 0;
  // Kernels of columns see the transpose of what they are given.
  if (row.output != Output::columns) return problem;
  problem = transposed(problem);
  problem.c.order = problem.d.order = Order::row;
  problem.c.ld = problem.d.ld = problem.n;
  return problem;
}

Problem moved(Problem problem, const Addresses& to) {
  problem.a.data = to.a;
  problem.b.data = to.b;
  problem.c.data = problem.d.data = to.d;
  return problem;
}

// The same in lines that TMA cannot store, where the row can.
Problem in_odd_lines(Problem problem) {
  problem.beta.value = 0;
  problem.d.ld += 1;
  return problem;
}

class MovePlan : public testing::TestWithParam<KernelConfig> {
 protected:
  Plan planned(const Problem& problem, Origin* origin = nullptr) {
    const KernelConfig& row = GetParam();
    const KernelName name = kernel_name(row);
    SelectOptions options;
    options.forced_kernel = name.view();
    PlanContext context;
    context.facts = row.arch == Arch::sm90 ? nominal_h200 : nominal_b200;
    context.resident_clusters = row.ctas_per_sm * context.facts.sm_count / row.cluster.size();
    context.maps = &maps_;
    const Choice choice = select(problem, context.facts, kernel_rows, options);
    return make_plan(problem, row, choice, context, origin);
  }

  TensorMapCache maps_{test::fake_encode};
};

void expect_equal(const Plan& seen, const Plan& expected) {
  EXPECT_EQ(seen.row, expected.row);
  EXPECT_EQ(seen.grid, expected.grid);
  EXPECT_EQ(seen.cluster, expected.cluster);
  ASSERT_EQ(seen.params_bytes, expected.params_bytes);
  EXPECT_EQ(std::memcmp(&seen.params, &expected.params, seen.params_bytes), 0);
}

TEST_P(MovePlan, IsThePlanOfTheMovedProblem) {
  const Problem problem = problem_for(GetParam());
  Origin origin;
  Plan plan = planned(problem, &origin);
  const Addresses here{problem.a.data, problem.b.data, problem.d.data};
  EXPECT_TRUE(move_plan(plan, origin, here, maps_));
  expect_equal(plan, planned(problem));
  const bool has_residues =
      GetParam().family == Family::cooperative && GetParam().output == Output::scattered;
  EXPECT_EQ(origin.is_movable, !has_residues);
  for (int part = 1; part < 8; ++part) {  // each set of operands
    Addresses to = here;
    if ((part & 1) != 0) to.a = test::address(0x400000000 + 4096U * part);
    if ((part & 2) != 0) to.b = test::address(0x500000000 + 4096U * part);
    if ((part & 4) != 0) to.d = test::address(0x600000000 + 4096U * part);
    EXPECT_EQ(move_plan(plan, origin, to, maps_), !has_residues);
    expect_equal(plan, planned(has_residues ? problem : moved(problem, to)));
  }
}

TEST_P(MovePlan, MovesLinesOfTheOutput) {
  const KernelConfig& row = GetParam();
  if (!sm90::can_store_lines(row) && !sm90::can_store_from_registers(row)) return;
  const Problem problem = in_odd_lines(problem_for(row));
  Origin origin;
  Plan plan = planned(problem, &origin);
  EXPECT_EQ(plan.params.d.data, problem.d.data);
  EXPECT_EQ(origin.d.rank, 0);
  const Addresses to{problem.a.data, test::address(0x500000000), test::address(0x600000002)};
  EXPECT_TRUE(move_plan(plan, origin, to, maps_));
  expect_equal(plan, planned(moved(problem, to)));
}

TEST_P(MovePlan, StaysUsableWhenAMapCannotBeMade) {
  const Problem problem = problem_for(GetParam());
  Origin origin;
  Plan plan = planned(problem, &origin);
  if (origin.a.rank == 0) return;  // has no maps
  const Addresses here{problem.a.data, problem.b.data, problem.d.data};
  // Zero where there is no map.
  const auto maps_of = {origin.a.rank, origin.b.rank, origin.d.rank, origin.a_rest, origin.b_rest};
  const auto maps =
      std::count_if(maps_of.begin(), maps_of.end(), [](auto map) { return map != 0; });
  for (int made = 0; made < maps; ++made) {
    const Addresses to{test::address(0x400000000 + 4096U * made),
                       test::address(0x500000000 + 4096U * made),
                       test::address(0x600000000 + 4096U * made)};
    test::encode_result = CUDA_ERROR_INVALID_VALUE;
    test::encodes_before_result = made;
    EXPECT_THROW(move_plan(plan, origin, to, maps_), Error);
    test::encode_result = CUDA_SUCCESS;
    test::encodes_before_result = 0;
    EXPECT_TRUE(move_plan(plan, origin, here, maps_));
    expect_equal(plan, planned(problem));
    EXPECT_TRUE(move_plan(plan, origin, to, maps_));
    expect_equal(plan, planned(moved(problem, to)));
    EXPECT_TRUE(move_plan(plan, origin, here, maps_));
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, MovePlan, testing::ValuesIn(kernel_rows), [](const auto& info) {
  return std::string(kernel_name(info.param).view());
});

// What a kernel is not to touch is not given to it by moving either.
TEST(MovePlanOfScaling, LeavesInputsNull) {
  Problem problem = test::problem_of(100, 100, 100);
  problem.alpha.value = 0;
  problem.a.data = problem.b.data = nullptr;
  TensorMapCache maps(test::fake_encode);
  PlanContext context;
  context.facts = nominal_h200;
  context.resident_clusters = 132;
  context.maps = &maps;
  const Choice choice = select(problem, context.facts, kernel_rows, {});
  Origin origin;
  Plan plan = make_plan(problem, kernel_rows[static_cast<std::size_t>(choice.row)], choice, context,
                        &origin);
  EXPECT_TRUE(move_plan(
      plan, origin, {test::address(0x1000), test::address(0x2000), test::address(0x3000)}, maps));
  EXPECT_EQ(plan.params.a.data, nullptr);
  EXPECT_EQ(plan.params.b.data, nullptr);
  EXPECT_EQ(plan.params.c.data, nullptr);
  EXPECT_EQ(plan.params.d.data, test::address(0x3000));
}

}  // namespace
}  // namespace bwgemm
