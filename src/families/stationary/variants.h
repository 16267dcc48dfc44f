// SPDX-License-Identifier: Apache-2.0
// The kernels of Family::stationary.
#pragma once

#include <array>

#include "core/unmapped.h"

namespace bwgemm {

// A variant whose A runs along k.
constexpr KernelConfig stationary_variant(Arch arch, Tile tile, int ctas_per_sm, Load load) {
  KernelConfig variant = unmapped(arch, Family::stationary, Major::any, tile, ctas_per_sm);
  variant.a = Major::k;
  variant.load = load;
  return variant;
}

// clang-format off
inline constexpr std::array stationary_variants = {
    //                 arch         tile m,n,k    CTAs per SM  loads of A
    stationary_variant(Arch::sm90,  {64, 32, 32}, 6,           Load::units),
    stationary_variant(Arch::sm90,  {64, 64, 32}, 5,           Load::units),
    stationary_variant(Arch::sm90,  {64, 32, 32}, 5,           Load::threads),
    stationary_variant(Arch::sm100, {64, 32, 32}, 5,           Load::threads),
};
// clang-format on

}  // namespace bwgemm
