// SPDX-License-Identifier: Apache-2.0
// What lists of random problems share: Dice draws them, RandomList writes them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace bwgemm::bench {

// Distributions of the standard library differ between implementations; the engine does not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(limit));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <std::size_t count>
  auto one_of(const std::array<std::int64_t, count>& values) {
    return values[static_cast<std::size_t>(below(count))];
  }
  // Evenly spread over the logarithm, a multiple of `step`.
  std::int64_t size(std::int64_t least, std::int64_t most, std::int64_t step) {
    const double share = static_cast<double>(below(1 << 20)) / (1 << 20);
    const double value =
        static_cast<double>(least) *
        std::exp2(share * std::log2(static_cast<double>(most) / static_cast<double>(least)));
    return std::max(step, static_cast<std::int64_t>(value) / step * step);
  }

 private:
  std::mt19937_64 engine_;
};

// Among how many GPUs a layer is divided: most often not.
inline constexpr std::array<std::int64_t, 6> shards = {1, 1, 1, 2, 4, 8};

struct RandomSizes {
  std::int64_t m, n, k, batch;
  const char* kind;  // begins the problem's name
};

// More operations than that, or more memory than a GPU has for several sets of operands.
bool is_too_large(const RandomSizes& sizes, double most_flop);

struct RandomForm {
  bool a_is_t, b_is_t, f16, f32_out;
};

// A problem list (problem.h) in the row-major view.
class RandomList {
 public:
  // `option`: what follows the count on the command line; `columns`: those behind out_dtype.
  RandomList(std::uint64_t seed, int count, std::string_view option, std::string_view columns);

  // `cells`: of `columns`.
  void add(const RandomSizes& sizes, const RandomForm& form, std::string_view cells);
  bool is_full() const { return size_ == count_; }
  const std::string& text() const { return text_; }

 private:
  std::uint64_t seed_;
  int count_, size_ = 0;
  std::string text_;
};

}  // namespace bwgemm::bench
