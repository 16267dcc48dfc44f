// SPDX-License-Identifier: Apache-2.0
// Problems as programs that train and serve models ask for them: each layer forward and in both
// directions of the gradient, any number of tokens; attention whose sequences have any length.
#include <algorithm>
#include <array>

#include "random_list.h"
#include "random_problems.h"

namespace bwgemm::bench {

namespace {

constexpr std::array<std::int64_t, 20> widths = {384,  512,  768,  1024, 1152, 1280, 1536,
                                                 1792, 2048, 2304, 2560, 2880, 3072, 3584,
                                                 4096, 4544, 5120, 6144, 7168, 8192};
constexpr std::array<std::int64_t, 7> head = {32, 40, 64, 72, 80, 96, 128};
constexpr std::array<std::int64_t, 6> quarters = {2, 4, 8, 11, 14, 16};

struct Drawn {
  RandomSizes sizes;
  bool a_is_t, b_is_t, may_fuse;
};

std::int64_t tokens(Dice& dice) {
  switch (dice.below(4)) {
    case 0: return dice.size(1, 17, 1);
    case 1: return dice.size(17, 512, 1);
    case 2: return dice.size(128, 4096, 1);
    default: return dice.size(512, 16384, 8);
  }
}

Drawn layer(Dice& dice) {
  const std::int64_t count = tokens(dice), width = dice.one_of(widths);
  const std::int64_t inner =
      std::max<std::int64_t>(width * dice.one_of(quarters) / 4 / dice.one_of(shards) / 8 * 8, 64);
  const bool widens = dice.chance(50);
  const std::int64_t in = widens ? width : inner, out = widens ? inner : width;
  const std::int64_t direction = dice.below(10);
  if (direction < 6) return {{count, out, in, 1, "forward"}, false, true, true};
  if (direction < 8) return {{count, in, out, 1, "dgrad"}, false, false, false};
  return {{out, in, count, 1, "wgrad"}, true, false, false};
}

Drawn attention(Dice& dice) {
  const std::int64_t queries = dice.size(16, 1024, 1), depth = dice.one_of(head);
  const std::int64_t keys = dice.chance(80) ? queries : dice.size(16, 1024, 1);
  const std::int64_t batch = dice.size(4, 512, 1);
  if (dice.chance(50)) return {{queries, keys, depth, batch, "scores"}, false, true, false};
  return {{queries, depth, keys, batch, "context"}, false, false, false};
}

// Few columns or a short k beside many rows: routers, adapters, convolutions, recommenders.
Drawn skinny(Dice& dice) {
  return {{dice.size(1024, 131072, 1), dice.size(8, 1024, 8), dice.size(16, 1024, 8), 1, "skinny"},
          false,
          dice.chance(75),
          true};
}

}  // namespace

std::string training_problem_list(std::uint64_t seed, int count) {
  static constexpr std::array epilogues = {"bias",           "bias",     "relu",
                                           "bias_gelu_tanh", "residual", "bias_residual"};
  constexpr double most_flop = 2e12;
  Dice dice(seed);
  RandomList list(seed, count, ",training", "beta,epilogue,batch");
  while (!list.is_full()) {
    const std::int64_t kind = dice.below(10);
    const Drawn drawn = kind < 7 ? layer(dice) : kind < 9 ? attention(dice) : skinny(dice);
    const bool f16 = dice.chance(20), f32_out = dice.chance(8), fused = dice.chance(35);
    const std::string epilogue =
        epilogues.at(static_cast<std::size_t>(dice.below(epilogues.size())));
    if (is_too_large(drawn.sizes, most_flop)) continue;
    const std::string cells = drawn.may_fuse && fused ? "," + epilogue : "0,none";
    list.add(drawn.sizes, {drawn.a_is_t, drawn.b_is_t, f16, f32_out},
             cells + "," + std::to_string(drawn.sizes.batch));
  }
  return list.text();
}

}  // namespace bwgemm::bench
