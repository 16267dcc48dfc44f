// SPDX-License-Identifier: Apache-2.0
// CopiesPlan: what the launch that copies operands is told, and its move to other operands and
// another workspace.
#include <cstring>
#include <gtest/gtest.h>

#include "core/tiling.h"
#include "plan/copies.h"
#include "problems.h"

namespace bwgemm {
namespace {

using test::address, test::kn, test::problem_of;

constexpr std::uintptr_t here = 0x700000000, there = 0x800000400;

// Neither operand can be loaded by TMA, and each has its own reasons.
Problem unaligned(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  Problem problem = problem_of(m, n, k, kn, {}, batch);
  problem.a.data = address(0x100000002);
  problem.b.ld += 1;
  problem.b.batch_stride = k * problem.b.ld;
  return problem;
}

CopiesPlan plan_of(const Problem& problem, int sm_limit = 0, std::uintptr_t workspace = here) {
  return make_copies_plan(problem, copies_of(problem), nominal_h200, sm_limit, workspace);
}

std::uint32_t pieces_of(const OperandCopy& operand) {
  return (operand.units + copies::piece_units - 1) / copies::piece_units;
}

void expect_equal(const CopiesPlan& seen, const CopiesPlan& expected) {
  EXPECT_EQ(seen.grid, expected.grid);
  EXPECT_EQ(seen.arch, expected.arch);
  EXPECT_EQ(seen.workspace, expected.workspace);
  EXPECT_EQ(seen.bytes, expected.bytes);
  EXPECT_EQ(std::memcmp(&seen.params, &expected.params, sizeof seen.params), 0);
}

TEST(CopiesPlan, NoneIsNoLaunch) {
  EXPECT_FALSE(plan_of(problem_of(256, 256, 256)).any());
  EXPECT_EQ(copies_shape().threads, copies::threads);
  EXPECT_EQ(copies_shape().smem_bytes, 0);
}

TEST(CopiesPlan, Parameters) {
  Problem problem = unaligned(301, 203, 104, 5);
  problem.b.batch_stride += 6;
  const float alpha = 1;
  problem.alpha.device = &alpha;
  const Copies copies = copies_of(problem);
  const CopiesPlan plan = plan_of(problem);
  EXPECT_TRUE(plan.any());
  EXPECT_EQ(plan.arch, Arch::sm90);
  EXPECT_EQ(plan.workspace, here);
  EXPECT_EQ(plan.bytes, copies.bytes());
  EXPECT_EQ(plan.params.alpha, &alpha);

  const OperandCopy &a = plan.params.operands[0], &b = plan.params.operands[1];
  EXPECT_EQ(a.from, problem.a.data);
  EXPECT_EQ(a.to, address(here));
  EXPECT_EQ(a.from_ld, 2 * 104);
  EXPECT_EQ(a.from_batch_bytes, 2 * 301 * 104);
  EXPECT_EQ(a.to_ld, 2 * 112);
  EXPECT_EQ(a.to_batch_bytes, 2 * 301 * 112);
  EXPECT_EQ(a.lines, 301u);
  EXPECT_EQ(a.line_elements, 104u);
  EXPECT_EQ(a.line_units, 13u);
  EXPECT_EQ(a.units, 5u * 301 * 13);

  EXPECT_EQ(b.from, problem.b.data);
  EXPECT_EQ(b.to, address(here + copies.a->bytes));
  EXPECT_EQ(b.from_ld, 2 * 204);
  EXPECT_EQ(b.from_batch_bytes, 2 * (104 * 204 + 6));
  EXPECT_EQ(b.to_ld, 2 * 208);
  EXPECT_EQ(b.to_batch_bytes, 2 * 104 * 208);
  EXPECT_EQ(b.lines, 104u);
  EXPECT_EQ(b.line_elements, 203u);
  EXPECT_EQ(b.line_units, 26u);
  EXPECT_EQ(b.units, 5u * 104 * 26);

  EXPECT_EQ(plan.params.first_pieces, pieces_of(a));
  EXPECT_EQ(plan.params.pieces, pieces_of(a) + pieces_of(b));
  EXPECT_EQ(plan.grid, static_cast<int>(plan.params.pieces)) << "a CTA for each";
}

// What is not copied has no units, and its parameters are zeros.
TEST(CopiesPlan, OfOneOperand) {
  Problem only_a = unaligned(301, 208, 104), only_b = unaligned(301, 203, 104);
  only_a.b.ld = 208;
  only_b.a.data = address(0x100000000);
  constexpr OperandCopy zeros{};
  const CopiesParams a = plan_of(only_a).params, b = plan_of(only_b).params;
  EXPECT_EQ(std::memcmp(&a.operands[1], &zeros, sizeof zeros), 0);
  EXPECT_EQ(a.first_pieces, a.pieces);
  EXPECT_EQ(a.alpha, nullptr);
  EXPECT_EQ(std::memcmp(&b.operands[0], &zeros, sizeof zeros), 0);
  EXPECT_EQ(b.first_pieces, 0u);
  EXPECT_EQ(b.pieces, pieces_of(b.operands[1]));
  EXPECT_EQ(b.operands[1].to, address(here));
}

TEST(CopiesPlan, ARepeatedMatrixIsOneBatch) {
  Problem problem = unaligned(301, 203, 104, 5);
  problem.a.batch_stride = 0;
  const OperandCopy a = plan_of(problem).params.operands[0];
  EXPECT_EQ(a.from_batch_bytes, 0);
  EXPECT_EQ(a.to_batch_bytes, 0);
  EXPECT_EQ(a.units, 301u * 13);
}

TEST(CopiesPlan, OccupiesNoMoreThanItMay) {
  const Problem problem = unaligned(4096, 4095, 4096);
  const int all = 132 * copies::ctas_per_sm;
  EXPECT_EQ(plan_of(problem).grid, all);
  EXPECT_EQ(plan_of(problem, 7).grid, 7) << "one on each";
  EXPECT_EQ(plan_of(problem, 131).grid, 131);
  EXPECT_EQ(plan_of(problem, 132).grid, all);
  EXPECT_EQ(plan_of(problem, 1000).grid, all);
  EXPECT_EQ(plan_of(unaligned(16, 17, 16), 7).grid, 2) << "an operand is no part of a piece";
  const CopiesPlan on_b200 =
      make_copies_plan(problem, copies_of(problem), nominal_b200, 0, nominal_workspace);
  EXPECT_EQ(on_b200.grid, 148 * copies::ctas_per_sm);
  EXPECT_EQ(on_b200.arch, Arch::sm100);
}

// A moved plan is, byte for byte, the plan that would be made of the moved problem.
TEST(CopiesPlan, MovesToOtherOperandsAndAnotherWorkspace) {
  for (const bool copies_a : {true, false})
    for (const bool copies_b : {true, false}) {
      if (!copies_a && !copies_b) continue;
      Problem problem = unaligned(301, 208, 104, 5), moved = problem;
      if (!copies_a) problem.a.data = address(0x100000000);
      if (!copies_b) problem.b.ld = 208, problem.b.batch_stride = 208 * 104;
      moved = problem;
      moved.a.data = address(0x400000000 + (copies_a ? 6 : 0));
      moved.b.data = address(0x500000000);
      moved.d.data = address(0x600000000);
      const Copies copies = copies_of(problem);
      CopiesPlan plan = plan_of(problem);
      const Addresses from{moved.a.data, moved.b.data, moved.d.data};
      for (const std::uintptr_t workspace : {there, here, there}) {
        const Addresses at = move_copies(plan, from, workspace);
        expect_equal(plan, plan_of(moved, 0, workspace));
        const Problem source = with_copies(moved, copies, workspace);
        EXPECT_EQ(at, (Addresses{source.a.data, source.b.data, moved.d.data}));
        EXPECT_EQ(at.a == moved.a.data, !copies_a) << "what is not copied stays where it is";
        EXPECT_EQ(at.b == moved.b.data, !copies_b);
      }
      const Addresses back{problem.a.data, problem.b.data, problem.d.data};
      EXPECT_EQ(move_copies(plan, back, here).d, problem.d.data);
      expect_equal(plan, plan_of(problem));
    }
}

}  // namespace
}  // namespace bwgemm
