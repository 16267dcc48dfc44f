// SPDX-License-Identifier: Apache-2.0
// Dice: what random problems are drawn with.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>

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

}  // namespace bwgemm::bench
