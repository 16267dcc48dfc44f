// SPDX-License-Identifier: Apache-2.0
// What a kernel cannot serve, and how it says so.
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "families/variants.h"
#include "problems.h"
#include "rows.h"

namespace bwgemm {
namespace {

using test::big_kk, test::direct90, test::kk, test::kn, test::mk, test::mn, test::pair_kernel,
    test::problem_of, test::reason, test::row_named;
using ::testing::HasSubstr;

TEST(Rejects, TypesAndMajors) {
  EXPECT_EQ(reason(problem_of(256, 256, 256)), "");
  EXPECT_THAT(reason(problem_of(256, 256, 256), pair_kernel), "");
  EXPECT_EQ(reason(problem_of(256, 256, 256, kk, {Dtype::f16, Dtype::f16})), "");
  EXPECT_EQ(reason(problem_of(256, 256, 256, kk, {Dtype::bf16, Dtype::f16})), "");
  EXPECT_THAT(reason(problem_of(256, 256, 256, kk, {Dtype::bf16, Dtype::e4m3})),
              HasSubstr("D is none of bf16, f16 and f32"));
  EXPECT_THAT(reason(problem_of(256, 256, 256, kk, {Dtype::e4m3, Dtype::bf16})),
              HasSubstr("takes A and B both of bf16"));
  EXPECT_EQ(reason(problem_of(256, 256, 256, kk, {Dtype::bf16, Dtype::f32})), "");
  EXPECT_THAT(reason(problem_of(256, 256, 256, mk)), HasSubstr("A contiguous along k"));
  EXPECT_THAT(reason(problem_of(256, 256, 256, kn)), HasSubstr("B contiguous along k"));
  Problem problem = problem_of(256, 256, 256);
  problem.b.type = Dtype::f16;
  EXPECT_THAT(reason(problem), HasSubstr("takes A and B both of bf16 or both of f16"));
  problem = problem_of(256, 256, 256);
  problem.c.type = Dtype::f32;
  EXPECT_EQ(reason(problem), "");  // C is not read
  problem.beta.value = 1;
  EXPECT_EQ(reason(problem), "");  // the epilogue loads it
  problem.c.type = Dtype::f16;
  EXPECT_THAT(reason(problem), HasSubstr("C is neither of the 16-bit type of the output"));
  EXPECT_THAT(reason(problem, direct90),
              HasSubstr("C is neither of the 16-bit type of the output"));
}

TEST(Rejects, OrdersOfTheOutput) {
  Problem problem = problem_of(256, 256, 256);
  problem.c.order = Order::column;
  EXPECT_EQ(reason(problem), "");  // C is not read
  problem.beta.value = 1;
  EXPECT_THAT(reason(problem), HasSubstr("C is neither laid out as D"));
  EXPECT_EQ(reason(problem, direct90), "");
  problem.d.order = Order::column;
  EXPECT_THAT(reason(problem), HasSubstr("row order"));
  EXPECT_EQ(reason(problem, direct90), "");
}

TEST(Rejects, AlignmentOfEveryMatrix) {
  struct Case {
    Matrix Problem::*matrix;
    const char* letter;
  };
  for (const Case& one : {Case{&Problem::a, "A"}, Case{&Problem::b, "B"}, Case{&Problem::d, "D"}}) {
    SCOPED_TRACE(one.letter);
    const auto changed = [&](const std::function<void(Matrix&)>& change) {
      Problem problem = problem_of(256, 256, 256, kk, {}, 2);
      problem.beta.value = 1;
      EXPECT_EQ(reason(problem), "");
      change(problem.*one.matrix);
      EXPECT_EQ(reason(problem, direct90), "");  // which has no such rules
      return reason(problem);
    };
    const std::string letter = one.letter;
    EXPECT_THAT(changed([](Matrix& matrix) { matrix.data = test::address(0x100000008); }),
                HasSubstr(letter + " does not start at a multiple of 16 bytes"));
    EXPECT_THAT(changed([](Matrix& matrix) { matrix.ld = 260; }),
                HasSubstr("leading dimension of " + letter + " is not a multiple"));
    EXPECT_THAT(changed([](Matrix& matrix) { matrix.ld = std::int64_t{1} << 39; }),
                HasSubstr("leading dimension of " + letter + " reaches 2^40"));
    EXPECT_THAT(changed([](Matrix& matrix) { matrix.batch_stride += 4; }),
                HasSubstr("batch stride of " + letter + " is not a multiple"));
    EXPECT_THAT(changed([](Matrix& matrix) { matrix.batch_stride = std::int64_t{1} << 39; }),
                HasSubstr("batch stride of " + letter + " reaches 2^40"));
    EXPECT_THAT(changed([](Matrix& matrix) { matrix.batch_stride = 8; }),
                HasSubstr("batch stride of " + letter + " is smaller"));
  }
}

// Kernels that see the problem transposed speak of it as it was given all the same.
TEST(Rejects, NamesTheOperandsAsGiven) {
  constexpr auto columns = "bwgemm_sm90_b16_kk_64x16x64_s13_t_coop";
  constexpr auto dot = "bwgemm_sm90_b16_8x16x1024_dot";
  EXPECT_EQ(reason(problem_of(8, 256, 256), columns), "");
  EXPECT_THAT(reason(problem_of(8, 256, 256, mk), columns), HasSubstr("A contiguous along k"));
  EXPECT_THAT(reason(problem_of(8, 256, 256, kn), columns), HasSubstr("B contiguous along k"));
  EXPECT_THAT(reason(problem_of(8, 256, 256, kn), dot), HasSubstr("B contiguous along k"));
  EXPECT_THAT(reason(problem_of(256, 8, 256, mk), dot), HasSubstr("A contiguous along k"));
  Problem problem = problem_of(8, 256, 256);
  problem.a.ld = 260;
  EXPECT_THAT(reason(problem, columns), HasSubstr("leading dimension of A"));
  problem = problem_of(8, 256, 256);
  problem.b.data = test::address(0x100000008);
  EXPECT_THAT(reason(problem, columns), HasSubstr("B does not start"));
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  EXPECT_THAT(reason(problem_of(limit - 8, 8, 8), columns), HasSubstr("m is too large"));
  EXPECT_THAT(reason(problem_of(8, limit - 8, 8), columns), HasSubstr("n is too large"));
}

TEST(Rejects, RowsOfTheOutputThatTmaWouldOverstep) {
  Problem problem = problem_of(256, 252, 256);  // 252 elements of 2 bytes end inside 16 bytes
  problem.d.ld = problem.c.ld = 264;
  EXPECT_THAT(reason(problem), HasSubstr("rows of D do not end at a multiple of 16 bytes"));
  EXPECT_EQ(reason(problem, direct90), "");
  problem.d.type = problem.c.type = Dtype::f32;  // of 4 bytes they do not
  EXPECT_EQ(reason(problem), "");
}

// A box of D that begins inside the one before it would find D where C was.
TEST(Rejects, CAndAuxOfTilesWhoseBoxesOverlap) {
  constexpr const char* overlapping[] = {"bwgemm_sm90_b16_kk_128x144x64_s5_pp_coop",
                                         "bwgemm_sm90_b16_kk_128x104x64_s7_t_coop"};
  const float on_device = 1;
  Problem scaled = problem_of(256, 256, 256);  // by an alpha that the kernel reads
  scaled.alpha.device = &on_device;
  for (const char* kernel : overlapping) {
    EXPECT_EQ(reason(problem_of(256, 256, 256), kernel), "");
    EXPECT_EQ(reason(scaled, kernel), "");
  }
  const std::function<void(Problem&)> matrices[] = {
      [](Problem& problem) { problem.beta.value = 1; },
      [&](Problem& problem) { problem.beta.device = &on_device; },  // perhaps
      [](Problem& problem) {
        problem.epilogue.aux = problem.d;
        problem.epilogue.aux.data = test::address(0x400000000);
      },
  };
  for (const auto& add : matrices) {
    Problem problem = problem_of(256, 256, 256);
    add(problem);
    for (const char* kernel : overlapping)
      EXPECT_THAT(reason(problem, kernel), HasSubstr("takes neither C nor aux"));
    EXPECT_EQ(reason(problem, "bwgemm_sm90_b16_kk_128x160x64_s5_pp_coop"), "");
  }
}

// D that TMA cannot store leaves line by line, if nothing but products and vectors go into it.
TEST(Rejects, LinesOfTheOutputThatTmaCannotStore) {
  constexpr auto rows = "bwgemm_sm90_b16_kk_128x128x64_s6_coop";
  constexpr auto columns = "bwgemm_sm90_b16_kk_64x16x64_s13_t_coop";
  const std::function<void(Problem&)> layouts[] = {
      [](Problem& problem) { problem.d.data = test::address(0x300000002); },
      [](Problem& problem) { problem.d.ld = 257; },
      [](Problem& problem) { problem.d.ld = std::int64_t{1} << 39; },
      [](Problem& problem) { problem.n = 255; },
  };
  for (const auto& lay_out : layouts)
    for (const std::string_view kernel : {rows, columns}) {
      Problem problem = problem_of(16, 256, 256);
      lay_out(problem);
      EXPECT_EQ(reason(problem, kernel), "");
      EXPECT_NE(reason(problem, "bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop"), "");  // a cluster
      EXPECT_NE(reason(problem, "bwgemm_sm90_b16_kk_128x192x64_s4_pp_coop"), "");   // no registers
      Problem other = problem;
      other.beta.value = 1;
      EXPECT_NE(reason(other, kernel), "");
      other = problem;
      other.beta.device = &other.beta.value;
      EXPECT_NE(reason(other, kernel), "");
      other = problem;
      other.epilogue.gate = Gate::interleaved;
      EXPECT_NE(reason(other, kernel), "");
      other = problem;
      other.epilogue.column_bias = {test::address(0x400000000), Dtype::bf16, 0};
      EXPECT_EQ(reason(other, kernel).empty(), kernel == columns || problem.n % 2 == 0);
    }
}

TEST(Rejects, WhatIsNotReadIsNotJudged) {
  Problem problem = problem_of(256, 256, 256);
  problem.a.batch_stride = problem.b.batch_stride = problem.d.batch_stride = 3;  // one batch
  problem.c = {test::address(0x100000001), Dtype::f32, Order::column, 3, 5};
  EXPECT_EQ(reason(problem), "");
  problem = problem_of(256, 256, 256, kk, {}, 2);
  problem.a.batch_stride = problem.b.batch_stride = 0;  // repeated
  EXPECT_EQ(reason(problem), "");
  problem.beta.value = 1;
  problem.c.batch_stride = 0;
  EXPECT_EQ(reason(problem), "");  // the epilogue loads it
}

TEST(Rejects, Sizes) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  EXPECT_THAT(reason(problem_of(limit - 8, 8, 8)), HasSubstr("m is too large"));
  EXPECT_THAT(reason(problem_of(8, limit - 8, 8)), HasSubstr("n is too large"));
  EXPECT_THAT(reason(problem_of(8, 8, limit - 8)), HasSubstr("k is too large"));
  EXPECT_THAT(reason(problem_of(limit - 8, 8, 8), pair_kernel), HasSubstr("m is too large"));
  EXPECT_EQ(reason(problem_of(limit - 1024, 8, 8)), "");
  // What bwgemm.h says that no kernel serves.
  constexpr std::int64_t longest = (std::int64_t{1} << 36) - 64, most_tiles = limit - 1;
  constexpr std::string_view direct = "bwgemm_sm90_b16_64x64x32_direct";
  EXPECT_EQ(reason(problem_of(8, 8, longest), direct), "");
  EXPECT_THAT(reason(problem_of(8, 8, longest + 1), direct), HasSubstr("k is too large"));
  EXPECT_EQ(reason(problem_of(1, 64 * most_tiles, 8), direct), "");
  EXPECT_THAT(reason(problem_of(1, 64 * most_tiles + 1, 8), direct), HasSubstr("tiles"));
  EXPECT_THAT(reason(problem_of(8, 8, 8, kk, {}, limit)), HasSubstr("batches"));
  EXPECT_THAT(reason(problem_of(8, 8, 8, kk, {}, limit), direct90), HasSubstr("batches"));
  EXPECT_THAT(reason(problem_of(1 << 20, 1 << 20, 8, kk, {}, 1 << 10)), HasSubstr("tiles"));
}

TEST(Rejects, ProblemsThatOnlyScale) {
  Problem problem = problem_of(256, 256, 256);
  problem.alpha.value = 0;
  problem.a.data = problem.b.data = nullptr;
  EXPECT_THAT(reason(problem), HasSubstr("A and B are not to be touched"));
  EXPECT_THAT(reason(problem, pair_kernel), HasSubstr("A and B are not to be touched"));
  EXPECT_EQ(reason(problem, direct90), "");
  SelectOptions options;
  options.workspace_bytes = 32 << 20;
  EXPECT_EQ(select(problem, nominal_h200, kernel_variants, options).splits, 1);
}

}  // namespace
}  // namespace bwgemm
