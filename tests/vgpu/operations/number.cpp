// SPDX-License-Identifier: Apache-2.0
#include "vgpu/operations/number.h"

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

const std::vector<float> f16_table = all_f16_values();

}  // namespace

const float* const f16_values = f16_table.data();

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

float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (nearest == value || nearest != nearest) return nearest;
  const float towards_zero =
      std::fabs(nearest) > std::fabs(value) ? std::nextafter(nearest, 0.0f) : nearest;
  return float_from_bits(bits_of(towards_zero) | 1);
}

namespace {

struct Layout8 {
  int fraction_bits, bias;
  std::uint8_t largest, nan;
};
constexpr Layout8 layout_of(Float8 format) {
  return format == Float8::e4m3 ? Layout8{3, 7, 0x7e, 0x7f} : Layout8{2, 15, 0x7b, 0x7f};
}

}  // namespace

float from_float8(std::uint8_t bits, Float8 format) {
  const Layout8 layout = layout_of(format);
  const int magnitude = bits & 0x7f, exponent = magnitude >> layout.fraction_bits;
  const int one = 1 << layout.fraction_bits, fraction = magnitude & (one - 1);
  float value = std::ldexp(static_cast<float>(exponent ? one + fraction : fraction),
                           (exponent ? exponent : 1) - layout.bias - layout.fraction_bits);
  if (format == Float8::e4m3 && magnitude == layout.nan) value = NAN;
  if (format == Float8::e5m2 && exponent == 31) value = fraction ? NAN : INFINITY;
  return bits & 0x80 ? -value : value;
}

// Positive values of a format are ordered like their bits.
std::uint8_t to_float8(float value, Float8 format) {
  const Layout8 layout = layout_of(format);
  if (value != value) return layout.nan;
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80 : 0);
  const float magnitude = std::fabs(value);
  int low = 0, high = layout.largest;
  while (low < high) {  // the largest that is not above it
    const int middle = (low + high + 1) / 2;
    if (from_float8(static_cast<std::uint8_t>(middle), format) <= magnitude)
      low = middle;
    else
      high = middle - 1;
  }
  if (low < layout.largest) {
    const float below = magnitude - from_float8(static_cast<std::uint8_t>(low), format);
    const float above = from_float8(static_cast<std::uint8_t>(low + 1), format) - magnitude;
    if (above < below || (above == below && low % 2 == 1)) ++low;
  }
  return static_cast<std::uint8_t>(sign | low);
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
