// SPDX-License-Identifier: Apache-2.0
// Read-modify-write operations, by threads (atom, red), TMA (cp.reduce) and messages (red.async).
#pragma once

#include "vgpu/ptx/decoder.h"

namespace bwgemm::vgpu {

enum class AtomicOperation : std::uint8_t {
  add,
  minimum,
  maximum,
  bit_and,
  bit_or,
  bit_xor,
  increment,
  decrement,
  exchange,
  swap_if
};

struct Atomic {
  AtomicOperation operation;
  Type type;

  // Takes both from the opcode; fails if the machine does not have them together.
  static Atomic decode(Decoder& decoder);
  static AtomicOperation decode_operation(Decoder& decoder);
  static Atomic from_bits(std::uint32_t bits) {
    return {static_cast<AtomicOperation>(bits & 15), static_cast<Type>(bits >> 4 & 31)};
  }
  static constexpr int bits_used = 9;
  std::uint32_t bits() const {
    return static_cast<std::uint32_t>(operation) | static_cast<std::uint32_t>(type) << 4;
  }
  // On values in the low bits; `other` is what swap_if puts in place.
  std::uint64_t apply(std::uint64_t old, std::uint64_t value, std::uint64_t other = 0) const;
  // The same on memory.
  void apply(std::byte* to, const std::byte* value, std::size_t bytes) const;
};

}  // namespace bwgemm::vgpu
