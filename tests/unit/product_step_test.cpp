// SPDX-License-Identifier: Apache-2.0
// The step that multiplies: the grid, the maps' geometry and every parameter, for each family.
#include "product_step.h"

#include <cstddef>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "core/error.h"
#include "fake_driver.h"
#include "families/registry.h"
#include "families/variants.h"
#include "planned.h"
#include "problems.h"
#include "rows.h"
#include "support/quick.h"

namespace bwgemm {
namespace {

using test::ProductStep, test::big_kk, test::direct90, test::kk, test::kn, test::mk, test::mn,
    test::pair_kernel, test::problem_of;
using ::testing::ElementsAre;

constexpr std::string_view big_mn = "bwgemm_sm90_b16_mn_128x256x64_2x1_s4_coop";
constexpr std::string_view small_kk = "bwgemm_sm90_b16_kk_128x128x64_s6_coop";
constexpr std::string_view dot90_k = "bwgemm_sm90_b16_8x16x1024_dot";
constexpr std::string_view dot90_n = "bwgemm_sm90_b16_8x64x256_dot";

TEST_F(ProductStep, CooperativeParameters) {
  Problem problem = problem_of(4096, 8192, 512);
  problem.alpha.value = 2;
  const float on_device = 3;
  problem.beta.device = &on_device;
  const test::Planned plan = planned(problem, big_kk);
  EXPECT_EQ(plan.variant, choice_.variant);
  EXPECT_EQ(plan.cluster, 2);
  EXPECT_EQ(plan.grid, 132);
  EXPECT_EQ(plan.threads,
            sm90::warpgroups_of(kernel_variants[static_cast<std::size_t>(plan.variant)]).threads);
  const MappedParams& params = plan.params;
  EXPECT_EQ(params.tiles_m, 16);
  EXPECT_EQ(params.tiles_n, 32);
  EXPECT_EQ(params.batch, 1);
  EXPECT_EQ(params.k_blocks, 8);
  EXPECT_EQ(params.raster_group, choice_.raster_group);
  EXPECT_EQ(params.tile_n, 256);
  EXPECT_EQ(params.stages, 4);
  EXPECT_EQ(params.alpha, problem.alpha);
  EXPECT_EQ(params.beta, problem.beta);
  EXPECT_EQ(params.m, 4096);
  EXPECT_EQ(params.n, 8192);
  EXPECT_EQ(params.k, 512);
  EXPECT_EQ(params.input_types.a, Dtype::bf16);
  EXPECT_EQ(params.type16, Dtype::bf16);
  EXPECT_EQ(params.d_type, Dtype::bf16);
  EXPECT_EQ(params.a_major, Major::k);
  EXPECT_EQ(params.b_major, Major::k);
  EXPECT_EQ(params.partials, nullptr);
}

TEST_F(ProductStep, KMajorMaps) {
  const test::Planned plan = planned(problem_of(4096, 8192, 512), big_kk);
  const test::FakeMap a = test::fake_map(plan.params.a_map);
  EXPECT_EQ(a.address, 0x100000000u);
  EXPECT_THAT(a.dims, ElementsAre(512, 4096, 1));
  EXPECT_EQ(a.strides[0], 512u * 2);
  EXPECT_THAT(a.box, ElementsAre(64, 128, 1));
  EXPECT_EQ(a.swizzle, static_cast<std::uint32_t>(CU_TENSOR_MAP_SWIZZLE_128B));
  const test::FakeMap b = test::fake_map(plan.params.b_map);
  EXPECT_THAT(b.dims, ElementsAre(512, 8192, 1));
  EXPECT_THAT(b.box, ElementsAre(64, 128, 1));  // half of the tile: the cluster shares it
  const test::FakeMap d = test::fake_map(plan.params.d_map);
  EXPECT_THAT(d.dims, ElementsAre(8192, 4096, 1));
  EXPECT_THAT(d.box, ElementsAre(64, 64, 1));
  EXPECT_EQ(test::fake_map(plan.params.c_map), d);
  EXPECT_EQ(maps_.counters().misses, 3u);
}

TEST_F(ProductStep, PromotesWhatManyTilesReadInWholeLines) {
  constexpr std::uint32_t none = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  constexpr std::uint32_t promoted = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  const test::Planned few_rows = planned(problem_of(128, 8192, 512, kk), small_kk);
  EXPECT_EQ(test::fake_map(few_rows.params.a_map).promotion, promoted);
  EXPECT_EQ(test::fake_map(few_rows.params.b_map).promotion, none);
  const test::Planned more_rows = planned(problem_of(129, 128, 512, kk), small_kk);
  EXPECT_EQ(test::fake_map(more_rows.params.a_map).promotion, none);
  EXPECT_EQ(test::fake_map(more_rows.params.b_map).promotion, promoted);
  const test::Planned straddling = planned(problem_of(8192, 8192, 520, kk), small_kk);
  EXPECT_EQ(test::fake_map(straddling.params.a_map).promotion, none);
  EXPECT_EQ(test::fake_map(straddling.params.b_map).promotion, none);
}

// Half of an H200's 60 MiB are 3840 rows of 4096 columns of 16 bits.
TEST_F(ProductStep, OutputsThatL2CannotKeepStreamBy) {
  EXPECT_FALSE(planned(problem_of(3840, 4096, 512, kk), small_kk).params.d_streams_by);
  EXPECT_TRUE(planned(problem_of(3841, 4096, 512, kk), small_kk).params.d_streams_by);
  Problem wide = problem_of(3840, 4096, 512, kk);
  wide.d.type = wide.c.type = Dtype::f32;
  EXPECT_TRUE(planned(wide, small_kk).params.d_streams_by);
  Problem gated = problem_of(3840, 8192, 512, kk);
  gated.epilogue.gate = Gate::interleaved;
  EXPECT_FALSE(planned(gated, small_kk).params.d_streams_by);
  Problem batched = problem_of(1280, 4096, 512, kk);
  batched.batch = 4;
  EXPECT_TRUE(planned(batched, small_kk).params.d_streams_by);
  batched.bias_gradient.of = Summed::d;  // the kernel that sums D reads it at once
  EXPECT_FALSE(planned(batched, small_kk).params.d_streams_by);
}

TEST_F(ProductStep, MnMajorMaps) {
  const test::Planned plan = planned(problem_of(4096, 8192, 512, mn), big_mn);
  const test::FakeMap a = test::fake_map(plan.params.a_map);
  EXPECT_THAT(a.dims, ElementsAre(4096, 512, 1));
  EXPECT_THAT(a.box, ElementsAre(64, 64, 1));
  const test::FakeMap b = test::fake_map(plan.params.b_map);
  EXPECT_THAT(b.dims, ElementsAre(8192, 512, 1));
  EXPECT_THAT(b.box, ElementsAre(64, 64, 1));
  EXPECT_EQ(plan.params.a_major, Major::mn);
  EXPECT_EQ(plan.params.b_major, Major::mn);
}

// Boxes as wide as the swizzle; tiles of two dimensions; as many CTAs as tiles.
TEST_F(ProductStep, TechniquesOfTensorMemoryKernels) {
  const Problem problem = problem_of(4096, 4096, 256);
  const test::Planned narrow = planned(problem, "bwgemm_sm100_b16_256xNx64_2x1_swz32_pair");
  const test::FakeMap a = test::fake_map(narrow.params.a_map);
  EXPECT_THAT(a.box, ElementsAre(16, 128, 1));
  EXPECT_EQ(a.swizzle, static_cast<std::uint32_t>(CU_TENSOR_MAP_SWIZZLE_32B));
  const test::Planned none = planned(problem, "bwgemm_sm100_b16_256xNx64_2x1_swz0_pair");
  EXPECT_EQ(test::fake_map(none.params.a_map).swizzle,
            static_cast<std::uint32_t>(CU_TENSOR_MAP_SWIZZLE_NONE));
  EXPECT_EQ(narrow.grid, 148);
  for (const char* kernel :
       {"bwgemm_sm100_b16_256xNx64_2x1_clc_pair", "bwgemm_sm100_b16_256xNx64_2x1_once_pair"}) {
    const test::Planned plan = planned(problem, kernel);
    EXPECT_EQ(plan.grid, 2 * plan.params.tiles_m * plan.params.tiles_n) << kernel;
  }
  const test::Planned shared = planned(problem, "bwgemm_sm100_b16_256xNx64_4x1_pair");
  EXPECT_EQ(shared.params.tiles_m, 8);
  EXPECT_EQ(test::fake_map(shared.params.b_map).box[1],
            static_cast<std::uint32_t>(shared.params.tile_n) / 4);
}

// Where tiles are no whole boxes threads store what is left, and load its C. A fused epilogue
// loads all of C; the others leave through boxes of 32 columns.
TEST_F(ProductStep, WhatIsNoWholeBoxIsStoredByThreads) {
  Problem problem = problem_of(18944, 144, 4096);
  problem.c = problem.d;
  problem.beta.value = 1;
  const test::Planned rest = planned(problem, pair_kernel);
  EXPECT_EQ(rest.params.tile_n, 144);
  EXPECT_EQ(rest.params.d.data, problem.d.data);
  EXPECT_EQ(rest.params.c.data, problem.c.data);
  EXPECT_EQ(rest.params.d.outer_stride, problem.d.ld);
  EXPECT_EQ(rest.params.fused.operations, 0u);
  EXPECT_THAT(test::fake_map(rest.params.d_map).box, ElementsAre(32, 128, 1));
  const float elsewhere = 0;
  problem.c.data = &elsewhere;  // a fused epilogue does not load a C that is D so
  problem.epilogue.activation = Activation::relu;
  const test::Planned fused = planned(problem, pair_kernel);
  EXPECT_EQ(fused.params.tile_n, 144);
  EXPECT_EQ(fused.params.fused.operations & operation::loads_c, operation::loads_c);
  const test::Planned whole = planned(problem_of(18944, 128, 4096), pair_kernel);
  EXPECT_EQ(whole.params.tile_n, 128);
  EXPECT_EQ(whole.params.d.data, nullptr);
}

TEST_F(ProductStep, PairWithRunTimeTile) {
  const test::Planned plan =
      planned(problem_of(256, 32, 256, kk, {Dtype::f16, Dtype::f16}), pair_kernel);
  EXPECT_EQ(plan.grid, 2);
  EXPECT_EQ(plan.params.tile_n, 32);
  EXPECT_EQ(plan.params.stages,
            sm100::stages_that_fit(sm100_variant(sm100_shapes[0]), 32, Major::k));
  EXPECT_EQ(plan.params.input_types.b, Dtype::f16);
  const test::FakeMap b = test::fake_map(plan.params.b_map);
  EXPECT_THAT(b.box, ElementsAre(64, 16, 1));
  EXPECT_EQ(b.type, static_cast<std::uint32_t>(CU_TENSOR_MAP_DATA_TYPE_FLOAT16));
  // 32 columns of 16 bits are 64-byte rows.
  const test::FakeMap d = test::fake_map(plan.params.d_map);
  EXPECT_THAT(d.box, ElementsAre(32, 128, 1));
  EXPECT_EQ(d.swizzle, static_cast<std::uint32_t>(CU_TENSOR_MAP_SWIZZLE_64B));
}

TEST_F(ProductStep, FloatOutput) {
  const test::Planned plan =
      planned(problem_of(512, 512, 512, kk, {Dtype::bf16, Dtype::f32}), big_kk);
  const test::FakeMap d = test::fake_map(plan.params.d_map);
  EXPECT_THAT(d.box, ElementsAre(32, 64, 1));
  EXPECT_EQ(d.strides[0], 512u * 4);
  EXPECT_EQ(d.type, static_cast<std::uint32_t>(CU_TENSOR_MAP_DATA_TYPE_FLOAT32));
  EXPECT_EQ(plan.params.d_type, Dtype::f32);
}

TEST_F(ProductStep, RaggedSizes) {
  const test::Planned plan = planned(problem_of(4104, 4088, 72), big_kk);
  EXPECT_EQ(plan.params.tiles_m, 17);
  EXPECT_EQ(plan.params.tiles_n, 16);
  EXPECT_EQ(plan.params.k_blocks, 2);
  const test::FakeMap a = test::fake_map(plan.params.a_map);
  EXPECT_THAT(a.dims, ElementsAre(72, 4104, 1));
  const test::FakeMap a_rest = test::fake_map(plan.params.a_rest_map);
  EXPECT_THAT(a_rest.dims, ElementsAre(72, 4104, 1));
  EXPECT_THAT(a_rest.box, ElementsAre(64, 4104 % 128, 1));
  EXPECT_THAT(test::fake_map(plan.params.b_rest_map).box, ElementsAre(64, 4088 % 128, 1));
  const test::Planned tiny = planned(problem_of(8, 8, 8), big_kk);
  EXPECT_EQ(tiny.grid, 2);
  EXPECT_EQ(tiny.params.k_blocks, 1);
}

// Whole boxes, and operands whose boxes do not lie along m or n.
TEST_F(ProductStep, NothingIsLeft) {
  const test::Planned whole = planned(problem_of(4096, 8192, 512), big_kk);
  EXPECT_EQ(test::fake_map(whole.params.a_rest_map), test::fake_map(whole.params.a_map));
  EXPECT_EQ(test::fake_map(whole.params.b_rest_map), test::fake_map(whole.params.b_map));
  const test::Planned along_mn = planned(problem_of(4104, 4088, 512, mn), big_mn);
  EXPECT_EQ(test::fake_map(along_mn.params.a_rest_map), test::fake_map(along_mn.params.a_map));
}

TEST_F(ProductStep, BatchesAndRepeatedOperands) {
  Problem problem = problem_of(256, 256, 256, kk, {}, 5);
  test::Planned plan = planned(problem, big_kk);
  EXPECT_EQ(plan.params.batch, 5);
  EXPECT_EQ(plan.params.a_batch_step, 1);
  EXPECT_EQ(plan.params.b_batch_step, 1);
  EXPECT_EQ(test::fake_map(plan.params.a_map).dims[2], 5u);
  EXPECT_EQ(test::fake_map(plan.params.a_map).strides[1], 256u * 256 * 2);
  EXPECT_EQ(test::fake_map(plan.params.d_map).dims[2], 5u);

  problem.a.batch_stride = 0;
  plan = planned(problem, big_kk);
  EXPECT_EQ(plan.params.a_batch_step, 0);
  EXPECT_EQ(plan.params.b_batch_step, 1);
  EXPECT_EQ(test::fake_map(plan.params.a_map).dims[2], 1u);
}

TEST_F(ProductStep, COfItsOwn) {
  Problem problem = problem_of(256, 256, 256);
  problem.c.data = test::address(0x700000000);
  EXPECT_EQ(test::fake_map(planned(problem, big_kk).params.c_map).address, 0x300000000u);
  problem.beta.value = 1;
  EXPECT_EQ(test::fake_map(planned(problem, big_kk).params.c_map).address, 0x700000000u);
}

TEST_F(ProductStep, GridIsLimited) {
  const Problem large = problem_of(8192, 8192, 512);
  EXPECT_EQ(planned(large, big_kk).grid, 132);
  EXPECT_EQ(planned(large, big_kk, 50).grid, 50);
  EXPECT_EQ(planned(large, big_kk, 51).grid, 50);  // whole clusters
  EXPECT_EQ(planned(large, small_kk, 51).grid, 51);
  EXPECT_EQ(planned(large, big_kk, 500).grid, 132);
  EXPECT_EQ(planned(large, direct90).grid, 2 * 132);
  EXPECT_EQ(planned(large, direct90, 10).grid, 10);  // CTAs of a limited grid never share an SM
  EXPECT_EQ(planned(problem_of(512, 256, 512), big_kk).grid, 4);  // two tiles

  const KernelConfig& config = kernel_variants[static_cast<std::size_t>(choice_.variant)];
  context_.resident_clusters = 1;
  EXPECT_EQ(test::product_of(large, config, choice_, context_).steps()[0].grid, 2);
  context_.resident_clusters = 0;
  EXPECT_THROW(test::product_of(large, config, choice_, context_), Error);
}

// Rows of K-major weights, and columns of N-major ones, are dealt to tiles by how they are aligned.
TEST_F(ProductStep, DotTilesDependOnAlignment) {
  Problem problem = problem_of(3, 1000, 4096);
  EXPECT_EQ(planned(problem, dot90_k).params.tiles_n, 63);
  EXPECT_EQ(planned(problem, dot90_k).grid, 63);
  problem.b.ld = 4100;  // every second row starts alike: 500 rows in 32 tiles
  EXPECT_EQ(planned(problem, dot90_k).params.tiles_n, 64);
  problem.b.ld = 4097;
  EXPECT_EQ(planned(problem, dot90_k).params.tiles_n, 64);
  problem.n = 3;
  EXPECT_EQ(planned(problem, dot90_k).params.tiles_n, 8);

  problem = problem_of(3, 1000, 4096, kn);
  EXPECT_EQ(planned(problem, dot90_n).params.tiles_n, 16);
  problem.b.ld = 1001;
  EXPECT_EQ(planned(problem, dot90_n).params.tiles_n, 18);
  problem.b.ld = 1000, problem.b.data = test::address(0x200000002);
  EXPECT_EQ(planned(problem, dot90_n).params.tiles_n, 18);
}

TEST_F(ProductStep, DotSeesFewColumnsAsRows) {
  const Problem problem = problem_of(5000, 2, 64);
  const KernelParams params = planned(problem, dot90_k).params;
  EXPECT_EQ(params.m, 2);
  EXPECT_EQ(params.n, 5000);
  EXPECT_EQ(params.a.data, problem.b.data);
  EXPECT_EQ(params.b.data, problem.a.data);
  EXPECT_EQ(params.d.outer_stride, 1);
  EXPECT_EQ(params.d.inner_stride, problem.d.ld);
}

TEST_F(ProductStep, DirectStridesOfAllOrders) {
  for (const Order a : {Order::row, Order::column})
    for (const Order b : {Order::row, Order::column})
      for (const Order c : {Order::row, Order::column})
        for (const Order d : {Order::row, Order::column}) {
          Problem problem = problem_of(30, 40, 50, kk, {}, 3);
          problem.beta.value = 1;
          problem.c.data = test::address(0x700000001);
          problem.a.order = a, problem.b.order = b, problem.c.order = c, problem.d.order = d;
          problem.a.ld = 101, problem.b.ld = 102, problem.c.ld = 103, problem.d.ld = 104;
          const KernelParams params = planned(problem, direct90).params;
          EXPECT_EQ(params.a.outer_stride, a == Order::row ? 101 : 1);
          EXPECT_EQ(params.a.inner_stride, a == Order::row ? 1 : 101);
          // B's outer index is n: the rows of a column-order k x n matrix are contiguous.
          EXPECT_EQ(params.b.outer_stride, b == Order::column ? 102 : 1);
          EXPECT_EQ(params.b.inner_stride, b == Order::column ? 1 : 102);
          EXPECT_EQ(params.c.outer_stride, c == Order::row ? 103 : 1);
          EXPECT_EQ(params.c.inner_stride, c == Order::row ? 1 : 103);
          EXPECT_EQ(params.d.outer_stride, d == Order::row ? 104 : 1);
          EXPECT_EQ(params.d.inner_stride, d == Order::row ? 1 : 104);
          EXPECT_EQ(params.a.data, problem.a.data);
          EXPECT_EQ(params.c.data, problem.c.data);
          EXPECT_EQ(params.a.batch_stride, 30 * 50);
          EXPECT_EQ(params.a_major, a == Order::row ? Major::k : Major::mn);
          EXPECT_EQ(params.b_major, b == Order::column ? Major::k : Major::mn);
        }
}

TEST_F(ProductStep, DirectSplits) {
  const Problem problem = problem_of(65, 65, 65537);
  const test::Planned whole = planned(problem, direct90);
  EXPECT_EQ(whole.params.splits, 1);
  EXPECT_EQ(whole.params.k_blocks, 2049);
  EXPECT_EQ(whole.params.partials, nullptr);
  EXPECT_EQ(whole.grid, 4);
  const test::Planned split = planned(problem, direct90, 0, 32 << 20);
  EXPECT_GT(split.params.splits, 1);
  EXPECT_EQ(split.grid, 4 * split.params.splits);
  EXPECT_EQ(split.params.k_per_split % 32, 0);
  EXPECT_GE(split.params.k_per_split * split.params.splits, 65537);
  EXPECT_LT(split.params.k_per_split * (split.params.splits - 1), 65537);
  EXPECT_EQ(split.params.partials, &partial_);
  EXPECT_EQ(split.params.arrivals, &arrival_);
}

// Splits are the CTAs of a cluster where the device can run all of them at the same time.
TEST_F(ProductStep, ClustersOfSplits) {
  const Problem problem = problem_of(16, 1024, 8192);
  constexpr const char* narrow = "bwgemm_sm90_b16_kk_64x16x64_s13_t_coop";
  constexpr int tiles = 1024 / 64;
  context_.resident_split_clusters = tiles;
  const test::Planned cluster = planned(problem, narrow, 0, 32 << 20);
  ASSERT_GT(cluster.params.splits, 1);
  EXPECT_EQ(choice_.reduction, SplitReduction::cluster);
  EXPECT_TRUE(cluster.params.reduces_in_cluster);
  EXPECT_EQ(cluster.cluster, cluster.params.splits);
  EXPECT_EQ(cluster.grid, tiles * cluster.params.splits);
  EXPECT_EQ(cluster.params.whole_tiles, 0u);
  context_.resident_split_clusters = tiles - 1;
  const test::Planned memory = planned(problem, narrow, 0, 32 << 20);
  EXPECT_FALSE(memory.params.reduces_in_cluster);
  EXPECT_EQ(memory.cluster, 1);
  EXPECT_EQ(memory.grid, cluster.grid);
  EXPECT_EQ(memory.params.partials, &partial_);
}

// Short kernels when they have loaded, and longer ones of a short k or of so few CTAs that half of
// the multiprocessors are free. Others of up to 15 us when they have multiplied.
TEST_F(ProductStep, SaysWhenTheNextKernelMayStart) {
  const auto start = [&](std::int64_t tiles, std::int64_t k, double us, std::int64_t split = 0) {
    const Problem problem = problem_of(128 * tiles, 128, k);
    static_cast<void>(planned(problem, small_kk));
    choice_.splits = split == 0 ? 1 : 2;
    choice_.split_tiles = split;
    choice_.predicted_us = us;
    const KernelConfig& config = kernel_variants[static_cast<std::size_t>(choice_.variant)];
    const test::Planned plan =
        test::planned_product(problem, config, choice_, context_, maps_, {&partial_, &arrival_});
    EXPECT_EQ(plan.grid, tiles + split);
    return plan.params.next_start;
  };
  EXPECT_EQ(start(67, 1032, 6), NextStart::when_loaded);
  EXPECT_EQ(start(67, 1032, 6.1), NextStart::when_multiplied);
  EXPECT_EQ(start(67, 1032, 15.1), NextStart::when_gone);
  EXPECT_EQ(start(66, 1032, 15), NextStart::when_loaded);
  EXPECT_EQ(start(66, 1032, 15.1), NextStart::when_gone);
  EXPECT_EQ(start(67, 1024, 15), NextStart::when_loaded);
  EXPECT_EQ(start(67, 1024, 15.1), NextStart::when_gone);
  EXPECT_EQ(start(64, 2048, 15, 16), NextStart::when_multiplied);
  EXPECT_EQ(start(64, 2048, 15, 64), NextStart::when_loaded);
}

TEST_F(ProductStep, DirectThatOnlyScales) {
  Problem problem = problem_of(100, 100, 100);
  problem.alpha.value = 0;
  problem.a.data = problem.b.data = nullptr;
  const test::Planned plan = planned(problem, direct90);
  EXPECT_EQ(plan.params.k_blocks, 0);
  EXPECT_EQ(plan.params.k, 0);
  EXPECT_EQ(plan.params.splits, 1);
  EXPECT_EQ(plan.grid, 4);
  EXPECT_EQ(maps_.counters().misses, 0u);
}

TEST_F(ProductStep, EqualStepsAreEqualBytes) {
  for (const std::string_view kernel : {big_kk, pair_kernel, direct90}) {
    const auto bytes_over = [&](int fill) {
      Problem problem = problem_of(512, 512, 512);
      for (Scalar* scalar : {&problem.alpha, &problem.beta})  // between value and device
        std::memset(reinterpret_cast<char*>(scalar) + sizeof(float), fill,
                    offsetof(Scalar, device) - sizeof(float));
      const test::Planned plan = planned(problem, kernel);
      const auto* bytes = reinterpret_cast<const unsigned char*>(plan.part.params());
      return std::vector<unsigned char>(bytes, bytes + plan.part.bytes());
    };
    EXPECT_EQ(bytes_over(0x00), bytes_over(0xff)) << kernel;
  }
}

TEST_F(ProductStep, IsQuickOnceTheMapsAreKnown) {
  const Problem problem = problem_of(4096, 4096, 4096);
  planned(problem, big_kk);
  const KernelConfig& config = kernel_variants[static_cast<std::size_t>(choice_.variant)];
  constexpr int rounds = 20, calls = 1000;
  int sum = 0;
  const int encoded = test::encode_calls;
  const double ns = test::best_ns(rounds, calls, [&] {
    for (int i = 0; i < calls; ++i)
      sum += test::planned_product(problem, config, choice_, context_, maps_).grid;
  });
  EXPECT_EQ(sum, 132 * calls * rounds);
  EXPECT_EQ(test::encode_calls, encoded) << "maps that are known are encoded again";
  RecordProperty("ns", static_cast<int>(ns));
  if (test::judges_times()) {
    EXPECT_LT(ns, 1500);
  }
}

}  // namespace
}  // namespace bwgemm
