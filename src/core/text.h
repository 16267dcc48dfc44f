// SPDX-License-Identifier: Apache-2.0
// text(): joins strings and whole numbers into one string, for messages. Independent of locales.
#pragma once

#include <concepts>
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

template <class... Parts>
std::string text(const Parts&... parts) {
  std::string joined;
  (append_text(joined, parts), ...);
  return joined;
}

}  // namespace bwgemm
