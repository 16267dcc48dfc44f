// SPDX-License-Identifier: Apache-2.0
// Draws cases: a function of the seed alone, the same on every machine.
#pragma once

#include <cstdint>

#include "case.h"

namespace bwgemm::fuzz {

// splitmix64. <random>'s distributions differ between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) { state_ = next() ^ 0x632be59bd9b4e019; }

  std::uint64_t next() {
    std::uint64_t bits = state_ += 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(limit));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class List>
  auto one_of(const List& list) {
    return *(std::begin(list) + below(static_cast<std::int64_t>(std::size(list))));
  }

 private:
  std::uint64_t state_;
};

Case draw(std::uint64_t seed);

}  // namespace bwgemm::fuzz
