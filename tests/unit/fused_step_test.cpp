// SPDX-License-Identifier: Apache-2.0
// What steps say of fused operations, and which kernels can do them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_driver.h"
#include "families/registry.h"
#include "families/variants.h"
#include "planned.h"
#include "problems.h"
#include "rows.h"
#include "rules/rejects.h"

namespace bwgemm {
namespace {

using test::address, test::direct90, test::kk, test::kn, test::pair_kernel, test::problem_of,
    test::reason, test::row_named;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view rows_kernel = "bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop";
constexpr std::string_view columns_kernel = "bwgemm_sm90_b16_kk_64x16x64_s13_t_coop";
constexpr std::string_view dot90 = "bwgemm_sm90_b16_8x16x1024_dot";
constexpr std::string_view single_kernel = "bwgemm_sm100_b16_128xNx64_single";

MappedParams params_of(const Problem& problem, std::string_view kernel) {
  TensorMapCache maps(test::fake_encode);
  SelectOptions options;
  options.forced.kernel = kernel;
  ProductContext context;
  context.facts = row_named(kernel).arch == Arch::sm90 ? nominal_h200 : nominal_b200;
  context.resident_clusters = 66;
  const Choice choice = select(problem, context.facts, kernel_variants, options);
  return test::planned_product(problem, row_named(kernel), choice, context, maps).params;
}

Problem gated(Gate gate, std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem = problem_of(m, n, k);
  problem.epilogue.gate = gate;
  problem.epilogue.activation = Activation::silu;
  problem.d.ld = problem.c.ld = n / 2;
  return problem;
}

TEST(Fused, NothingIsZero) {
  const MappedParams params = params_of(problem_of(256, 256, 256), rows_kernel);
  EXPECT_EQ(params.fused.operations, 0u);
  EXPECT_EQ(params.fused.row_bias.data, nullptr);
}

TEST(Fused, VectorsAuxAndCurve) {
  Problem problem = problem_of(256, 512, 256, kk, {}, 3);
  problem.epilogue.activation = Activation::silu;
  problem.epilogue.row_bias = {address(0x10), Dtype::bf16, 256};
  problem.epilogue.column_scale = {address(0x20), Dtype::f32, 0};
  problem.epilogue.aux = {address(0x400), Dtype::f32, Order::row, 520, 520 * 256};
  const FusedParams fused = params_of(problem, rows_kernel).fused;
  EXPECT_EQ(fused.operations, operation::any | operation::swish | operation::row_bias |
                                  operation::column_scale | operation::writes_aux |
                                  operation::aux_f32);
  EXPECT_EQ(fused.row_bias.data, address(0x10));
  EXPECT_EQ(fused.row_bias.batch_stride, 256);
  EXPECT_EQ(fused.aux.outer_stride, 520);
  EXPECT_EQ(fused.aux.batch_stride, 520 * 256);
  EXPECT_FLOAT_EQ(fused.constants[0], -1.442695f);
  EXPECT_EQ(fused.constants[1], 0);
  problem.epilogue.differentiates = true;
  EXPECT_TRUE(params_of(problem, rows_kernel).fused.has(operation::reads_aux));
}

// Kernels that see the problem transposed have the row's vectors along their columns.
TEST(Fused, IsTransposedWithTheProblem) {
  Problem problem = problem_of(8, 256, 256);
  problem.epilogue.row_bias = {address(0x10), Dtype::f32, 0};
  const FusedParams fused = params_of(problem, columns_kernel).fused;
  EXPECT_TRUE(fused.has(operation::column_bias));
  EXPECT_FALSE(fused.has(operation::row_bias));
  EXPECT_EQ(fused.column_bias.data, address(0x10));
}

TEST(Fused, CIsStagedWhereItLooksLikeD) {
  Problem problem = problem_of(256, 256, 256);
  problem.epilogue.activation = Activation::relu;
  problem.beta.value = 1;
  problem.c.data = address(0x400000000);
  EXPECT_FALSE(params_of(problem, rows_kernel).fused.has(operation::loads_c));
  problem.c.type = Dtype::f32;
  const MappedParams params = params_of(problem, rows_kernel);
  EXPECT_TRUE(params.fused.has(operation::loads_c));
  EXPECT_TRUE(params.fused.has(operation::c_f32));
  EXPECT_EQ(params.c.data, problem.c.data);
  EXPECT_EQ(params.c.outer_stride, 256);
  problem.c.type = Dtype::bf16;
  EXPECT_TRUE(params_of(problem, direct90).fused.has(operation::loads_c));
}

TEST(Fused, GatesReorderB) {
  const MappedParams stacked = params_of(gated(Gate::stacked, 256, 512, 320), rows_kernel);
  EXPECT_EQ(stacked.n, 512);
  const test::FakeMap b = test::fake_map(stacked.b_map);
  EXPECT_EQ(b.rank, 5u);
  EXPECT_THAT(b.dims, ElementsAre(320, 8, 2));
  EXPECT_THAT(b.more_dims, ElementsAre(32, 1));
  EXPECT_THAT(b.strides, ElementsAre(640, 256 * 640));
  EXPECT_EQ(b.more_strides[0], 8u * 640);
  EXPECT_THAT(b.box, ElementsAre(64, 8, 2));
  EXPECT_THAT(b.more_box, ElementsAre(8, 1));
  EXPECT_EQ(test::fake_map(stacked.d_map).dims[0], 256u);
  const MappedParams interleaved = params_of(gated(Gate::interleaved, 256, 512, 320), rows_kernel);
  EXPECT_THAT(test::fake_map(interleaved.b_map).strides, ElementsAre(2 * 640, 640));
  EXPECT_EQ(test::fake_map(interleaved.b_map).more_strides[0], 16u * 640);
}

// Where the problem is seen transposed, columns of the given B are rows of the kernel's A, and half
// of a tile's rows is D's.
TEST(Fused, GatesReorderAOfColumns) {
  const MappedParams stacked = params_of(gated(Gate::stacked, 8, 512, 320), columns_kernel);
  EXPECT_EQ(stacked.m, 512);
  EXPECT_EQ(stacked.tiles_m, 8);
  EXPECT_EQ(stacked.fused.columns.half, 256);
  const test::FakeMap a = test::fake_map(stacked.a_map);
  EXPECT_EQ(a.rank, 5u);
  EXPECT_THAT(a.dims, ElementsAre(320, 8, 2));
  EXPECT_THAT(a.more_dims, ElementsAre(32, 1));
  EXPECT_THAT(a.strides, ElementsAre(640, 256 * 640));
  EXPECT_EQ(a.more_strides[0], 8u * 640);
  EXPECT_THAT(a.box, ElementsAre(64, 8, 2));
  EXPECT_THAT(a.more_box, ElementsAre(4, 1));
  EXPECT_EQ(test::fake_map(stacked.b_map).rank, 3u);
  const test::FakeMap d = test::fake_map(stacked.d_map);
  EXPECT_EQ(d.dims[0], 256u);
  EXPECT_EQ(d.dims[1], 8u);
  EXPECT_EQ(d.box[0], 32u);
  Problem wide = gated(Gate::interleaved, 8, 512, 320);
  wide.d.type = wide.c.type = Dtype::f32;
  const MappedParams interleaved = params_of(wide, columns_kernel);
  EXPECT_THAT(test::fake_map(interleaved.a_map).strides, ElementsAre(2 * 640, 640));
  EXPECT_EQ(test::fake_map(interleaved.d_map).box[0], 32u);
}

// Neighbours arrive as they lie; of stacked halves each CTA of a pair loads one, a CTA alone both.
TEST(Fused, TensorMemoryTakesBAsItLies) {
  for (const Gate gate : {Gate::interleaved, Gate::stacked})
    for (const std::string_view kernel : {pair_kernel, single_kernel}) {
      const MappedParams params = params_of(gated(gate, 1024, 4096, 320), kernel);
      const auto width = static_cast<std::uint32_t>(params.tile_n);
      EXPECT_EQ(width % 64, 0u);
      EXPECT_EQ(params.n, 4096);
      EXPECT_EQ(params.tiles_n, 4096 / params.tile_n);
      const test::FakeMap b = test::fake_map(params.b_map), d = test::fake_map(params.d_map);
      EXPECT_EQ(b.rank, 3u);
      EXPECT_THAT(b.dims, ElementsAre(320, 4096, 1));
      const bool is_apart = kernel == pair_kernel || gate == Gate::stacked;
      EXPECT_EQ(b.box[1], is_apart ? width / 2 : width);
      EXPECT_EQ(d.dims[0], 2048u);
      EXPECT_EQ(d.box[0], width / 2 % 64 == 0 ? 64u : 32u);
    }
}

// It computes D's columns twice: of x, then of y.
TEST(Fused, DirectTakesGatesApart) {
  const MappedParams params = params_of(gated(Gate::interleaved, 100, 258, 32), direct90);
  EXPECT_EQ(params.n, 129);
  EXPECT_EQ(params.tiles_n, 3);
  EXPECT_EQ(params.b.outer_stride, 2 * 32);
  EXPECT_EQ(params.fused.b_to_y, 32);
  EXPECT_EQ(params_of(gated(Gate::stacked, 100, 258, 32), direct90).fused.b_to_y, 129 * 32);
  EXPECT_EQ(params.splits, 1);
}

// No other kernel takes so many columns.
TEST(Fused, GatesOfAnyNumberOfColumns) {
  for (const std::int64_t n : {(1LL << 31) - 2, 1LL << 31, (1LL << 32) - 2, 1LL << 32, 3LL << 32})
    for (const Gate gate : {Gate::interleaved, Gate::stacked}) {
      const Problem problem = gated(gate, 3, n, 8);
      for (const DeviceFacts& facts : {nominal_h200, nominal_b200})
        EXPECT_NO_THROW(select(problem, facts, kernel_variants, {})) << n;
      ASSERT_EQ(reason(problem, direct90), "") << n;
      const MappedParams params = params_of(problem, direct90);
      const std::int64_t to_y = gate == Gate::stacked ? n / 2 : 1;
      EXPECT_EQ(params.n, n / 2);
      EXPECT_EQ(params.tiles_n, (n / 2 + 63) / 64);
      EXPECT_EQ(params.fused.to_y, to_y);
      EXPECT_EQ(params.fused.b_to_y, 8 * to_y);
      EXPECT_EQ(params.fused.columns.step, gate == Gate::stacked ? 1 : 2);
    }
}

TEST(Fused, PointersHaveNoStrides) {
  Problem problem = problem_of(64, 64, 64, kk, {}, 5);
  problem.is_pointer_array = true;
  const MappedParams params = params_of(problem, direct90);
  EXPECT_TRUE(params.is_pointer_array);
  EXPECT_EQ(params.a.batch_stride, 0);
  EXPECT_EQ(params.d.batch_stride, 0);
  EXPECT_THAT(reason(problem, rows_kernel), HasSubstr("arrays of pointers"));
  EXPECT_THAT(reason(problem_of(8, 64, 64), dot90), "");
}

TEST(Fused, WhatKernelsRefuse) {
  const Problem problem = gated(Gate::stacked, 256, 512, 256);
  EXPECT_EQ(reason(problem, rows_kernel), "");
  EXPECT_EQ(reason(problem, direct90), "");
  EXPECT_EQ(reason(problem, pair_kernel), "");
  EXPECT_THAT(reason(problem, "bwgemm_sm100_b16_128xNx64_t_single"), HasSubstr("has no gate"));
  EXPECT_THAT(reason(gated(Gate::stacked, 8, 512, 256), dot90), HasSubstr("has no gate"));
  Problem odd = gated(Gate::stacked, 256, 504, 256);
  odd.d.ld = 256;
  EXPECT_THAT(reason(odd, rows_kernel), HasSubstr("whole groups of 16 columns"));
  EXPECT_EQ(reason(problem, columns_kernel), "");
  EXPECT_THAT(reason(odd, columns_kernel), HasSubstr("whole groups of 16 columns"));
  Problem stored = problem;
  stored.epilogue.aux = {address(0x400), Dtype::f32, Order::row, 512, 0};
  EXPECT_THAT(reason(stored, columns_kernel), HasSubstr("stores no aux of a gate"));
  Problem along_n = problem_of(256, 512, 256, kn);
  along_n.epilogue = problem.epilogue;
  along_n.d.ld = 256;
  EXPECT_THAT(reason(along_n, "bwgemm_sm90_b16_mk_64x16x64_s13_t_coop"),
              HasSubstr("a gate needs columns of B contiguous along k"));
  Problem halves = problem_of(256, 504, 256, kn, {.output = Dtype::f32});
  halves.epilogue = problem.epilogue;
  halves.d.ld = 256;
  EXPECT_THAT(reason(halves, pair_kernel), HasSubstr("second half of a row of B"));
  halves.epilogue.gate = Gate::interleaved;
  EXPECT_EQ(reason(halves, pair_kernel), "");
  Problem aux = problem_of(256, 256, 256);
  aux.epilogue.aux = {address(0x402), Dtype::f32, Order::row, 256, 0};
  EXPECT_THAT(reason(aux, rows_kernel), HasSubstr("aux is not in aligned pairs"));
  EXPECT_EQ(reason(aux, direct90), "");
}

}  // namespace
}  // namespace bwgemm
