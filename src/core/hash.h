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

// Adds both halves of products of pairs of words, which do not wait for each other.
constexpr std::uint64_t mixed(const std::uint64_t* words, std::size_t begin, std::size_t end) {
  __extension__ using Wide = unsigned __int128;
  std::uint64_t sum = 0;
  for (std::size_t k = begin; k < end; k += 2) {
    const std::uint64_t second = k + 1 < end ? words[k + 1] : 0;
    const Wide product = Wide{words[k] ^ hash_mask(k)} * (second ^ hash_mask(k + 1));
    sum += static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  return sum;
}

constexpr std::uint64_t hash_of_sum(std::uint64_t sum) {
  return sum ^ sum >> 32;
}

template <std::size_t count>
constexpr std::uint64_t hash_of(const std::array<std::uint64_t, count>& words) {
  return hash_of_sum(mixed(words.data(), 0, count));
}

}  // namespace bwgemm
