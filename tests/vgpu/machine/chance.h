// SPDX-License-Identifier: Apache-2.0
// Chance: the numbers of std::mt19937, of which every decision takes some. A round of them is made
// at once, in vector code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bwgemm::vgpu {

class Chance {
 public:
  explicit Chance(std::uint32_t seed);

  std::uint32_t operator()() {
    if (next_ == round) refill();
    return numbers_[next_++];
  }

 private:
  static constexpr std::size_t round = 624, ahead = 397;

  void refill();

  std::array<std::uint32_t, round> state_, numbers_;
  std::size_t next_ = round;
};

}  // namespace bwgemm::vgpu
