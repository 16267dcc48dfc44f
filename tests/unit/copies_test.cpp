// SPDX-License-Identifier: Apache-2.0
// Copies of operands that TMA cannot load: which they are, how they lie, and the launch that makes
// them. When they are chosen is in copied_choice_test.cpp.
#include "rules/copies.h"

#include <gtest/gtest.h>
#include <utility>

#include "families/copies/step.h"
#include "problems.h"
#include "rules/rejects.h"

namespace bwgemm {
namespace {

using test::address, test::in_odd_lines, test::kk, test::kn, test::mk, test::mn, test::problem_of;

constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;  // units that a launch can count

// Of A, whose lines are its rows.
CopiedLines copied_a(std::int64_t rows, std::int64_t elements) {
  const Copies copies = copies_of(in_odd_lines(rows, 64, elements));
  EXPECT_TRUE(copies.a) << rows << " lines of " << elements;
  return copies.a.value_or(CopiedLines{});
}

TEST(Copies, OfWhatTmaCannotLoad) {
  const Problem aligned = problem_of(256, 512, 1024, mn, {}, 3);
  EXPECT_FALSE(copies_of(aligned).any());
  EXPECT_EQ(copies_of(aligned).bytes(), 0u);
  const auto copied = [](const Problem& problem) {
    const Copies copies = copies_of(problem);
    return std::pair(copies.a.has_value(), copies.b.has_value());
  };
  constexpr std::pair none(false, false), only_a(true, false), only_b(false, true);
  for (const std::uintptr_t displacement : {2, 8, 14}) {
    Problem problem = aligned;
    problem.a.data = address(0x100000000 + displacement);
    EXPECT_EQ(copied(problem), only_a);
    problem.a.data = aligned.a.data, problem.b.data = address(0x200000000 + displacement);
    EXPECT_EQ(copied(problem), only_b);
    problem.a.data = address(0x100000000 + displacement);
    EXPECT_EQ(copied(problem), std::pair(true, true));
  }
  for (const std::int64_t more : {1, 4}) {
    Problem problem = aligned;
    problem.a.ld += more;
    EXPECT_EQ(copied(problem), only_a);
    problem = aligned, problem.b.ld += more;
    EXPECT_EQ(copied(problem), only_b);
    problem = aligned, problem.b.batch_stride += more;
    EXPECT_EQ(copied(problem), only_b);
    problem.batch = 1;
    EXPECT_EQ(copied(problem), none) << "of one batch the stride does not matter";
  }
  Problem shifted = aligned;
  shifted.a.data = address(0x100000010), shifted.b.ld += 8;
  shifted.c.data = shifted.d.data = address(0x300000002), shifted.d.ld += 1;
  EXPECT_EQ(copied(shifted), none) << "sixteen bytes suffice, and D is none of it";
}

// Their maps would have more rows than a batch has bytes.
TEST(Copies, OfBatchesThatOverlapMuch) {
  Problem problem = problem_of(256, 512, 1024, kk, {}, 3);
  problem.a.batch_stride = 128;
  EXPECT_FALSE(copies_of(problem).any());
  problem.a.batch_stride = 120;
  EXPECT_TRUE(copies_of(problem).a && !copies_of(problem).b);
}

TEST(Copies, NoneWhereNothingIsRead) {
  Problem problem = in_odd_lines(256, 512, 1023);
  ASSERT_TRUE(copies_of(problem).a && copies_of(problem).b);
  problem.alpha.value = 0;
  EXPECT_FALSE(copies_of(problem).any());
  const float alpha = 0;
  problem.alpha.device = &alpha;
  EXPECT_TRUE(copies_of(problem).any()) << "only the kernels know";
  EXPECT_FALSE(copies_of(in_odd_lines(256, 512, 0)).any());
  EXPECT_FALSE(copies_of(in_odd_lines(0, 512, 1023)).any());
  EXPECT_FALSE(copies_of(in_odd_lines(256, 512, 1023, kk, 0)).any());
}

TEST(Copies, NoneOfWhatIsNoMatrixOf16BitNumbers) {
  Problem arrays = in_odd_lines(256, 512, 1023, kk, 3);
  arrays.is_pointer_array = true;
  EXPECT_FALSE(copies_of(arrays).any());
  Problem mixed = in_odd_lines(256, 512, 1023);
  mixed.b.type = Dtype::f16;
  EXPECT_FALSE(copies_of(mixed).any());
  for (const Dtype type : {Dtype::e4m3, Dtype::f32}) {
    Problem other = in_odd_lines(256, 512, 1023);
    other.a.type = other.b.type = type;
    EXPECT_FALSE(copies_of(other).any());
  }
}

// One that cannot be copied keeps the other from being copied too: kernels would load neither.
TEST(Copies, NoneOfShortLines) {
  EXPECT_FALSE(copies_of(in_odd_lines(256, 512, 7, kk)).any());
  EXPECT_TRUE(copies_of(in_odd_lines(256, 512, 9, kk)).any());
  EXPECT_FALSE(copies_of(in_odd_lines(7, 512, 1023, mk)).any());
  EXPECT_TRUE(copies_of(in_odd_lines(8, 512, 1023, mk)).any());
  EXPECT_TRUE(copies_of(in_odd_lines(7, 512, 1023, kk)).any()) << "seven long lines";
  EXPECT_FALSE(copies_of(in_odd_lines(256, 7, 1023, kn)).any());
  EXPECT_TRUE(copies_of(in_odd_lines(256, 8, 1023, kn)).any());
  Problem loaded = in_odd_lines(256, 7, 1023, kn);
  loaded.b = problem_of(256, 7, 1024, kn).b;
  loaded.b.ld = 8;
  EXPECT_TRUE(copies_of(loaded).a) << "short lines that TMA can load are not to be copied";
}

TEST(Copies, NoneOfMoreThanALaunchCounts) {
  const std::int64_t lines = most / 256;  // of 256 units
  EXPECT_TRUE(copies_of(in_odd_lines(lines, 64, 2047)).any());
  EXPECT_FALSE(copies_of(in_odd_lines(lines + 1, 64, 2047)).any());
  EXPECT_FALSE(copies_of(in_odd_lines(64, lines + 1, 2047)).any());
  EXPECT_TRUE(copies_of(in_odd_lines(64, 64, 2047, kk, lines / 64)).any());
  EXPECT_FALSE(copies_of(in_odd_lines(64, 64, 2047, kk, lines / 64 + 1)).any());
  EXPECT_TRUE(copies_of(in_odd_lines(1, 1, most)).any());
  EXPECT_FALSE(copies_of(in_odd_lines(1, 1, most + 2)).any());
  EXPECT_FALSE(copies_of(in_odd_lines(std::int64_t{1} << 40, 64, 2047)).any());
  EXPECT_FALSE(copies_of(in_odd_lines(64, 64, 2047, kk, std::int64_t{1} << 40)).any());
}

// Lines that begin at whole lines of L2, or at whole sectors, where that costs little.
TEST(Copies, Pitches) {
  const auto pitch = [](std::int64_t elements) { return copied_a(3, elements).pitch; };
  EXPECT_EQ(pitch(8), 8);
  EXPECT_EQ(pitch(9), 16);
  EXPECT_EQ(pitch(56), 56);  // sixty-four would be more than an eighth
  EXPECT_EQ(pitch(57), 64);
  EXPECT_EQ(pitch(100), 112);
  EXPECT_EQ(pitch(1025), 1088);
  EXPECT_EQ(pitch(2063), 2112);
  EXPECT_EQ(pitch(4096), 4096);
  for (std::int64_t elements = 8; elements < 3000; ++elements) {
    const std::int64_t more = pitch(elements) - elements;
    ASSERT_EQ(pitch(elements) % 8, 0) << elements;
    ASSERT_GE(more, 0) << elements;
    const bool is_little = more <= elements / 8;
    ASSERT_TRUE(more < 8 || is_little) << elements;
    if (pitch(elements) % 16 != 0) {
      ASSERT_GT((elements + 15) / 16 * 16 - elements, elements / 8) << elements;
    } else if (pitch(elements) % 64 != 0) {
      ASSERT_GT((elements + 63) / 64 * 64 - elements, elements / 8) << elements;
    }
  }
}

TEST(Copies, LieOneBehindTheOther) {
  for (const test::Majors majors : {kk, kn, mk, mn})
    for (const std::int64_t batch : {1, 5}) {
      const Copies copies = copies_of(in_odd_lines(301, 203, 99, majors, batch));
      ASSERT_TRUE(copies.a && copies.b);
      EXPECT_EQ(copies.a->elements, majors.a_along_k ? 99 : 301);
      EXPECT_EQ(copies.a->lines, majors.a_along_k ? 301 : 99);
      EXPECT_EQ(copies.b->elements, majors.b_along_k ? 99 : 203);
      EXPECT_EQ(copies.b->lines, majors.b_along_k ? 203 : 99);
      for (const CopiedLines& copied : {*copies.a, *copies.b}) {
        EXPECT_EQ(copied.batches, batch);
        const auto filled = static_cast<std::size_t>(2 * copied.pitch * copied.lines * batch);
        EXPECT_GE(copied.bytes, filled);
        EXPECT_LT(copied.bytes, filled + 128);
        EXPECT_EQ(copied.bytes % 128, 0u);
      }
      EXPECT_EQ(copies.a->at, 0u);
      EXPECT_EQ(copies.b->at, copies.a->bytes);
      EXPECT_EQ(copies.bytes(), copies.a->bytes + copies.b->bytes);
    }
  Problem only_b = in_odd_lines(301, 203, 99);
  only_b.a = problem_of(301, 203, 104).a;
  const Copies copies = copies_of(only_b);
  ASSERT_TRUE(!copies.a && copies.b);
  EXPECT_EQ(copies.b->at, 0u);
  EXPECT_EQ(copies.bytes(), copies.b->bytes);
}

TEST(Copies, ARepeatedMatrixIsCopiedOnce) {
  Problem problem = in_odd_lines(301, 203, 99, kn, 5);
  problem.b.batch_stride = 0;
  const Copies copies = copies_of(problem);
  EXPECT_EQ(copies.a->batches, 5);
  EXPECT_EQ(copies.b->batches, 1);
  EXPECT_EQ(with_copies(problem, copies).b.batch_stride, 0);
}

// The kernel sees the product with its copies, and nothing of it is otherwise.
TEST(Copies, TakeThePlaceOfTheirOperands) {
  for (const test::Majors majors : {kk, kn, mk, mn})
    for (const std::int64_t batch : {1, 5}) {
      const Problem problem = in_odd_lines(301, 203, 99, majors, batch);
      const Copies copies = copies_of(problem);
      const std::uintptr_t workspace = 0x700000000;
      Problem source = with_copies(problem, copies, workspace);
      EXPECT_TRUE(fits_map(source.a, copies.a->lines, batch));
      EXPECT_TRUE(fits_map(source.b, copies.b->lines, batch));
      EXPECT_FALSE(copies_of(source).any());
      EXPECT_EQ(source.a.data, address(workspace));
      EXPECT_EQ(source.b.data, address(workspace + copies.b->at));
      EXPECT_EQ(source.a.ld, copies.a->pitch);
      EXPECT_EQ(source.a.batch_stride, batch > 1 ? copies.a->pitch * copies.a->lines : 0);
      EXPECT_EQ(source.a.order, problem.a.order);
      EXPECT_EQ(source.a.type, problem.a.type);
      EXPECT_EQ(with_copies(problem, copies), with_copies(problem, copies, nominal_workspace));
      source.a = problem.a, source.b = problem.b;
      EXPECT_EQ(source, problem);
      EXPECT_EQ(with_copies(problem, Copies{}, workspace), problem);
    }
  Problem only_a = in_odd_lines(301, 203, 99);
  only_a.b = problem_of(301, 203, 104).b;
  EXPECT_EQ(with_copies(only_a, copies_of(only_a)).b, only_a.b);
}

TEST(Copies, TakeTime) {
  const auto us = [](std::int64_t extent, int sms = 132) {
    DeviceFacts facts = nominal_h200;
    facts.sm_count = sms;
    return copying_us(copies_of(in_odd_lines(extent, extent, extent)), facts);
  };
  EXPECT_GT(us(64), 0);
  EXPECT_GT(us(4096), us(64));
  EXPECT_GT(us(4096, 8), 2 * us(4096));
  EXPECT_NEAR(us(64, 8), us(64), 1) << "the launch";
}

}  // namespace
}  // namespace bwgemm
