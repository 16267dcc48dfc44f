// SPDX-License-Identifier: Apache-2.0
// named(): the one of some values whose name() is a text.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

namespace bwgemm {

template <class Value>
std::optional<Value> named(std::string_view text, std::initializer_list<Value> values) {
  for (const Value value : values)
    if (text == name(value)) return value;
  return std::nullopt;
}

}  // namespace bwgemm
