// SPDX-License-Identifier: Apache-2.0
// The step that copies operands: what its kernel is told, also when it is moved to other operands
// and another workspace.
#include <cstring>
#include <gtest/gtest.h>

#include "core/tiling.h"
#include "fake_driver.h"
#include "families/copies/params.h"
#include "families/copies/step.h"
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

Values values_at(const Problem& problem, std::uintptr_t workspace) {
  Values values = values_of(problem, false);
  values[Argument::workspace] = workspace;
  return values;
}

Part part_with_copies(const Problem& problem, const DeviceFacts& facts = nominal_h200,
                      int sm_limit = 0, const Choice& product = {}) {
  Part part;
  add_copies(problem, {}, values_of(problem, false), copies_of(problem), product, facts, sm_limit,
             part);
  return part;
}

int grid_of(const Part& part) {
  return part.steps()[0].grid;
}

CopiesParams params_of(const Part& part) {
  CopiesParams params;
  std::memcpy(&params, part.params(), sizeof params);
  return params;
}

CopiesParams params_of(const Problem& problem, std::uintptr_t workspace = here) {
  TensorMapCache maps(test::fake_encode);
  Part part = part_with_copies(problem);
  part.move_to(values_at(problem, workspace), maps);
  return params_of(part);
}

std::uint32_t pieces_of(const OperandCopy& operand) {
  return (operand.units + copies::piece_units - 1) / copies::piece_units;
}

TEST(CopiesStep, NoneIsNoLaunch) {
  EXPECT_TRUE(part_with_copies(problem_of(256, 256, 256)).steps().empty());
}

TEST(CopiesStep, ProductsOfShortCallsStartBeforeItsCtasAreGone) {
  Choice product;
  product.predicted_us = longest_short_with_copies_us;
  const Problem problem = unaligned(301, 203, 104);
  EXPECT_TRUE(params_of(part_with_copies(problem, nominal_h200, 0, product)).lets_product_start);
  product.predicted_us += 0.1;
  EXPECT_FALSE(params_of(part_with_copies(problem, nominal_h200, 0, product)).lets_product_start);
}

TEST(CopiesStep, Parameters) {
  Problem problem = unaligned(301, 203, 104, 5);
  problem.b.batch_stride += 6;
  const float alpha = 1;
  problem.alpha.device = &alpha;
  const Copies copies = copies_of(problem);
  const Part part = part_with_copies(problem);
  ASSERT_EQ(part.steps().size(), 1u);
  EXPECT_EQ(part.steps()[0].kernel, copy_kernel);
  EXPECT_EQ(part.steps()[0].threads, copies::threads);
  EXPECT_EQ(part.steps()[0].smem_bytes, 0);
  const CopiesParams params = params_of(problem);
  EXPECT_EQ(params.alpha, &alpha);

  const OperandCopy &a = params.operands[0], &b = params.operands[1];
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

  EXPECT_EQ(params.first_pieces, pieces_of(a));
  EXPECT_EQ(params.pieces, pieces_of(a) + pieces_of(b));
  EXPECT_EQ(grid_of(part), static_cast<int>(params.pieces)) << "a CTA for each";
}

// What is not copied has no units, and its parameters are zeros.
TEST(CopiesStep, OfOneOperand) {
  Problem only_a = unaligned(301, 208, 104), only_b = unaligned(301, 203, 104);
  only_a.b.ld = 208;
  only_b.a.data = address(0x100000000);
  constexpr OperandCopy zeros{};
  const CopiesParams a = params_of(only_a), b = params_of(only_b);
  EXPECT_EQ(std::memcmp(&a.operands[1], &zeros, sizeof zeros), 0);
  EXPECT_EQ(a.first_pieces, a.pieces);
  EXPECT_EQ(a.alpha, nullptr);
  EXPECT_EQ(std::memcmp(&b.operands[0], &zeros, sizeof zeros), 0);
  EXPECT_EQ(b.first_pieces, 0u);
  EXPECT_EQ(b.pieces, pieces_of(b.operands[1]));
  EXPECT_EQ(b.operands[1].to, address(here));
}

TEST(CopiesStep, ARepeatedMatrixIsOneBatch) {
  Problem problem = unaligned(301, 203, 104, 5);
  problem.a.batch_stride = 0;
  const OperandCopy a = params_of(problem).operands[0];
  EXPECT_EQ(a.from_batch_bytes, 0);
  EXPECT_EQ(a.to_batch_bytes, 0);
  EXPECT_EQ(a.units, 301u * 13);
}

TEST(CopiesStep, OccupiesNoMoreThanItMay) {
  const Problem problem = unaligned(4096, 4095, 4096);
  const int all = 132 * copies::ctas_per_sm;
  EXPECT_EQ(grid_of(part_with_copies(problem)), all);
  EXPECT_EQ(grid_of(part_with_copies(problem, nominal_h200, 7)), 7) << "one on each";
  EXPECT_EQ(grid_of(part_with_copies(problem, nominal_h200, 131)), 131);
  EXPECT_EQ(grid_of(part_with_copies(problem, nominal_h200, 132)), all);
  EXPECT_EQ(grid_of(part_with_copies(problem, nominal_h200, 1000)), all);
  EXPECT_EQ(grid_of(part_with_copies(unaligned(16, 17, 16), nominal_h200, 7)), 2)
      << "an operand is no part of a piece";
  EXPECT_EQ(grid_of(part_with_copies(problem, nominal_b200)), 148 * copies::ctas_per_sm);
}

// A moved step is, byte for byte, the one that would be made of the moved problem.
TEST(CopiesStep, MovesToOtherOperandsAndAnotherWorkspace) {
  TensorMapCache maps(test::fake_encode);
  for (const bool copies_a : {true, false})
    for (const bool copies_b : {true, false}) {
      if (!copies_a && !copies_b) continue;
      Problem problem = unaligned(301, 208, 104, 5), moved = problem;
      if (!copies_a) problem.a.data = address(0x100000000);
      if (!copies_b) problem.b.ld = 208, problem.b.batch_stride = 208 * 104;
      moved = problem;
      moved.a.data = address(0x400000000 + (copies_a ? 6 : 0));
      moved.b.data = address(0x500000000);
      Part part = part_with_copies(problem);
      for (const std::uintptr_t workspace : {there, here, there}) {
        part.move_to(values_at(moved, workspace), maps);
        const CopiesParams seen = params_of(part), expected = params_of(moved, workspace);
        EXPECT_EQ(std::memcmp(&seen, &expected, sizeof seen), 0);
        EXPECT_EQ(seen.operands[0].to != nullptr, copies_a);
        EXPECT_EQ(seen.operands[1].to != nullptr, copies_b);
      }
    }
}

}  // namespace
}  // namespace bwgemm
