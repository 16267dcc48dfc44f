// SPDX-License-Identifier: Apache-2.0
// The cost model moves the right way when the problem or the device does. Its accuracy is judged by
// measurements, not here.
#include <algorithm>
#include <gtest/gtest.h>
#include <string_view>

#include "families/facts.h"
#include "families/registry.h"
#include "families/variants.h"
#include "problems.h"
#include "rows.h"

namespace bwgemm {
namespace {

using test::problem_of, test::row_named;

int widest(const KernelConfig& config) {
  return config.tile.n != 0 ? config.tile.n : sm100::cta_tiles(config).most_columns;
}

double us(const KernelConfig& config, const Problem& problem, int sm_count = 0, int splits = 1) {
  DeviceFacts facts = config.arch == Arch::sm90 ? nominal_h200 : nominal_b200;
  if (sm_count != 0) facts.sm_count = sm_count;
  return predicted_us(problem, facts, config, widest(config), splits);
}

class Cost : public testing::TestWithParam<KernelConfig> {};

TEST_P(Cost, GrowsWithEverySize) {
  const KernelConfig& config = GetParam();
  const auto check = [&](auto problem_of_size) {
    double last = 0;
    for (std::int64_t size = 64; size <= 65536; size *= 2) {
      const double now = us(config, problem_of_size(size));
      EXPECT_GE(now, 0.7 * last) << size;  // rows outside of the operands cost too
      last = now;
    }
    // A CTA of vectors waits for each unit, however short.
    const double least = config.family == Family::dot && dot::is_of_vectors(config) ? 5 : 10;
    EXPECT_GT(last, least * us(config, problem_of_size(64)));
  };
  check([](std::int64_t k) { return problem_of(4096, 4096, k); });
  check([](std::int64_t m) { return problem_of(m, 4096, 4096); });
  check([](std::int64_t n) { return problem_of(4096, n, 4096); });
  check([](std::int64_t batch) { return problem_of(64, 64, 4096, test::kk, {}, batch); });
}

TEST_P(Cost, GrowsWithWaves) {
  const KernelConfig& config = GetParam();
  const Problem problem = problem_of(8192, 8192, 8192);
  const double whole_chip = us(config, problem);
  // Where delivery to all SMs is the limit, a few SMs less change little.
  EXPECT_GT(us(config, problem, 120), 0.97 * whole_chip);
  // Where memory is the limit, the first 50 multiprocessors are as fast as all.
  EXPECT_GE(us(config, problem, 50), whole_chip);
  double last = us(config, problem, 50);
  for (int sms : {30, 10, 2}) {
    const double now = us(config, problem, sms);
    EXPECT_GT(now, last) << sms;
    last = now;
  }
  EXPECT_GT(last, 5 * whole_chip);
  // CTAs, or warps, that share a multiprocessor, in no waves.
  if (config.family == Family::warp || config.family == Family::stationary) return;
  // One tile more than a wave holds costs another wave; where CTAs of a TMA kernel share an SM, and
  // take turns, another turn.
  const double turns = config.family == Family::cooperative ? config.ctas_per_sm : 1;
  const int tile_n = widest(config);
  const int teams = config.family == Family::dot ? dot::teams_of(config).count : 1;
  const int units = 10 * config.ctas_per_sm * teams / config.cluster.size();
  const int rows = units * kernel_shape(config, tile_n, Dtype::bf16).cluster_tile_m;
  const double one_wave = us(config, problem_of(rows, tile_n, 65536), 10);
  const double one_tile_more = us(config, problem_of(rows + 8, tile_n, 65536), 10);
  EXPECT_GT(one_tile_more, (1 + 0.5 / turns) * one_wave);
  EXPECT_LT(one_tile_more, (1 + 1.25 / turns) * one_wave);
}

TEST_P(Cost, IsAboveWhatMemoryAndLaunchTake) {
  const KernelConfig& config = GetParam();
  for (std::int64_t m : {1, 128, 4096})
    for (std::int64_t n : {1, 4096}) {
      const Problem problem = problem_of(m, n, 4096);
      const double bytes = 2.0 * static_cast<double>(m * 4096 + 4096 * n + m * n);
      EXPECT_GT(us(config, problem), 1 + bytes / 8e6);  // 8 TB/s
    }
}

TEST_P(Cost, ReadingCAndWiderOutputsCost) {
  const KernelConfig& config = GetParam();
  Problem problem = problem_of(8192, 8192, 64);
  const double plain = us(config, problem);
  problem.beta.value = 1;
  EXPECT_GT(us(config, problem), plain);
  EXPECT_GT(us(config, problem_of(8192, 8192, 64, test::kk, {Dtype::bf16, Dtype::f32})), plain);
}

INSTANTIATE_TEST_SUITE_P(Rows, Cost, testing::ValuesIn(kernel_variants), [](const auto& info) {
  return std::string(kernel_name(info.param).view());
});

// Broad enough to survive calibration, tight enough to catch a wrong unit or a missing factor.
TEST(CostScale, LargeSquaresAreNearThePeakOfTheChip) {
  const double tera_flop = 2.0 * 8192 * 8192 * 8192 / 1e6;  // in TFLOP/s for a time in us
  for (const KernelConfig& config : kernel_variants) {
    const double rate = tera_flop / us(config, problem_of(8192, 8192, 8192));
    SCOPED_TRACE(kernel_name(config).view());
    if (config.family == Family::dot) continue;  // reads B anew for every eight rows
    if (config.family == Family::direct || config.family == Family::warp) {
      EXPECT_GT(rate, config.family == Family::warp ? 25 : 30);
      EXPECT_LT(rate, 200);
    } else if (config.family == Family::stationary) {
      EXPECT_GT(rate, 25);
      EXPECT_LT(rate, 300);
    } else if (config.arch == Arch::sm90) {
      EXPECT_GT(rate, config.tile.m * config.tile.n >= 64 * 128 ? 250 : 40);
      EXPECT_LT(rate, 920);
    } else {  // one CTA loads more for each product; columns are for few rows
      const bool is_pair = config.family == Family::pair;
      EXPECT_GT(rate, is_pair ? 1200 : config.swaps_ab ? 400 : 1000);
      EXPECT_LT(rate, 2250);
    }
  }
}

TEST(CostScale, SplittingALongKHelpsUntilMergingCosts) {
  for (const KernelConfig& config : kernel_variants) {
    if (config.family != Family::direct) continue;
    const Problem problem = problem_of(64, 64, 65536);
    EXPECT_LT(us(config, problem, 0, 16), us(config, problem, 0, 1));
    EXPECT_GT(us(config, problem, 0, 500), us(config, problem, 0, 64));
    const DeviceFacts facts = config.arch == Arch::sm90 ? nominal_h200 : nominal_b200;
    const Splits tried = splits_to_try(problem, facts, config, 1 << 30, 0);
    ASSERT_GT(tried.count, 3);
    double best = us(config, problem, 0, 1);
    for (int i = 0; i < tried.count; ++i)
      best = std::min(best, us(config, problem, 0, tried.number[i]));
    for (const int splits : {5, 12, 30, 90, 200})
      EXPECT_LE(best, 1.1 * us(config, problem, 0, splits)) << splits;
  }
}

TEST(CostScale, AMemoryThatIsNotKnownIsFastEnough) {
  DeviceFacts unknown = nominal_h100;
  unknown.memory_bytes_per_us = 0;
  const KernelConfig& config = row_named("bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop");
  const auto us = [&](const DeviceFacts& facts) {
    return predicted_us(problem_of(65536, 65536, 8), facts, config, 128, 1);
  };
  EXPECT_DOUBLE_EQ(us(unknown), us(nominal_h200));
  EXPECT_GT(us(nominal_h100), us(nominal_h200));
}

// ---- orders that an H200 was timed to have (bench/log/2026-11-23.md) ----

double h200_us(std::string_view kernel, const Problem& problem, int splits = 1) {
  return us(row_named(kernel), problem, 0, splits);
}

// The model of today calls it a tie; splits must not come out as faster by more.
TEST(CostOrder, MemoryDoesNotHideMerging) {
  const Problem problem = problem_of(4096, 16, 14336);
  EXPECT_LT(h200_us("bwgemm_sm90_b16_kk_64x16x64_s13_t_coop", problem),
            1.02 * h200_us("bwgemm_sm90_b16_kk_128x16x64_s8_t_coop", problem, 4));
}

TEST(CostOrder, RowsThatStraddleLinesInWholeSectorsAreLoadedFaster) {
  const auto with_ld = [](std::int64_t ld) {
    Problem problem = problem_of(1248, 1624, 7808);
    problem.a.ld = problem.b.ld = ld;
    return h200_us("bwgemm_sm90_b16_kk_128x128x64_s6_coop", problem);
  };
  EXPECT_LT(1.03 * with_ld(7808), with_ld(7856));
  EXPECT_LT(1.1 * with_ld(7856), with_ld(7848));
}

// Each operand is moved as wide as it may.
TEST(CostOrder, OneOddOperandDoesNotMakeTheOtherSlow) {
  const auto with_lds = [](std::int64_t lda, std::int64_t ldb) {
    Problem problem = problem_of(2048, 2048, 4096, test::kk);
    problem.a.ld = lda, problem.b.ld = ldb;
    return h200_us("bwgemm_sm90_b16_64x64x32_direct", problem);
  };
  const double wide = with_lds(4096, 4096), odd = with_lds(4097, 4097);
  for (const double mixed : {with_lds(4097, 4096), with_lds(4096, 4097)}) {
    EXPECT_LT(wide, mixed);
    EXPECT_LT(mixed, odd);
  }
}

// A tile of 160 columns leaves in five boxes, one of 192 in three.
TEST(CostOrder, ThinProductsCountTheirBoxes) {
  const double of_five =
      h200_us("bwgemm_sm90_b16_kk_128x160x64_s5_coop", problem_of(768 * 132, 160, 8));
  const double of_three =
      h200_us("bwgemm_sm90_b16_kk_128x192x64_2x1_s4_coop", problem_of(768 * 132, 192, 8));
  EXPECT_GT(of_five, 1.03 * of_three);
}

TEST(CostOrder, PingPongDoesNotHideWhatThinProductsStore) {
  EXPECT_LT(h200_us("bwgemm_sm90_b16_kk_128x192x64_2x1_s4_coop", problem_of(62800, 136, 120)),
            h200_us("bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop", problem_of(62800, 136, 120)));
}

TEST(CostOrder, TilesThatAreNotFullTakeLonger) {
  EXPECT_LT(h200_us("bwgemm_sm90_b16_kk_64x32x64_s13_t_coop", problem_of(64, 2048, 2048)),
            h200_us("bwgemm_sm90_b16_kk_128x32x64_s8_t_coop", problem_of(64, 2048, 2048)));
}

// With gelu 12736x5632x1216 took an H100 251 us instead of 241 by the one, 332 instead of 255 by
// the other.
TEST(CostOrder, PingPongHidesFunctions) {
  const auto slower_with_gelu = [](const char* kernel) {
    Problem problem = problem_of(12736, 5632, 1216);
    const double plain = h200_us(kernel, problem);
    problem.epilogue.activation = Activation::gelu_tanh;
    return h200_us(kernel, problem) / plain;
  };
  EXPECT_LT(slower_with_gelu("bwgemm_sm90_b16_kk_128x192x64_s4_pp_coop"), 1.08);
  EXPECT_GT(slower_with_gelu("bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop"), 1.1);
}

// What a test does to a plain problem.
using Change = void (*)(Problem&);

void with_relu(Problem& problem) {
  problem.epilogue.activation = Activation::relu;
}
void with_bias(Problem& problem) {
  static const float bias[64] = {};
  problem.epilogue.column_bias.data = bias;
}
void with_c(Problem& problem) {
  problem.beta.value = 1;
}

// A direct kernel with a fused epilogue took an H200 1.8 times what was predicted without a price
// for it.
TEST(CostOrder, DirectKernelsTakeLongerForAnyEpilogue) {
  const Problem plain = problem_of(117346, 48, 40);
  for (const Change change : {with_relu, with_bias}) {
    Problem fused = plain;
    change(fused);
    EXPECT_GT(h200_us("bwgemm_sm90_b16_64x64x32_direct", fused),
              1.6 * h200_us("bwgemm_sm90_b16_64x64x32_direct", plain));
  }
}

// Stationary kernels apply a function to what they hold, but wait for a bias or C. With many rows
// what an SM does decides, with few rows what a CTA waits for.
TEST(CostOrder, StationaryKernelsPayForWhatAnEpilogueReads) {
  for (const char* kernel :
       {"bwgemm_sm90_b16_64x64x32_w_stationary", "bwgemm_sm90_b16_64x32x32_stationary"})
    for (const std::int64_t rows : {117346, 640}) {
      SCOPED_TRACE(testing::Message() << kernel << ", " << rows << " rows");
      const auto us = [&](Change change) {
        Problem problem = problem_of(rows, 32, 40);
        change(problem);
        return h200_us(kernel, problem);
      };
      const double plain = us([](Problem&) {});
      EXPECT_DOUBLE_EQ(us(with_relu), plain);
      EXPECT_GT(us(with_bias), 1.05 * plain);
      EXPECT_GT(us(with_c), 1.05 * plain);
    }
}

// All CTAs ask for the rows of the small operand: clusters gain by their number.
TEST(CostOrder, ClustersShareTheFirstLinesOfASmallOperand) {
  const auto gain = [](std::int64_t rows) {
    const Problem problem = problem_of(rows, 64, 64);
    return h200_us("bwgemm_sm90_b16_kk_64x64x64_s13_coop", problem) -
           h200_us("bwgemm_sm90_b16_kk_64x64x64_4x1_s13_coop", problem);
  };
  EXPECT_GT(gain(64 * 96), gain(64 * 8) + 0.2);
}

// Where few CTAs read A as it lies, each waits for every slab of B.
TEST(CostOrder, StationaryKernelsWaitForEachSlab) {
  const auto us = [](std::int64_t k) {
    return h200_us("bwgemm_sm90_b16_64x32x32_stationary", problem_of(640, 31, k, test::mk));
  };
  EXPECT_LT(us(256) - us(224), 1);
  EXPECT_GT(us(288) - us(256), 2);
}

// 2048x2048x64 took an H100 5.9 and 6.2 us. A warpgroup of the one has a buffer for each of its two
// boxes, of the other two buffers for four.
TEST(CostOrder, BoxesWithoutABufferWait) {
  const Problem problem = problem_of(2048, 2048, 64);
  EXPECT_LT(h200_us("bwgemm_sm90_b16_kk_128x128x64_s6_t_coop", problem),
            h200_us("bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop", problem));
}

TEST(CostOrder, TilesThatBeginInsideOfLinesTakeLonger) {
  const auto odd_over_whole = [](const char* odd, const char* whole, const Problem& problem) {
    return h200_us(odd, problem) / h200_us(whole, problem);
  };
  const double along_n = odd_over_whole("bwgemm_sm90_b16_mn_128x160x64_s5_t_coop",
                                        "bwgemm_sm90_b16_mn_128x128x64_s6_t_coop",
                                        problem_of(4096, 4480, 4096, test::mn));
  const double along_k = odd_over_whole("bwgemm_sm90_b16_kk_128x160x64_s5_t_coop",
                                        "bwgemm_sm90_b16_kk_128x128x64_s6_t_coop",
                                        problem_of(4096, 4480, 4096, test::kk));
  EXPECT_GT(along_n, 1.1 * along_k);
}

// Rows of tiles are shared by CTAs far apart, and drift; columns by neighbours.
TEST(CostRaster, BandsAreLow) {
  const auto band = [](std::string_view kernel, std::int64_t m, std::int64_t n) {
    const KernelConfig& config = row_named(kernel);
    return raster_group(problem_of(m, n, 4096), nominal_h200, config, config.tile.n);
  };
  EXPECT_EQ(band("bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop", 8192, 8192), 5);
  EXPECT_EQ(band("bwgemm_sm90_b16_kn_128x256x64_s4_coop", 8192, 8192), 7);
  EXPECT_EQ(band("bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop", 512, 8192), 4);  // all there are
  EXPECT_EQ(band("bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop", 65536, 512), 1);
  EXPECT_EQ(band("bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop", 65536, 1024), 5);  // n has many tiles
}

TEST(CostOrder, ALastBlockThatIsNotFullTakesLonger) {
  const Problem problem = problem_of(65536, 256, 104);
  EXPECT_LT(h200_us("bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop", problem),
            h200_us("bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop", problem));
  constexpr auto kernel = "bwgemm_sm90_b16_kk_128x128x64_s6_coop";
  EXPECT_LT(1.05 * h200_us(kernel, problem_of(1024, 1024, 128)),
            h200_us(kernel, problem_of(1024, 1024, 120)));
}

// Of an N-major B a pair loads whole boxes, some of which begin inside of lines.
TEST(CostOrder, PartsOfBoxesOfAnNMajorBCostAsMuchAsWholeOnes) {
  const KernelConfig& pair = row_named("bwgemm_sm100_b16_256xNx64_2x1_pair");
  const auto block = [&](int tile_n, test::Majors majors) {
    return without_splits(problem_of(4096, 4096, 4096, majors), pair, tile_n).block;
  };
  EXPECT_EQ(block(192, test::kn).bytes, block(256, test::kn).bytes);
  EXPECT_LT(block(192, test::kk).bytes, block(256, test::kk).bytes);
  EXPECT_GT(block(192, test::kn).l2_bytes, block(256, test::kn).l2_bytes);
  EXPECT_EQ(block(256, test::kn).l2_bytes, block(256, test::kk).l2_bytes);
}

}  // namespace
}  // namespace bwgemm
