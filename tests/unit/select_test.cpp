// SPDX-License-Identifier: Apache-2.0
// The rules of selection around the choice itself: forced kernels, workspace,
// multiprocessor targets, and the report. What is chosen when is in select_golden_test.cpp.
#include "select/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "core/error.h"
#include "core/tiling.h"
#include "families/registry.h"
#include "families/variants.h"
#include "problems.h"
#include "rows.h"
#include "support/error_of.h"

namespace bwgemm {
namespace {

using test::big_kk, test::direct90, test::error_of, test::kk, test::kn, test::mk, test::mn,
    test::pair_kernel, test::problem_of, test::reason, test::row_named;
using ::testing::HasSubstr;

TEST(Select, ForcedKernelBeatsTheModel) {
  const Problem problem = problem_of(4096, 4096, 4096);
  for (const KernelConfig& row : kernel_variants) {
    if (rejects(problem, nominal_h200, row) != nullptr) continue;
    const KernelName name = kernel_name(row);
    SelectOptions options;
    options.forced.kernel = name.view();
    const Choice choice = select(problem, nominal_h200, kernel_variants, options);
    EXPECT_EQ(kernel_variants[static_cast<std::size_t>(choice.variant)], row);
  }
}

TEST(Select, ForcedKernelThatDoesNotExist) {
  SelectOptions options;
  options.forced.kernel = "bwgemm_sm90_typo";
  const Problem problem = problem_of(64, 64, 64);
  const Error error =
      error_of<Error>([&] { select(problem, nominal_h200, kernel_variants, options); });
  EXPECT_EQ(error.status(), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_THAT(error.what(), HasSubstr("bwgemm_sm90_typo"));
  EXPECT_EQ(
      error_of<Error>([&] { explain(problem, nominal_h200, kernel_variants, options); }).status(),
      BWGEMM_STATUS_INVALID_VALUE);
}

TEST(Select, ForcedKernelThatCannotServe) {
  SelectOptions options;
  options.forced.kernel = big_kk;
  const Error error = error_of<Error>(
      [&] { select(problem_of(63, 63, 63), nominal_h200, kernel_variants, options); });
  EXPECT_EQ(error.status(), BWGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_THAT(error.what(), HasSubstr(std::string(big_kk)));
  EXPECT_THAT(error.what(), HasSubstr("leading dimension of A"));
  EXPECT_THAT(explain(problem_of(63, 63, 63), nominal_h200, kernel_variants, options),
              HasSubstr("is forced and cannot serve"));
}

TEST(Select, NothingServes) {
  const Problem problem = problem_of(64, 64, 64, kk, {Dtype::e4m3, Dtype::bf16});
  const Error error = error_of<Error>([&] { select(problem, nominal_h200, kernel_variants, {}); });
  EXPECT_EQ(error.status(), BWGEMM_STATUS_NOT_SUPPORTED);
  for (const KernelConfig& row : kernel_variants)
    EXPECT_THAT(error.what(), HasSubstr(std::string(kernel_name(row).view()) + ": "));
  EXPECT_THAT(explain(problem, nominal_h200, kernel_variants, {}), HasSubstr("none can serve"));
}

TEST(Select, UnknownDeviceIsServedByNothing) {
  const DeviceFacts ampere{8, 0, 108, 40 << 20}, ada{9, 1, 108, 40 << 20};
  for (const DeviceFacts& facts : {ampere, ada})
    for (const KernelConfig& row : kernel_variants)
      EXPECT_NE(rejects(problem_of(64, 64, 64), facts, row), nullptr) << kernel_name(row).view();
  const DeviceFacts b300{10, 3, 148, 126 << 20};
  EXPECT_EQ(rejects(problem_of(64, 64, 64), b300, row_named(pair_kernel)), nullptr);
}

// Rows that show a technique are chosen by nobody, and say so; forced, they serve.
TEST(Select, TechniquesAreForcedOnly) {
  const Problem problem = problem_of(4096, 4096, 4096);
  const std::string report = explain(problem, nominal_b200, kernel_variants, {});
  for (const KernelConfig& row : kernel_variants) {
    if (row.choices == Sm100Choices{} || row.tile.m == 512) continue;
    const std::string name(kernel_name(row).view());
    EXPECT_THAT(report, HasSubstr(name + ": shows a technique: only when forced"));
    SelectOptions options;
    options.forced.kernel = name;
    const Choice choice = select(problem, nominal_b200, kernel_variants, options);
    EXPECT_EQ(kernel_variants[static_cast<std::size_t>(choice.variant)], row);
  }
}

// With a target for multiprocessors only a persistent grid keeps to it.
TEST(Select, OnlyPersistentRowsKeepToATarget) {
  for (const KernelConfig& row : kernel_variants) {
    if (row.choices.schedule == Schedule::persistent) continue;
    SelectOptions options;
    const KernelName name = kernel_name(row);
    options.forced.kernel = name.view();
    options.sm_count_target = 64;
    const Error error = error_of<Error>(
        [&] { select(problem_of(4096, 4096, 4096), nominal_b200, kernel_variants, options); });
    EXPECT_THAT(error.what(), HasSubstr("spread over all multiprocessors"));
  }
}

// What the launch decides of a kernel can be forced; what is illegal is refused.
TEST(Select, ForcedTileAndRaster) {
  SelectOptions options;
  options.forced.kernel = pair_kernel;
  options.forced.tile_n = 96;
  options.forced.raster = Raster::hilbert;
  const Choice choice = select(problem_of(4096, 4096, 512), nominal_b200, kernel_variants, options);
  EXPECT_EQ(choice.tile_n, 96);
  EXPECT_EQ(choice.raster, Raster::hilbert);
  EXPECT_EQ(select(problem_of(4096, 4096, 512, kn), nominal_b200, kernel_variants, options).tile_n,
            96);
  options.forced.kernel = "bwgemm_sm100_b16_256xNx64_4x1_pair";  // shares B, in whole boxes
  const Error error = error_of<Error>(
      [&] { select(problem_of(4096, 4096, 512, kn), nominal_b200, kernel_variants, options); });
  EXPECT_THAT(error.what(), HasSubstr("each part of an N-major B must be whole boxes"));
}

// Steps of 16, where they save a wave; a forced width that is none is refused with its rule.
TEST(Select, TilesInStepsOf16) {
  SelectOptions options;
  options.forced.kernel = pair_kernel;
  const auto tile_n = [&](std::int64_t m, std::int64_t n, std::int64_t k,
                          test::Majors majors = kk) {
    return select(problem_of(m, n, k, majors), nominal_b200, kernel_variants, options).tile_n;
  };
  EXPECT_EQ(tile_n(18944, 144, 4096), 144);      // 74 tiles
  EXPECT_EQ(tile_n(18944, 144, 4096, kn), 160);  // 72 columns of an N-major B in a CTA
  EXPECT_EQ(tile_n(1280, 4096, 8192), 144);      // two waves
  EXPECT_EQ(tile_n(4096, 4096, 1024), 128);      // seven, where 112 columns would make eight
  options.forced.tile_n = 80;
  EXPECT_EQ(tile_n(4096, 4096, 1024), 80);
  options.forced.tile_n = 72;
  const Error error = error_of<Error>([&] { tile_n(4096, 4096, 1024); });
  EXPECT_THAT(error.what(), HasSubstr("tile_n must be a multiple of 16 in 32..256"));
}

// A fused epilogue loads all of C itself where tiles leave a rest: not where C is D.
TEST(Select, TilesThatLeaveARestAreNotForACInPlace) {
  SelectOptions options;
  options.forced.kernel = pair_kernel;
  options.forced.tile_n = 48;
  Problem problem = problem_of(256, 256, 512);
  const float elsewhere = 0;
  problem.c = problem.d;
  problem.c.data = &elsewhere;
  problem.beta.value = 1;
  problem.epilogue.activation = Activation::relu;
  EXPECT_EQ(select(problem, nominal_b200, kernel_variants, options).tile_n, 48);
  problem.c.data = problem.d.data;
  const Error error =
      error_of<Error>([&] { select(problem, nominal_b200, kernel_variants, options); });
  EXPECT_THAT(error.what(),
              HasSubstr("a multiple of 32 where a fused epilogue adds a C that is D"));
  problem.epilogue.activation = Activation::none;
  EXPECT_EQ(select(problem, nominal_b200, kernel_variants, options).tile_n, 48);
}

// Splits of k for few tiles, within the workspace.
TEST(Select, SplitsOnBlackwell) {
  const Problem problem = problem_of(256, 256, 65536);
  SelectOptions options;
  options.forced.kernel = pair_kernel;
  options.workspace_bytes = 64 << 20;
  const Choice choice = select(problem, nominal_b200, kernel_variants, options);
  EXPECT_GT(choice.splits, 1);
  const KernelConfig& row = row_named(pair_kernel);
  EXPECT_LE(workspace_bytes(problem, row, choice), options.workspace_bytes);
  EXPECT_LE(arrival_count(row, choice), 148u / 2);
}

TEST(Select, WithoutWorkspaceNothingIsSplit) {
  const Problem problem = problem_of(65, 65, 65537, kk);
  SelectOptions options;
  options.forced.kernel = direct90;
  const Choice whole = select(problem, nominal_h200, kernel_variants, options);
  const KernelConfig& config = kernel_variants[static_cast<std::size_t>(whole.variant)];
  EXPECT_EQ(config.family, Family::direct);
  EXPECT_EQ(whole.splits, 1);
  EXPECT_EQ(workspace_bytes(problem, config, whole), 0u);
  EXPECT_EQ(arrival_count(config, whole), 0u);

  options.workspace_bytes = 32 << 20;
  const Choice split = select(problem, nominal_h200, kernel_variants, options);
  EXPECT_GT(split.splits, 8);
  EXPECT_LT(split.predicted_us, whole.predicted_us / 8);
  EXPECT_EQ(arrival_count(config, split), 4u);
  EXPECT_EQ(workspace_bytes(problem, config, split),
            static_cast<std::size_t>(split.splits) * 4 * 64 * 64 * 4);

  options.workspace_bytes = 3 * 4 * 64 * 64 * 4;  // room for three splits
  const Choice little = select(problem, nominal_h200, kernel_variants, options);
  EXPECT_EQ(little.splits, 3);
  EXPECT_LE(workspace_bytes(problem, config, little), options.workspace_bytes);
}

// 133 tiles on 132 multiprocessors: one is cut into splits, the others are whole.
TEST(Select, TilesOfTheLastWaveMayBeSplit) {
  SelectOptions options;
  options.forced.kernel = "bwgemm_sm90_b16_kk_128x256x64_s4_u_coop";
  options.forced.splits = 3;
  options.workspace_bytes = 32 << 20;
  const Problem problem = problem_of(19 * 128, 7 * 256, 4096);
  const Choice choice = select(problem, nominal_h200, kernel_variants, options);
  const KernelConfig& config = row_named(options.forced.kernel);
  EXPECT_EQ(choice.splits, 3);
  EXPECT_EQ(choice.split_tiles, 1);
  EXPECT_EQ(workspace_bytes(problem, config, choice), 3u * 128 * 256 * 4);
  EXPECT_EQ(arrival_count(config, choice), 2u);
  EXPECT_EQ(work_units({19, 7, 1}, choice), 135);

  const Problem full_waves = problem_of(12 * 128, 11 * 256, 4096);
  EXPECT_EQ(select(full_waves, nominal_h200, kernel_variants, options).splits, 1);
}

// 110 tiles on 74 pairs leave 36 for the second wave, which halves fill.
TEST(Select, TilesOfTheLastWaveMayBeSplitOnPairs) {
  SelectOptions options;
  options.workspace_bytes = 32 << 20;
  const Problem few = problem_of(512, 12288, 8192, kn);
  const Choice split = select(few, nominal_b200, kernel_variants, options);
  EXPECT_EQ(split.tile_n, 224);
  EXPECT_EQ(split.splits, 2);
  EXPECT_EQ(split.split_tiles, 36);
  const KernelConfig& config = kernel_variants[static_cast<std::size_t>(split.variant)];
  EXPECT_EQ(workspace_bytes(few, config, split), 72u * 256 * 224 * 4);
}

// Splits of a row need no margin over its whole tiles, and if forced, not even to be faster.
TEST(Select, SplitsBesideWholeTilesOfTheirRow) {
  SelectOptions options;
  options.forced.kernel = "bwgemm_sm100_b16_256xNx64_2x1_pair";
  const auto choice = [&](std::int64_t extent) {
    return select(problem_of(extent, extent, extent), nominal_b200, kernel_variants, options);
  };
  const Choice whole = choice(5120);
  options.workspace_bytes = 32 << 20;
  const Choice split = choice(5120), faster_whole = choice(4096);
  EXPECT_EQ(split.splits, 2);
  EXPECT_LT(split.predicted_us, whole.predicted_us);
  EXPECT_GT(split.predicted_us, 0.97 * whole.predicted_us);
  EXPECT_EQ(faster_whole.splits, 1);
  options.forced.splits = 2;
  EXPECT_EQ(choice(4096).splits, 2);
  EXPECT_GT(choice(4096).predicted_us, faster_whole.predicted_us);
}

// Two tiles of a narrow output share rows of A, the longer operand; of a flat one columns of B.
TEST(Select, NeighboursShareTheLongerOperand) {
  SelectOptions options;
  options.forced.kernel = "bwgemm_sm90_b16_kk_64x64x64_s13_coop";
  const auto group = [&](std::int64_t m, std::int64_t n) {
    return select(problem_of(m, n, 4096), nominal_h200, kernel_variants, options).raster_group;
  };
  EXPECT_EQ(group(4096, 128), 1);
  EXPECT_EQ(group(128, 4096), 2);
}

TEST(Select, SplitsAreNeverEmptyAndNeverShort) {
  SelectOptions options;
  options.workspace_bytes = 32 << 20;
  for (std::int64_t k = 1; k < 20000; k += 37)
    for (std::int64_t m : {1, 64, 129, 1000}) {
      const Problem problem = problem_of(m, 65, k);
      const Choice choice = select(problem, nominal_h200, kernel_variants, options);
      const KernelConfig& config = kernel_variants[static_cast<std::size_t>(choice.variant)];
      if (choice.splits == 1) continue;
      const std::int64_t steps = (k + 31) / 32;
      const std::int64_t per_split = (steps + choice.splits - 1) / choice.splits;
      EXPECT_GE(per_split, 4);
      EXPECT_LT((choice.splits - 1) * per_split, steps) << "the last split is empty, k " << k;
      EXPECT_LE(workspace_bytes(problem, config, choice), options.workspace_bytes);
      EXPECT_LE(arrival_count(config, choice), 132u * 4 / 2);
    }
}

TEST(Select, VeryLongSumsAreServed) {
  const Problem problem = problem_of(1, 1, (std::int64_t{1} << 33) + 1);
  EXPECT_EQ(reason(problem, direct90), "");
  SelectOptions options;
  for (const std::size_t splits : {0, 2, 3, 4, 5, 100}) {
    options.workspace_bytes = splits * 64 * 64 * 4;
    const Choice choice = select(problem, nominal_h200, kernel_variants, options);
    // The length of a split is a 32-bit number.
    EXPECT_TRUE(choice.splits == 1 || problem.k / choice.splits < std::int64_t{1} << 31);
  }
  EXPECT_GT(select(problem, nominal_h200, kernel_variants, options).splits, 4);
  EXPECT_THAT(reason(problem_of(1, 1, std::int64_t{1} << 37), direct90),
              HasSubstr("k is too large"));
  // Its loop takes one step more than there are, and counts in 32 bits.
  constexpr std::int64_t most_steps = (std::int64_t{1} << 31) - 2;
  EXPECT_EQ(reason(problem_of(1, 1, 32 * most_steps), direct90), "");
  EXPECT_THAT(reason(problem_of(1, 1, 32 * most_steps + 1), direct90), HasSubstr("k is too large"));
}

TEST(Select, MultiprocessorTarget) {
  const Problem problem = problem_of(4096, 4096, 4096);
  SelectOptions all, few, more, one;
  few.sm_count_target = 32;
  more.sm_count_target = 1000;
  one.sm_count_target = 1;
  const Choice choice = select(problem, nominal_h200, kernel_variants, all);
  EXPECT_EQ(select(problem, nominal_h200, kernel_variants, more), choice);
  EXPECT_GT(select(problem, nominal_h200, kernel_variants, few).predicted_us,
            2 * choice.predicted_us);
  const Choice alone = select(problem, nominal_b200, kernel_variants, one);
  EXPECT_EQ(kernel_variants[static_cast<std::size_t>(alone.variant)].cluster.size(), 1);
  one.forced.kernel = pair_kernel;
  EXPECT_THAT(error_of<Error>([&] { select(problem, nominal_b200, kernel_variants, one); }).what(),
              HasSubstr("multiprocessors"));
}

TEST(Select, RasterGroupStaysWithinTheTiles) {
  for (std::int64_t m = 8; m < 40000; m = m * 3 / 2)
    for (std::int64_t n = 8; n < 40000; n = n * 3 / 2) {
      const Problem problem = problem_of(m / 8 * 8, n / 8 * 8, 512);
      for (const DeviceFacts& facts : {nominal_h200, nominal_b200}) {
        const Choice choice = select(problem, facts, kernel_variants, {});
        EXPECT_GE(choice.raster_group, 1);
        const KernelConfig& config = kernel_variants[static_cast<std::size_t>(choice.variant)];
        const std::int64_t rows = seen_by(config, problem).m;
        EXPECT_LE(choice.raster_group, (rows + config.tile.m - 1) / config.tile.m);
      }
    }
}

TEST(Explain, NamesEveryRowAndTheLaunch) {
  for (const DeviceFacts& facts : {nominal_h200, nominal_b200})
    for (const Problem& problem : {problem_of(4096, 4096, 4096), problem_of(63, 63, 6300)}) {
      const std::string report = explain(problem, facts, kernel_variants, {});
      const Choice choice = select(problem, facts, kernel_variants, {});
      for (std::size_t row = 0; row < kernel_variants.size(); ++row) {
        const std::string name(kernel_name(kernel_variants[row]).view());
        const bool is_chosen = static_cast<int>(row) == choice.variant;
        EXPECT_THAT(report, HasSubstr((is_chosen ? "kernel     " + name + "\n"
                                                 : "other      " + name + ": ")));
      }
      EXPECT_THAT(report, HasSubstr("launch     grid "));
      EXPECT_THAT(report, HasSubstr("predicted  "));
    }
}

TEST(Explain, SaysWhatMatters) {
  SelectOptions options;
  options.sm_count_target = 100;
  Problem problem = problem_of(4096, 4096, 4096);
  problem.beta.value = 0.5f;
  const std::string report = explain(problem, nominal_h200, kernel_variants, options);
  EXPECT_THAT(report, HasSubstr("m 4096 n 4096 k 4096 batch 1"));
  EXPECT_THAT(report, HasSubstr("100 of 132 SMs"));
  EXPECT_THAT(report, HasSubstr("grid 100, cluster "));
  EXPECT_THAT(report, HasSubstr("beta 0.5"));
  EXPECT_THAT(report, HasSubstr("needs compute capability 10.0 or 10.3"));
  EXPECT_THAT(report, HasSubstr("takes A contiguous along m"));
  EXPECT_THAT(explain(problem_of(0, 8, 8), nominal_h200, kernel_variants, {}),
              HasSubstr("no element"));
}

}  // namespace
}  // namespace bwgemm
