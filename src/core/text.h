// SPDX-License-Identifier: Apache-2.0
// text(): joins strings and numbers into one string, for messages. Independent of locales.
#pragma once

#include <bit>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace bwgemm {

inline void append_text(std::string& to, std::string_view part) {
  to += part;
}

template <std::integral Number>
void append_text(std::string& to, Number number) {
  to += std::to_string(number);
}

// Reads back as the same number. to_chars() compares: where the thread takes denormals for zero, so
// would it. As a double no float is denormal.
template <std::same_as<float> Number>
void append_text(std::string& to, Number number) {
  char digits[64];
  const auto bits = std::bit_cast<std::uint32_t>(number);
  constexpr std::uint32_t fraction = (1u << 23) - 1, sign = 1u << 31;
  const bool is_denormal = (bits & ~(fraction | sign)) == 0 && (bits & fraction) != 0;
  const double size = static_cast<double>(bits & fraction) * 0x1p-149;
  const auto end =
      is_denormal ? std::to_chars(digits, digits + sizeof digits, bits < sign ? size : -size).ptr
                  : std::to_chars(digits, digits + sizeof digits, number).ptr;
  to.append(digits, end);
}

template <class... Parts>
std::string text(const Parts&... parts) {
  std::string joined;
  (append_text(joined, parts), ...);
  return joined;
}

}  // namespace bwgemm
