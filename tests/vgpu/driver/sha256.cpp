// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/sha256.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace bwgemm::vgpu::driver {
namespace {

using State = std::array<std::uint32_t, 8>;
constexpr std::size_t block_bytes = 64;

// Fractional parts of the cube roots of the first 64 primes.
constexpr std::uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void mix(State& state, const unsigned char* block) {
  std::uint32_t schedule[64];
  for (int i = 0; i < 16; ++i)
    schedule[i] = static_cast<std::uint32_t>(block[4 * i]) << 24 | block[4 * i + 1] << 16 |
                  block[4 * i + 2] << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t near = schedule[i - 2], far = schedule[i - 15];
    schedule[i] = (std::rotr(near, 17) ^ std::rotr(near, 19) ^ near >> 10) + schedule[i - 7] +
                  (std::rotr(far, 7) ^ std::rotr(far, 18) ^ far >> 3) + schedule[i - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + round_constants[i] + schedule[i];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const State mixed{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  State state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const std::size_t whole = bytes.size() / block_bytes * block_bytes;
  for (std::size_t at = 0; at < whole; at += block_bytes) mix(state, data + at);

  // The rest, a one bit, and the length in bits at the end of the last block.
  const std::size_t rest = bytes.size() - whole;
  std::vector<unsigned char> tail(rest + 9 <= block_bytes ? block_bytes : 2 * block_bytes);
  if (rest > 0) std::memcpy(tail.data(), data + whole, rest);
  tail[rest] = 0x80;
  for (std::size_t i = 0; i < 8; ++i)
    tail[tail.size() - 1 - i] = static_cast<unsigned char>(bytes.size() * 8 >> (8 * i));
  for (std::size_t at = 0; at < tail.size(); at += block_bytes) mix(state, tail.data() + at);

  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) text += digits[word >> shift & 15];
  return text;
}

}  // namespace bwgemm::vgpu::driver
