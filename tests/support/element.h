// SPDX-License-Identifier: Apache-2.0
// Element types on the host: bf16 and f16 bits from and to float, written from the formats'
// definitions and rounding to nearest even, so that tests do not judge the library by its own code.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bwgemm/bwgemm.h"
#include "core/element.h"

namespace bwgemm::test {

inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  const std::uint32_t to_even = (bits >> 16) & 1;
  return static_cast<std::uint16_t>((bits + 0x7fff + to_even) >> 16);
}

// 2^exponent, of a normal number.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// The nearest integer, of a tie the even one, of numbers far below 2^52. No call to the library.
inline double nearest_integer(double value) {
  constexpr double unit_is_one = 0x1.8p52;
  return value + unit_is_one - unit_is_one;
}

inline float from_f16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  float value;
  if (exponent == 31)
    value = fraction != 0 ? NAN : INFINITY;
  else if (exponent == 0)
    value = static_cast<float>(fraction * power_of_two(-24));
  else
    value = static_cast<float>((1024 + fraction) * power_of_two(exponent - 25));
  return (bits & 0x8000) != 0 ? -value : value;
}

inline std::uint16_t to_f16(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  const double size = std::fabs(static_cast<double>(value));
  if (size >= 65520) return sign | 0x7c00;  // halfway from the largest finite value to 2^16
  if (size < 0x1p-14)                       // denormals, and what rounds up to the first normal
    return sign | static_cast<std::uint16_t>(nearest_integer(size * 0x1p24));
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(size) >> 52) - 1023;
  const auto significand = static_cast<int>(nearest_integer(size * power_of_two(10 - exponent)));
  return sign | static_cast<std::uint16_t>(((exponent + 15) << 10) + significand - 1024);
}

inline float load(const std::byte* at, Dtype type) {
  if (type == Dtype::f32) {
    float value;
    std::memcpy(&value, at, 4);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, at, 2);
  return type == Dtype::bf16 ? from_bf16(bits) : from_f16(bits);
}

inline void store(std::byte* at, Dtype type, float value) {
  if (type == Dtype::f32) {
    std::memcpy(at, &value, 4);
    return;
  }
  const std::uint16_t bits = type == Dtype::bf16 ? to_bf16(value) : to_f16(value);
  std::memcpy(at, &bits, 2);
}

// The nearest value of the type.
inline float rounded_to(Dtype type, float value) {
  switch (type) {
    case Dtype::bf16: return from_bf16(to_bf16(value));
    case Dtype::f16: return from_f16(to_f16(value));
    default: return value;
  }
}

inline bwgemmDataType_t c_type(Dtype type) {
  switch (type) {
    case Dtype::bf16: return BWGEMM_R_16BF;
    case Dtype::f16: return BWGEMM_R_16F;
    case Dtype::e4m3: return BWGEMM_R_8F_E4M3;
    case Dtype::e5m2: return BWGEMM_R_8F_E5M2;
    case Dtype::f32: break;
  }
  return BWGEMM_R_32F;
}

}  // namespace bwgemm::test
