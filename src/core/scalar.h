// SPDX-License-Identifier: Apache-2.0
// Scalar: alpha or beta, known to the host or only to the device.
#pragma once

#include <bit>
#include <cstdint>

namespace bwgemm {

// Zero of either sign. Bits decide: a thread that takes denormals for zero would compare them as
// equal.
constexpr bool is_zero(float value) {
  return std::bit_cast<std::uint32_t>(value) << 1 == 0;
}

// Device scalars are read by the kernel, which decides at run time what zero means.
struct Scalar {
  float value = 0;
  const float* device = nullptr;  // non-null: `value` is unknown here

  constexpr bool known_zero() const { return device == nullptr && is_zero(value); }
  constexpr bool operator==(const Scalar& other) const {
    return std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(other.value) &&
           device == other.device;
  }
};

}  // namespace bwgemm
