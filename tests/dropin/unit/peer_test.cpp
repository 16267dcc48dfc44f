// SPDX-License-Identifier: Apache-2.0
#include "dropin/peer.h"

#include <gtest/gtest.h>

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
          .has_activation = false,
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
  EXPECT_EQ(features[34], 96);
  EXPECT_EQ(features[35], 64 * (21 - 13));
  problem.kernel = "bwgemm_sm100_b16_128xNx64_single";
  EXPECT_EQ(features_of(problem)[30], 128);
  problem.kernel = "?";
  EXPECT_EQ(features_of(problem)[30], 1);
}

// What was decided when the trees were fitted.
TEST(DropinPeer, Golden) {
  PeerProblem problem = linear_layer();
  EXPECT_EQ(dropin::lead_of(features_of(problem)), 65);
  problem.m = 256;
  problem.n = 8;
  problem.k = 64;
  problem.b_alignment = 16;
  problem.predicted_us = 2;
  problem.tile_columns = 16;
  problem.kernel = "bwgemm_sm90_b16_16x16x16_warp";
  problem.splits = 1;
  EXPECT_EQ(dropin::lead_of(features_of(problem)), 811);
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
  EXPECT_EQ(dropin::lead_of(features_of(problem)), -124);
  EXPECT_FALSE(dropin::is_faster(features_of(problem)));
}

}  // namespace
}  // namespace bwgemm::test
