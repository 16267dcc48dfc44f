// SPDX-License-Identifier: Apache-2.0
// Problems from all over what a user can ask for.
#include <array>

#include "random_list.h"
#include "random_problems.h"

namespace bwgemm::bench {

namespace {

// Three in five problems have sizes that are multiples of 8; the others are as they come.
RandomSizes sizes_in_space(Dice& dice) {
  const std::int64_t step = dice.chance(60) ? 8 : 1;
  switch (dice.below(10)) {
    case 0:  // one wave of small tiles with a long k
      return {dice.size(100, 1024, step), dice.size(100, 1024, step), dice.size(4096, 16384, step),
              1, "wave"};
    case 1:  // attention of short sequences
      return {dice.size(1, 256, 1), dice.size(16, 256, 1), dice.size(8, 256, 1),
              dice.size(8, 1024, 1), "heads"};
    case 2:
      return {dice.size(1, 4096, step), dice.size(1, 4096, step), dice.size(8, 4096, step),
              dice.size(2, 512, 1), "batch"};
    default:
      return {dice.size(1, 65536, step), dice.size(1, 65536, step), dice.size(8, 65536, step), 1,
              "space"};
  }
}

}  // namespace

std::string space_problem_list(std::uint64_t seed, int count) {
  static constexpr std::array epilogues = {"bias",           "residual", "relu",
                                           "bias_gelu_tanh", "silu",     "bias_residual"};
  constexpr double most_flop = 2e13;
  Dice dice(seed);
  RandomList list(seed, count, ",space", "beta,epilogue,batch");
  while (!list.is_full()) {
    const RandomSizes sizes = sizes_in_space(dice);
    const bool a_is_t = dice.chance(30), b_is_t = dice.chance(60);
    const bool f16 = dice.chance(30), f32_out = dice.chance(15);
    const bool has_epilogue = dice.chance(25), beta = dice.chance(15);
    const std::string epilogue =
        epilogues.at(static_cast<std::size_t>(dice.below(epilogues.size())));
    if (is_too_large(sizes, most_flop)) continue;
    const std::string fused = has_epilogue ? "," + epilogue : beta ? "1,none" : "0,none";
    list.add(sizes, {a_is_t, b_is_t, f16, f32_out}, fused + "," + std::to_string(sizes.batch));
  }
  return list.text();
}

}  // namespace bwgemm::bench
