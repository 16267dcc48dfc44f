// SPDX-License-Identifier: Apache-2.0
// Dtype: element types as the kernels know them. The C enumerators are translated in api/validate.
#pragma once

#include <cstdint>

namespace bwgemm {

enum class Dtype : std::uint8_t { f32, f16, bf16, e4m3, e5m2 };

constexpr int size_bytes(Dtype type) {
  switch (type) {
    case Dtype::f32: return 4;
    case Dtype::f16:
    case Dtype::bf16: return 2;
    case Dtype::e4m3:
    case Dtype::e5m2: return 1;
  }
  return 0;
}

constexpr const char* name(Dtype type) {
  switch (type) {
    case Dtype::f32: return "f32";
    case Dtype::f16: return "f16";
    case Dtype::bf16: return "bf16";
    case Dtype::e4m3: return "e4m3";
    case Dtype::e5m2: return "e5m2";
  }
  return "?";
}

}  // namespace bwgemm
