// SPDX-License-Identifier: Apache-2.0
// A moved part is, byte for byte, the part that would be built for the moved problem, for every row
// and every argument.
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "core/error.h"
#include "core/tiling.h"
#include "fake_driver.h"
#include "families/registry.h"
#include "families/variants.h"
#include "planned.h"
#include "problems.h"

namespace bwgemm {
namespace {

using test::address;

// That the row serves, with addresses and scalars of its own.
Problem problem_for(const KernelConfig& row) {
  const test::Majors majors{row.a != Major::mn, row.b != Major::mn};
  // The sizes are no whole number of tiles: the last rows have maps of their own.
  const std::int64_t m = row.family == Family::dot ? row.tile.m : 264;
  const bool has_few_columns = row.load == Load::units;
  Problem problem =
      test::problem_of(m, has_few_columns ? row.tile.n : 520, has_few_columns ? 256 : 768, majors);
  problem.beta.value = sm90::parts_of(row).takes_matrices ? 1 : 0;
  // Kernels of columns see the transpose of what they are given.
  if (!row.swaps_ab) return problem;
  problem = transposed(problem);
  problem.c.order = problem.d.order = Order::row;
  problem.c.ld = problem.d.ld = problem.n;
  return problem;
}

// With an address for each argument there is, the `set`-th.
Problem moved(Problem problem, std::uintptr_t set) {
  const auto move = [&](const void*& data, std::uintptr_t base) {
    if (data == nullptr) return;
    const std::uintptr_t within = reinterpret_cast<std::uintptr_t>(data) % 256;
    data = address(base + 4096 * set + within);
  };
  const bool is_c_d = problem.c.data == problem.d.data;
  Epilogue& epilogue = problem.epilogue;
  move(problem.a.data, 0x410000000);
  move(problem.b.data, 0x420000000);
  move(problem.d.data, 0x430000000);
  move(problem.c.data, is_c_d ? 0x430000000 : 0x440000000);
  move(epilogue.row_bias.data, 0x450000000);
  move(epilogue.column_bias.data, 0x460000000);
  move(epilogue.row_scale.data, 0x470000000);
  move(epilogue.column_scale.data, 0x480000000);
  move(epilogue.aux.data, 0x490000000);
  return problem;
}

// The row's problem and what can be fused to it or is apart; operands that begin anywhere.
std::vector<Problem> problems_for(const KernelConfig& row) {
  std::vector<Problem> problems{problem_for(row)};
  const Problem plain = problems[0];
  const auto add = [&](const auto& change) {
    Problem problem = plain;
    change(problem);
    problems.push_back(problem);
  };
  add([](Problem& p) { p.beta.value = 1, p.c.data = address(0x700000000); });
  add([](Problem& p) { p.beta.value = 1, p.c.data = address(0x700000000), p.c.type = Dtype::f32; });
  add([](Problem& p) { p.epilogue.row_bias.data = address(0x710000000); });
  add([](Problem& p) { p.epilogue.column_bias.data = address(0x710000000); });
  add([](Problem& p) {
    p.epilogue.row_scale.data = address(0x720000000);
    p.epilogue.column_scale.data = address(0x730000000);
    p.epilogue.activation = Activation::relu;
  });
  add([](Problem& p) {
    p.epilogue.aux = p.d;
    p.epilogue.aux.data = address(0x740000000);
  });
  add([](Problem& p) { p.beta.value = 0, p.d.ld += 1; });
  add([](Problem& p) { p.a.data = address(0x100000006), p.b.ld += 1; });
  add([](Problem& p) { p.alpha.device = p.beta.device = static_cast<const float*>(address(64)); });
  add([](Problem& p) { p.alpha.value = 0, p.a.data = p.b.data = nullptr; });
  return problems;
}

class MovePart : public testing::TestWithParam<KernelConfig> {
 protected:
  const KernelConfig& row() const { return GetParam(); }
  DeviceFacts facts() const { return row().arch == Arch::sm90 ? nominal_h200 : nominal_b200; }

  bool serves(const Problem& problem) const { return rejects(problem, facts(), row()) == nullptr; }

  Part part_of(const Problem& problem) {
    const KernelName name = kernel_name(row());
    SelectOptions options;
    options.forced.kernel = name.view();
    ProductContext context{.facts = facts()};
    context.resident_clusters = row().ctas_per_sm * context.facts.sm_count / row().cluster.size();
    const Choice choice = select(problem, context.facts, kernel_variants, options);
    return test::product_of(problem, row(), choice, context);
  }
  Part moved_part(const Problem& problem) {
    Part part = part_of(problem);
    part.move_to(test::values_at(problem), maps_);
    return part;
  }

  TensorMapCache maps_{test::fake_encode};
};

void expect_equal(const Part& seen, const Part& expected) {
  ASSERT_EQ(seen.bytes(), expected.bytes());
  EXPECT_EQ(seen.steps()[0].grid, expected.steps()[0].grid);
  EXPECT_EQ(std::memcmp(seen.params(), expected.params(), seen.bytes()), 0);
}

TEST_P(MovePart, IsThePartOfTheMovedProblem) {
  int served = 0;
  for (const Problem& problem : problems_for(row())) {
    if (!serves(problem)) continue;
    ++served;
    Part part = moved_part(problem);
    for (std::uintptr_t set = 1; set <= 3; ++set) {
      const Problem other = moved(problem, set);
      part.move_to(test::values_at(other), maps_);
      expect_equal(part, moved_part(other));
    }
    // Each argument alone, and back.
    const Values here = test::values_at(problem), there = test::values_at(moved(problem, 1));
    part.move_to(here, maps_);
    const Part expected = moved_part(problem);
    expect_equal(part, expected);
    for (std::size_t i = 0; i < argument_count; ++i) {
      const auto argument = static_cast<Argument>(i);
      Values values = here;
      values[argument] = there[argument];
      part.move_to(values, maps_);
      part.move_to(here, maps_);
      expect_equal(part, expected);
    }
  }
  EXPECT_GE(served, 2) << "the row's own problem, and scaling";
}

TEST_P(MovePart, StaysUsableWhenAMapCannotBeMade) {
  const Problem problem = problem_for(row());
  Part part = moved_part(problem);
  const Values here = test::values_at(problem);
  const std::uint64_t maps = maps_.counters().misses;  // of which each may fail
  for (std::uint64_t made = 0; made < maps; ++made) {
    const Problem other = moved(problem, 10 + made);
    const Values there = test::values_at(other);
    test::encode_result = CUDA_ERROR_INVALID_VALUE;
    test::encodes_before_result = static_cast<int>(made);
    EXPECT_THROW(part.move_to(there, maps_), Error);
    test::encode_result = CUDA_SUCCESS;
    test::encodes_before_result = 0;
    part.move_to(here, maps_);
    expect_equal(part, moved_part(problem));
    part.move_to(there, maps_);
    expect_equal(part, moved_part(other));
    part.move_to(here, maps_);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, MovePart, testing::ValuesIn(kernel_variants), [](const auto& info) {
  return std::string(kernel_name(info.param).view());
});

// What a kernel is not to touch is not given to it by moving either.
TEST(MovePartOfScaling, LeavesInputsNull) {
  Problem problem = test::problem_of(100, 100, 100);
  problem.alpha.value = 0;
  problem.a.data = problem.b.data = nullptr;
  TensorMapCache maps(test::fake_encode);
  const ProductContext context{.facts = nominal_h200, .resident_clusters = 132};
  const Choice choice = select(problem, context.facts, kernel_variants, {});
  test::Planned planned = test::planned_product(
      problem, kernel_variants[static_cast<std::size_t>(choice.variant)], choice, context, maps);
  Values values = test::values_at(problem);
  values.set(Argument::a, address(0x1000));
  values.set(Argument::b, address(0x2000));
  values.set(Argument::d, address(0x3000));
  planned.move_to(values, maps);
  EXPECT_EQ(planned.params.a.data, nullptr);
  EXPECT_EQ(planned.params.b.data, nullptr);
  EXPECT_EQ(planned.params.c.data, nullptr);
  EXPECT_EQ(planned.params.d.data, address(0x3000));
}

}  // namespace
}  // namespace bwgemm
