// SPDX-License-Identifier: Apache-2.0
// The maps of operands that start anywhere: which elements each class's map covers, that no address
// behind or in front of the operand's 16-byte units is in one, and what selection refuses.
#include <cstdint>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_driver.h"
#include "families/registry.h"
#include "families/sm90/residue_operands.h"
#include "families/variants.h"
#include "problems.h"
#include "program/tensor_map.h"

namespace bwgemm {
namespace {

using test::address, test::fake_map, test::FakeMap, test::kk, test::kn, test::mk, test::mn;
using test::problem_of;

KernelConfig shifted(Major a, Major b) {
  for (const KernelConfig& row : kernel_variants)
    if (row.load == Load::tma_shifted && row.a == a && row.b == b && row.tile.n == 256) return row;
  ADD_FAILURE() << "no such row";
  return kernel_variants[0];
}

class ResidueMaps : public testing::Test {
 protected:
  const ResidueParams& filled(const Problem& problem, Major a, Major b) {
    const Values values = values_of(problem, false);
    Part part;
    Linker linker(part, values, &params_);
    sm90::fill_residues(problem, shifted(a, b), {}, params_, linker);
    part.add({}, &params_, sizeof params_);
    part.move_to(values, maps_);
    std::memcpy(static_cast<void*>(&params_), part.params(), sizeof params_);
    return params_;
  }

  // Lines of `matrix`: `count` of `length` elements. Every element is loaded or in a line's head.
  static void expect_covers(const ResidueOperand& operand, const Matrix& matrix, std::int64_t count,
                            std::int64_t length) {
    ASSERT_TRUE(operand.by_class);
    const auto base = reinterpret_cast<std::uintptr_t>(matrix.data);
    for (std::int64_t line = 0; line < count; ++line) {
      const auto j = static_cast<int>(line % residue_classes);
      const FakeMap map = fake_map(operand.maps[j]);
      const std::uint64_t start = base + static_cast<std::uint64_t>(2 * line * matrix.ld);
      const std::uint64_t mapped =
          map.address + static_cast<std::uint64_t>(line / residue_classes) * map.strides[0];
      EXPECT_EQ(map.address % 16, 0u);
      EXPECT_LT(line / residue_classes, static_cast<std::int64_t>(map.dims[1]));
      EXPECT_EQ(mapped, start / 16 * 16) << line;
      EXPECT_EQ(mapped + 2 * map.dims[0], start + 2 * static_cast<std::uint64_t>(length)) << line;
      EXPECT_EQ(mapped + 2 * static_cast<std::uint64_t>(operand.first_loaded(j)),
                start + 2 * std::uint64_t{operand.heads[j]})
          << line;
    }
    for (int j = 0; j < residue_classes && j < count; ++j)
      EXPECT_EQ(fake_map(operand.maps[j]).dims[1], static_cast<std::uint64_t>((count - j + 7) / 8));
  }

  TensorMapCache maps_{test::fake_encode};
  ResidueParams params_;
};

TEST_F(ResidueMaps, EveryStartAndLeadingDimension) {
  for (int displacement = 0; displacement < 8; ++displacement)
    for (int ld = 100; ld < 108; ++ld) {
      if (displacement == 0 && ld % 8 == 0) continue;  // as TMA has it
      Problem problem = problem_of(37, 300, 99);
      problem.a.data = address(0x100000000 + 2 * static_cast<std::uintptr_t>(displacement));
      problem.a.ld = ld;
      const ResidueParams& params = filled(problem, Major::k, Major::k);
      expect_covers(params.residues_a, problem.a, 37, 99);
      EXPECT_TRUE(params.residues_a.shifted);
      EXPECT_EQ(fake_map(params.residues_a.maps[3]).box[0], 64u);
      EXPECT_EQ(fake_map(params.residues_a.maps[3]).box[1], 16u);
    }
}

TEST_F(ResidueMaps, AlignedOperandsAreLoadedInOrder) {
  const Problem problem = problem_of(512, 512, 128);
  const ResidueParams& params = filled(problem, Major::k, Major::k);
  EXPECT_FALSE(params.residues_a.by_class || params.residues_a.shifted);
  EXPECT_FALSE(params.residues_b.by_class || params.residues_b.shifted);
  EXPECT_EQ(fake_map(params.residues_a.maps[0]).box[1], 32u);
  EXPECT_EQ(fake_map(params.residues_b.maps[0]).box[1], 64u);
}

TEST_F(ResidueMaps, OneOrderOfKForBothOperands) {
  Problem problem = problem_of(512, 512, 128, mn);
  problem.b.ld = 513;
  const ResidueParams& params = filled(problem, Major::mn, Major::mn);
  EXPECT_TRUE(params.residues_a.by_class);
  EXPECT_FALSE(params.residues_a.shifted);
  expect_covers(params.residues_a, problem.a, 128, 512);
  expect_covers(params.residues_b, problem.b, 128, 512);
  EXPECT_EQ(fake_map(params.residues_b.maps[7]).box[1], 8u);
}

TEST_F(ResidueMaps, AlignedRowsOfKBesideUnalignedOnes) {
  Problem problem = problem_of(512, 512, 128, kn);
  problem.a.ld = 129;
  const ResidueParams& params = filled(problem, Major::k, Major::mn);
  EXPECT_TRUE(params.residues_a.by_class);
  EXPECT_FALSE(params.residues_b.by_class);
  EXPECT_EQ(fake_map(params.residues_b.maps[0]).box[1], 64u);
}

// TMA begins at first_loaded: behind the only element.
TEST_F(ResidueMaps, ClassesWithoutLinesLoadZeros) {
  Problem problem = problem_of(3, 300, 99);
  problem.a.ld = 101;
  const ResidueOperand& operand = filled(problem, Major::k, Major::k).residues_a;
  expect_covers(operand, problem.a, 3, 99);
  for (int j = 3; j < residue_classes; ++j) {
    EXPECT_EQ(fake_map(operand.maps[j]).dims[0], 1u);
    EXPECT_EQ(operand.first_loaded(j), 8);
    EXPECT_EQ(fake_map(operand.maps[j]).address, 0x100000000u);
  }
}

// Three batches of 37 lines are 111 lines, those of k stay a batch each.
TEST_F(ResidueMaps, BatchesOfWholeLinesAreOneMatrix) {
  Problem problem = problem_of(37, 300, 99, kn);
  problem.batch = 3;
  problem.a.ld = 101;
  problem.a.batch_stride = 37 * 101;
  problem.b.batch_stride = 99 * problem.b.ld;
  const ResidueParams& params = filled(problem, Major::k, Major::mn);
  expect_covers(params.residues_a, problem.a, 111, 99);
  EXPECT_EQ(params.residues_a.batch_lines, 37);
  EXPECT_EQ(params.a_batch_step, 0);
  EXPECT_EQ(fake_map(params.residues_a.maps[2]).dims[2], 1u);
  EXPECT_EQ(params.residues_b.batch_lines, 0);
  EXPECT_EQ(fake_map(params.residues_b.maps[0]).dims[2], 3u);
}

TEST_F(ResidueMaps, MapsComeFromTheCache) {
  Problem problem = problem_of(512, 512, 99);
  filled(problem, Major::k, Major::k);
  const std::uint64_t misses = maps_.counters().misses;
  EXPECT_EQ(misses, 16u);
  filled(problem, Major::k, Major::k);
  EXPECT_EQ(maps_.counters().misses, misses);
}

TEST(ResidueRejects, OnlyWhatNoClassCanServe) {
  const KernelConfig row = shifted(Major::k, Major::k);
  Problem problem = problem_of(100, 101, 103);
  problem.a.data = address(0x100000002);
  problem.d.data = problem.c.data = address(0x300000006);
  EXPECT_STREQ(rejects(problem, nominal_h200, row), nullptr);
  Problem batches = problem;
  batches.batch = 2;
  batches.a.batch_stride = 100 * batches.a.ld + 1;
  EXPECT_STREQ(rejects(batches, nominal_h200, row),
               "the batch stride of A is not a multiple of 16 bytes");
  batches.a.batch_stride = batches.b.batch_stride = 1 << 14;
  EXPECT_STREQ(rejects(batches, nominal_h200, row), nullptr);
  batches.d.batch_stride = batches.c.batch_stride = 10101;
  EXPECT_STREQ(rejects(batches, nominal_h200, row), nullptr);
  batches.a.batch_stride = 101 * batches.a.ld;  // whole lines
  EXPECT_STREQ(rejects(batches, nominal_h200, row), nullptr);
  batches.batch = (std::int64_t{1} << 31) / 101;
  EXPECT_STREQ(rejects(batches, nominal_h200, row),
               "the batch stride of A is not a multiple of 16 bytes");
  Problem far = problem;
  far.b.ld = std::int64_t{1} << 36;
  EXPECT_STREQ(rejects(far, nominal_h200, row), "the leading dimension of B reaches 2^40 bytes");
  far.b.ld -= 1;
  EXPECT_STREQ(rejects(far, nominal_h200, row), nullptr);
}

}  // namespace
}  // namespace bwgemm
