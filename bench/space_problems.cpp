// SPDX-License-Identifier: Apache-2.0
// Problems from all over what a user can ask for.
#include <array>
#include <initializer_list>
#include <string_view>

#include "dice.h"
#include "random_problems.h"

namespace bwgemm::bench {

namespace {

struct Sizes {
  std::int64_t m, n, k, batch;
  const char* kind;
};

// Three in five problems have sizes that are multiples of 8; the others are as they come.
Sizes sizes(Dice& dice) {
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

bool is_too_large(const Sizes& s) {
  constexpr double most_flop = 2e13, most_elements = 2e9;
  const auto product = [&](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(s.batch);
  };
  return 2 * product(s.m, s.n) * static_cast<double>(s.k) > most_flop ||
         product(s.m, s.n) + product(s.m, s.k) + product(s.n, s.k) > most_elements;
}

}  // namespace

std::string space_problem_list(std::uint64_t seed, int count) {
  static constexpr std::array<std::string_view, 6> epilogues = {
      "bias", "residual", "relu", "bias_gelu_tanh", "silu", "bias_residual"};
  Dice dice(seed);
  std::string text;
  const auto add = [&](std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) text.append(part);
  };
  add({"# bwgemm_bench --random-problems ", std::to_string(seed), ",", std::to_string(count),
       ",space, row-major view\n",
       "name,M,N,K,transA,transB,dtype,out_dtype,beta,epilogue,batch\n"});
  for (int done = 0; done < count;) {
    const Sizes s = sizes(dice);
    const bool a_is_t = dice.chance(30), b_is_t = dice.chance(60);
    const bool f16 = dice.chance(30), f32_out = dice.chance(15);
    const bool has_epilogue = dice.chance(25), beta = dice.chance(15);
    const auto epilogue = epilogues.at(static_cast<std::size_t>(dice.below(epilogues.size())));
    if (is_too_large(s)) continue;
    const std::string type = f16 ? "f16" : "bf16";
    add({s.kind, ".", std::to_string(seed), ".", std::to_string(done++)});
    for (const std::int64_t size : {s.m, s.n, s.k}) add({",", std::to_string(size)});
    add({a_is_t ? ",T" : ",N", b_is_t ? ",T," : ",N,", type, ",", f32_out ? "f32" : type});
    if (has_epilogue)
      add({",,", epilogue, ","});
    else
      add({beta ? ",1,none," : ",0,none,"});
    add({std::to_string(s.batch), "\n"});
  }
  return text;
}

}  // namespace bwgemm::bench
