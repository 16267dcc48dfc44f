// SPDX-License-Identifier: Apache-2.0
// 16-bit floats as bits: conversions to and from f32, rounding to nearest, ties to even.
#pragma once

#include <cstdint>
#include <cstring>

namespace bwgemm::vgpu {

inline float float_from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float from_bf16(std::uint16_t value) {
  return float_from_bits(static_cast<std::uint32_t>(value) << 16);
}

inline std::uint16_t to_bf16(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_f16_slowly(std::uint16_t value);

// By table: a conversion per operand of every multiplication is what it is for.
extern const float* const f16_values;
inline float from_f16(std::uint16_t value) {
  return f16_values[value];
}

std::uint16_t to_f16(float value);

}  // namespace bwgemm::vgpu
