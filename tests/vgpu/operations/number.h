// SPDX-License-Identifier: Apache-2.0
// Floats as bits: conversions of 16-bit ones to and from f32, rounding to nearest, ties to even.
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

// The NaN that f32 arithmetic and tensor cores give.
inline constexpr std::uint32_t result_nan = 0x7fffffff;

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

// The float towards zero, with its last bit set if it is not exact: rounding it again to fewer bits
// gives what rounding `value` once would have given.
float rounded_to_odd(double value);

// 8-bit floats. Conversion saturates to the largest finite value, as .satfinite says.
enum class Float8 { e4m3, e5m2 };
float from_float8(std::uint8_t bits, Float8 format);
std::uint8_t to_float8(float value, Float8 format);

// What the tensor cores see of an f32 that they take as tf32.
inline float truncated_to_tf32(float value) {
  return float_from_bits(bits_of(value) & 0xffffe000);
}

}  // namespace bwgemm::vgpu
