// SPDX-License-Identifier: Apache-2.0
#include "dropin/peer.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <vector>

#include "core/kernel_name.h"
#include "families/variants.h"

namespace bwgemm::test {
namespace {

using dropin::features_of;
using dropin::PeerProblem;

PeerProblem linear_layer() {
  return {.m = 4096,
          .n = 512,
          .k = 1024,
          .batch = 1,
          .transa = true,
          .transb = false,
          .is_f16 = false,
          .stores_f32 = true,
          .reads_c = false,
          .adds_bias = true,
          .activation = BWGEMM_ACTIVATION_NONE,
          .a_alignment = 16,
          .b_alignment = 8,
          .d_alignment = 16,
          .predicted_us = 16,
          .kernel = "bwgemm_sm90_b16_kk_128x64x64_s8_coop",
          .tile_columns = 64,
          .splits = 2,
          .copies_operands = false};
}

// In powers of two, of which steps are 64: sizes, products, times, alignment, kinds, the algo.
TEST(DropinPeer, WhatTreesAsk) {
  PeerProblem problem = linear_layer();
  const dropin::PeerFeatures features = features_of(problem);
  const int flop = 64 * 32, us = 64 * 4;
  const dropin::PeerFeatures front = {4096, 512, 1024, 1, 512, 4096, 64 * 3, 64 * 21, flop};
  for (std::size_t at = 0; at < 9; ++at) EXPECT_EQ(features[at], front[at]) << at;
  EXPECT_EQ(features[11], us);
  EXPECT_EQ(features[12], flop - us);
  const int rest[] = {16, 8, 16, 8, 1, 0, 0, 1, 0, 1, 0, 64, 2, 0, 0, 0, 128};
  for (std::size_t at = 0; at < std::size(rest); ++at) EXPECT_EQ(features[14 + at], rest[at]) << at;
  // 32 x 8 tiles in two splits are 512, 3.88 times 132; 64 x 4 across as many.
  EXPECT_EQ(features[32], 96);
  problem.activation = BWGEMM_ACTIVATION_GELU_TANH;
  EXPECT_EQ(features_of(problem)[24], 2);
  EXPECT_EQ(features[34], 96);
  EXPECT_EQ(features[35], 64 * (21 - 13));
}

// Rows of the tile, the rest of k, the family, swap-AB, shifted lines, ping-pong, stages, and CTAs
// of a cluster.
TEST(DropinPeer, WhatNamesOfKernelsSay) {
  const auto words = [](const char* kernel) {
    PeerProblem problem = linear_layer();
    problem.k = 1000;
    problem.kernel = kernel;
    const dropin::PeerFeatures all = features_of(problem);
    std::vector<std::int32_t> words = {all[30]};
    words.insert(words.end(), all.begin() + 36, all.end());
    return words;
  };
  using Words = std::vector<std::int32_t>;
  EXPECT_EQ(words("bwgemm_sm90_b16_kk_128x192x64_s4_pp_coop"), (Words{128, 40, 0, 0, 0, 1, 4, 1}));
  EXPECT_EQ(words("bwgemm_sm90_b16_kn_64x16x64_4x2_s13_t_coop"),
            (Words{64, 40, 0, 1, 0, 0, 13, 8}));
  EXPECT_EQ(words("bwgemm_sm90_b16_kn_128x256x64_s4_u_coop"), (Words{128, 40, 0, 0, 1, 0, 4, 1}));
  EXPECT_EQ(words("bwgemm_sm90_b16_64x32x32_w_stationary"), (Words{64, 40, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(words("bwgemm_sm90_b16_1x4x2048_dot"), (Words{1, 40, 2, 0, 0, 0, 0, 1}));
  EXPECT_EQ(words("bwgemm_sm90_b16_16x16x16_warp"), (Words{16, 40, 3, 0, 0, 0, 0, 1}));
  EXPECT_EQ(words("bwgemm_sm90_b16_64x64x32_direct"), (Words{64, 40, 4, 0, 0, 0, 0, 1}));
  EXPECT_EQ(words("bwgemm_sm90_b16_kk_64x64x64_s4_o3_coop"), (Words{64, 40, 0, 0, 0, 0, 4, 1}));
  EXPECT_EQ(words("bwgemm_sm100_b16_128xNx64_single"), (Words{128, 40, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(words("?"), (Words{1, 40, 0, 0, 0, 0, 0, 1}));
}

// A family, or a word of names, that is new must be known here.
TEST(DropinPeer, WhatNamesSayIsWhatKernelsAre) {
  std::map<std::int32_t, std::set<Family>> families;
  for (const KernelConfig& config : kernel_variants) {
    PeerProblem problem = linear_layer();
    const KernelName name = kernel_name(config);
    SCOPED_TRACE(name.c_str());
    problem.kernel = name.c_str();
    const dropin::PeerFeatures all = features_of(problem);
    const bool is_mapped = !is_unmapped(config);
    EXPECT_EQ(all[30], config.tile.m);
    EXPECT_EQ(all[37] == 0, is_mapped);
    families[all[37]].insert(config.family);
    EXPECT_EQ(all[38] != 0, config.swaps_ab);
    EXPECT_EQ(all[39] != 0, is_mapped && config.store == Store::elements);
    EXPECT_EQ(all[40] != 0, config.ping_pong);
    EXPECT_EQ(all[41], config.family == Family::cooperative ? config.stages : 0);
    EXPECT_EQ(all[42], config.cluster.size());
  }
  families.erase(0);
  for (const auto& [number, named] : families) EXPECT_EQ(named.size(), 1) << number;
}

// What was decided when the trees were fitted.
TEST(DropinPeer, Golden) {
  PeerProblem problem = linear_layer();
  EXPECT_EQ(dropin::lead_of(features_of(problem)), 253);
  problem.m = 256;
  problem.n = 8;
  problem.k = 64;
  problem.b_alignment = 16;
  problem.predicted_us = 2;
  problem.tile_columns = 16;
  problem.kernel = "bwgemm_sm90_b16_16x16x16_warp";
  problem.splits = 1;
  EXPECT_EQ(dropin::lead_of(features_of(problem)), 617);
  EXPECT_TRUE(dropin::is_faster(features_of(problem)));
  problem = linear_layer();
  problem.transa = false;
  problem.m = 31;
  problem.n = 33;
  problem.k = 26120;
  problem.a_alignment = problem.d_alignment = 2;
  problem.b_alignment = 16;
  problem.predicted_us = 40;
  problem.kernel = "bwgemm_sm90_b16_64x64x32_direct";
  EXPECT_EQ(dropin::lead_of(features_of(problem)), -193);
  EXPECT_FALSE(dropin::is_faster(features_of(problem)));
}

}  // namespace
}  // namespace bwgemm::test
