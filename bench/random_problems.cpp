// SPDX-License-Identifier: Apache-2.0
#include "random_problems.h"

#include <array>

#include "random_list.h"

namespace bwgemm::bench {

namespace {

constexpr std::array<std::int64_t, 12> hidden = {768,  1024, 1536, 2048, 2560, 2880,
                                                 3072, 3584, 4096, 5120, 7168, 8192};

// A layer of a model: hidden to hidden, to the fused inner size, or back.
RandomSizes layer(Dice& dice, std::int64_t tokens, const char* kind) {
  const std::int64_t width = dice.one_of(hidden), shard = dice.one_of(shards);
  constexpr std::array<std::int64_t, 5> quarters = {4, 8, 11, 14, 16};
  const std::int64_t inner = width * dice.one_of(quarters) / 4 / shard / 64 * 64;
  switch (dice.below(4)) {
    case 0: return {tokens, width / shard, width, 1, kind};
    case 1: return {tokens, width, width / shard, 1, kind};
    case 2: return {tokens, 2 * inner, width, 1, kind};
    default: return {tokens, width, inner, 1, kind};
  }
}

RandomSizes sizes_of(Dice& dice) {
  switch (dice.below(9)) {
    case 0: return layer(dice, dice.size(1, 16, 1), "decode");
    case 1: return layer(dice, dice.size(17, 128, 1), "decode");
    case 2: return layer(dice, dice.size(129, 512, 1), "prefill");
    case 3: return layer(dice, dice.size(512, 16384, 8), "prefill");
    case 4:
      return {dice.size(512, 8192, 8), dice.size(512, 8192, 8), dice.size(512, 8192, 8), 1, "free"};
    case 5:
      return {dice.size(64, 4096, 1), dice.size(64, 4096, 1), dice.size(64, 4096, 1), 1, "odd"};
    case 6:
      return {dice.size(1024, 65536, 8), dice.size(32, 1024, 8), dice.size(32, 2048, 8), 1,
              "skinny"};
    case 7:
      return {dice.size(64, 1024, 8), dice.size(64, 1024, 8), dice.size(4096, 65536, 8), 1, "long"};
    default:
      return {dice.size(1, 1024, 1), dice.size(64, 1024, 8), dice.size(64, 512, 8),
              dice.size(4, 256, 1), "batch"};
  }
}

}  // namespace

std::string random_problem_list(std::uint64_t seed, int count) {
  constexpr double most_flop = 2e12;
  Dice dice(seed);
  RandomList list(seed, count, "", "beta,batch");
  while (!list.is_full()) {
    const RandomSizes sizes = sizes_of(dice);
    const bool b_is_t = dice.chance(75);  // weights lie as [out, in]
    const bool a_is_t = dice.chance(10);
    const bool f16 = dice.chance(20), f32_out = dice.chance(10), beta = dice.chance(10);
    if (is_too_large(sizes, most_flop)) continue;
    list.add(sizes, {a_is_t, b_is_t, f16, f32_out},
             (beta ? "1," : "0,") + std::to_string(sizes.batch));
  }
  return list.text();
}

}  // namespace bwgemm::bench
