// SPDX-License-Identifier: Apache-2.0
// The table of kernels and the names computed from it.
#include "core/kernel_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "families/variants.h"

namespace bwgemm {
namespace {

TEST(KernelConfig, NamesAreDistinct) {
  std::set<std::string> names;
  for (const KernelConfig& row : kernel_variants) {
    const std::string name(kernel_name(row).view());
    EXPECT_TRUE(names.insert(name).second) << name << " names two rows";
  }
  EXPECT_EQ(names.size(), kernel_variants.size());
}

TEST(KernelConfig, NamesFollowTheGrammar) {
  const auto grammar = testing::MatchesRegex(
      "bwgemm_sm(90|100)_b16(_[km][kn])?_[0-9]+x([0-9]+|N)x[0-9]+"
      "(_[0-9]x[0-9])?(_s[0-9]+)?(_[tu])?(_o[2-9])?(_pp)?"
      "(_[wl])?(_swz[0-9]+)?(_2d)?(_clc|_once)?(_acc1)?(_nopf)?_(coop|pair|single|direct|dot|warp|"
      "stationary)");
  for (const KernelConfig& row : kernel_variants) {
    EXPECT_THAT(std::string(kernel_name(row).view()), grammar);
  }
}

TEST(KernelConfig, NamesSayEveryFixedField) {
  constexpr KernelConfig config{Arch::sm90, Family::cooperative, MmaKind::b16, Major::mn,
                                Major::k,   {128, 192, 64},      {1, 2},       5};
  EXPECT_EQ(kernel_name(config).view(), "bwgemm_sm90_b16_mk_128x192x64_1x2_s5_coop");
  constexpr KernelConfig at_launch{Arch::sm100, Family::pair, MmaKind::b16, Major::any,
                                   Major::any,  {256, 0, 64}, {2, 1},       0};
  EXPECT_EQ(kernel_name(at_launch).view(), "bwgemm_sm100_b16_256xNx64_2x1_pair");
  constexpr KernelConfig techniques{Arch::sm100,
                                    Family::pair,
                                    MmaKind::b16,
                                    Major::any,
                                    Major::any,
                                    {512, 0, 64},
                                    {4, 1},
                                    0,
                                    Load::tma,
                                    Store::tma,
                                    false,
                                    1,
                                    {64, 2, Schedule::launch_control, 1, false}};
  EXPECT_EQ(kernel_name(techniques).view(),
            "bwgemm_sm100_b16_512xNx64_4x1_swz64_2d_clc_acc1_nopf_pair");
  EXPECT_STREQ(kernel_name(config).c_str(), std::string(kernel_name(config).view()).c_str());
}

TEST(KernelConfig, EveryRowIsValid) {
  for (const KernelConfig& row : kernel_variants)
    EXPECT_EQ(invalid_because(row), nullptr) << kernel_name(row).view();
}

TEST(KernelConfig, EveryArchitectureHasAKernelWithoutRulesOnAlignment) {
  for (const Arch arch : {Arch::sm90, Arch::sm100}) {
    bool found = false;
    for (const KernelConfig& row : kernel_variants)
      found |= row.arch == arch && row.family == Family::direct;
    EXPECT_TRUE(found) << name(arch);
  }
}

TEST(KernelConfig, BrokenRulesAreNamed) {
  KernelConfig config = kernel_variants[0];
  config.stages = 20;
  ASSERT_NE(invalid_because(config), nullptr);
  EXPECT_NE(std::string(invalid_because(config)).find("shared memory"), std::string::npos);
  config = kernel_variants[0];
  config.tile.n = 200;
  EXPECT_NE(invalid_because(config), nullptr);
}

TEST(KernelConfig, TilesThatCannotBeBuiltAreRefused) {
  const KernelConfig good = kernel_variants[0];
  ASSERT_EQ(good.family, Family::cooperative);
  auto reason = [&](bool swaps_ab, Tile tile, Cluster cluster, int ctas_per_sm) {
    KernelConfig config = good;
    config.swaps_ab = swaps_ab;
    config.tile = tile;
    config.cluster = cluster;
    config.ctas_per_sm = ctas_per_sm;
    config.stages = 2;
    const char* text = invalid_because(config);
    return std::string(text ? text : "");
  };
  const Cluster one{1, 1};
  constexpr bool in_order = false, swaps_ab = true;
  EXPECT_EQ(reason(in_order, {256, 192, 64}, one, 1), "");
  EXPECT_EQ(reason(swaps_ab, {64, 192, 64}, one, 1), "");
  EXPECT_EQ(reason(in_order, {128, 96, 64}, {2, 2}, 1), "");
  EXPECT_THAT(reason(in_order, {256, 224, 64}, one, 1), testing::HasSubstr("accumulators"));
  EXPECT_THAT(reason(in_order, {192, 256, 64}, one, 1), testing::HasSubstr("one wgmma"));
  EXPECT_THAT(reason(in_order, {64, 256, 64}, one, 2), testing::HasSubstr("one wgmma"));
  EXPECT_EQ(reason(in_order, {128, 144, 64}, one, 1), "");
  EXPECT_EQ(reason(in_order, {64, 80, 64}, one, 1), "");
  for (const int tile_n : {48, 72, 200})
    EXPECT_THAT(reason(in_order, {128, tile_n, 64}, one, 1), testing::HasSubstr("of 16 from"));
  EXPECT_THAT(reason(swaps_ab, {256, 64, 64}, one, 1), testing::HasSubstr("64 rows"));
  EXPECT_THAT(reason(swaps_ab, {64, 12, 64}, one, 1), testing::HasSubstr("multiple of 16"));
  for (const int tile_n : {8, 24})
    EXPECT_THAT(reason(swaps_ab, {64, tile_n, 64}, one, 1), testing::HasSubstr("of 8 from 40 on"));
  EXPECT_THAT(reason(swaps_ab, {64, 72, 64}, {2, 1}, 1), testing::HasSubstr("B tile"));
  EXPECT_EQ(reason(swaps_ab, {64, 72, 64}, {1, 2}, 1), "");
  for (const int tile_n : {40, 72, 200}) EXPECT_EQ(reason(swaps_ab, {64, tile_n, 64}, one, 1), "");
  EXPECT_EQ(reason(swaps_ab, {128, 160, 64}, {4, 2}, 1), "");
  EXPECT_THAT(reason(in_order, {128, 64, 64}, {4, 4}, 1), testing::HasSubstr("8 CTAs"));
  EXPECT_THAT(reason(in_order, {128, 96, 64}, {8, 1}, 1), testing::HasSubstr("B tile"));
  EXPECT_THAT(reason(in_order, {192, 64, 64}, {1, 5}, 1), testing::HasSubstr("A tile"));
  EXPECT_THAT(reason(in_order, {128, 64, 64}, one, 5), testing::HasSubstr("CTAs"));
}

// Two warpgroups have a tile each, as high as one wgmma or two.
TEST(KernelConfig, PingPongTilesThatCannotBeBuiltAreRefused) {
  const auto reason = [](Tile tile, int ctas_per_sm) {
    KernelConfig config = kernel_variants[0];
    config.ping_pong = true;
    config.tile = tile;
    config.ctas_per_sm = ctas_per_sm;
    config.cluster = {1, 1};
    config.stages = 2;
    const char* text = invalid_because(config);
    return std::string(text ? text : "");
  };
  EXPECT_EQ(reason({64, 256, 64}, 1), "");
  EXPECT_EQ(reason({128, 192, 64}, 1), "");
  EXPECT_THAT(reason({192, 64, 64}, 1), testing::HasSubstr("64 or 128"));
  EXPECT_THAT(reason({256, 64, 64}, 1), testing::HasSubstr("64 or 128"));
  EXPECT_THAT(reason({64, 64, 64}, 2), testing::HasSubstr("one CTA"));
}

}  // namespace
}  // namespace bwgemm
