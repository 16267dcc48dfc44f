// SPDX-License-Identifier: Apache-2.0
// Activation: which function an epilogue applies, and its name. Enumerators count as those of
// bwgemmActivation_t do.
#pragma once

#include <cstdint>

namespace bwgemm {

enum class Activation : std::uint8_t { none, relu, gelu_tanh, gelu_erf, silu, sigmoid, clamp };
inline constexpr Activation last_activation = Activation::clamp;

// low <= high; either may be infinite.
struct Bounds {
  float low = 0, high = 0;

  bool operator==(const Bounds&) const = default;
};

constexpr const char* name(Activation activation) {
  switch (activation) {
    case Activation::none: return "none";
    case Activation::relu: return "relu";
    case Activation::gelu_tanh: return "gelu_tanh";
    case Activation::gelu_erf: return "gelu_erf";
    case Activation::silu: return "silu";
    case Activation::sigmoid: return "sigmoid";
    case Activation::clamp: return "clamp";
  }
  return "?";
}

}  // namespace bwgemm
