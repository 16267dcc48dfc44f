// SPDX-License-Identifier: Apache-2.0
// hash_of: of the words of a cache's key. Keys are compared as well: it has to be fast and to tell
// apart what programs ask for, not to withstand anybody.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bwgemm {

// The k-th word is distinguished by its multiple of 2^64 / golden ratio.
constexpr std::uint64_t hash_mask(std::size_t k) {
  return 0x9e3779b97f4a7c15 * (2 * k + 1);
}

// Sums both halves of products of pairs of words, which do not wait for each other.
template <std::size_t count>
constexpr std::uint64_t hash_of(const std::array<std::uint64_t, count>& words) {
  __extension__ using Wide = unsigned __int128;
  std::uint64_t mixed = 0;
  for (std::size_t k = 0; k < count; k += 2) {
    const std::uint64_t second = k + 1 < count ? words[k + 1] : 0;
    const Wide product = Wide{words[k] ^ hash_mask(k)} * (second ^ hash_mask(k + 1));
    mixed += static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  return mixed ^ mixed >> 32;
}

}  // namespace bwgemm
