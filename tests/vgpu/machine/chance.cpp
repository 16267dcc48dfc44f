// SPDX-License-Identifier: Apache-2.0
#include "vgpu/machine/chance.h"

namespace bwgemm::vgpu {
namespace {

constexpr std::uint32_t twisted(std::uint32_t high, std::uint32_t low) {
  const std::uint32_t joined = (high & 0x80000000) | (low & 0x7fffffff);
  return joined >> 1 ^ ((0 - (joined & 1)) & 0x9908b0df);
}

constexpr std::uint32_t tempered(std::uint32_t word) {
  word ^= word >> 11;
  word ^= word << 7 & 0x9d2c5680;
  word ^= word << 15 & 0xefc60000;
  return word ^ word >> 18;
}

}  // namespace

Chance::Chance(std::uint32_t seed) {
  state_[0] = seed;
  for (std::uint32_t i = 1; i < round; ++i)
    state_[i] = 1812433253 * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
}

void Chance::refill() {
  constexpr std::size_t behind = round - ahead;
  for (std::size_t i = 0; i < behind; ++i)
    state_[i] = state_[i + ahead] ^ twisted(state_[i], state_[i + 1]);
  for (std::size_t i = behind; i < round - 1; ++i)
    state_[i] = state_[i - behind] ^ twisted(state_[i], state_[i + 1]);
  state_[round - 1] = state_[ahead - 1] ^ twisted(state_[round - 1], state_[0]);
  for (std::size_t i = 0; i < round; ++i) numbers_[i] = tempered(state_[i]);
  next_ = 0;
}

}  // namespace bwgemm::vgpu
