// SPDX-License-Identifier: Apache-2.0
// Junk: what registers, predicates and shared memory hold before anybody has written them. Nothing
// says what that is: zero under every fourth seed, which hides some mistakes and shows others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace bwgemm::vgpu {

class Junk {
 public:
  explicit Junk(std::uint64_t seed);

  static constexpr std::size_t line = 64, period = 128 * line;  // small enough to stay in the cache

  // Other bytes each time.
  void fill(std::byte* to, std::size_t bytes);
  const std::byte* next() { return &bytes_[random_() % (period / line) * line]; }  // a period

 private:
  std::minstd_rand random_;
  // Twice the same: any offset begins a whole period.
  alignas(line) std::array<std::byte, 2 * period> bytes_;
};

}  // namespace bwgemm::vgpu
