// SPDX-License-Identifier: Apache-2.0
// MmaKindFacts: what the host knows of a kind of multiplication, in names and in sentences.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "core/element.h"

namespace bwgemm {

struct MmaKindFacts {
  std::string_view name;  // in names of kernels
  std::span<const MmaTypes> types;
  const char* takes;  // the same as a sentence
};

constexpr MmaKindFacts facts_of(MmaKind kind) {
  switch (kind) {
    case MmaKind::b16: break;
  }
  return {"b16", types_of<MmaKind::b16>, "takes A and B both of bf16 or both of f16"};
}

constexpr bool takes(MmaKind kind, Dtype a, Dtype b) {
  const auto types = facts_of(kind).types;
  return std::find(types.begin(), types.end(), MmaTypes{a, b}) != types.end();
}

}  // namespace bwgemm
