// SPDX-License-Identifier: Apache-2.0
#include "vgpu/number.h"

#include <cmath>
#include <vector>

namespace bwgemm::vgpu {
namespace {

constexpr int f16_fraction_bits = 10, f16_bias = 15, f32_fraction_bits = 23, f32_bias = 127;

std::vector<float> all_f16_values() {
  std::vector<float> values(1 << 16);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = from_f16_slowly(static_cast<std::uint16_t>(i));
  return values;
}

const std::vector<float> table = all_f16_values();

}  // namespace

const float* const f16_values = table.data();

float from_f16_slowly(std::uint16_t value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value & 0x8000) << 16;
  const std::uint32_t exponent = value >> f16_fraction_bits & 0x1f, fraction = value & 0x3ff;
  if (exponent == 0x1f) return float_from_bits(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) {
    const float magnitude =
        std::ldexp(static_cast<float>(fraction), 1 - f16_bias - f16_fraction_bits);
    return sign ? -magnitude : magnitude;
  }
  return float_from_bits(sign | (exponent + f32_bias - f16_bias) << f32_fraction_bits |
                         fraction << (f32_fraction_bits - f16_fraction_bits));
}

std::uint16_t to_f16(float value) {
  const std::uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  if (magnitude > 0x7f800000) return 0x7fff;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds beyond the largest
  if (magnitude < 0x38800000) {                       // subnormal: in units of 2^-24
    const float scaled = std::ldexp(float_from_bits(magnitude), 24);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)));
  }
  const std::uint32_t rebiased = magnitude - ((f32_bias - f16_bias) << f32_fraction_bits);
  const std::uint32_t rounded = rebiased + 0xfff + (rebiased >> 13 & 1);
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}

}  // namespace bwgemm::vgpu
