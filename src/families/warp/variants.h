// SPDX-License-Identifier: Apache-2.0
// The kernels of Family::warp.
#pragma once

#include <array>

#include "core/unmapped.h"

namespace bwgemm {

// clang-format off
inline constexpr std::array warp_variants = {
    //       arch         family          major of B  tile m,n,k     CTAs per SM
    unmapped(Arch::sm90,  Family::warp,   Major::any, {16, 16, 16},  3),
    unmapped(Arch::sm90,  Family::warp,   Major::any, {32, 32, 16},  2),
    unmapped(Arch::sm100, Family::warp,   Major::any, {16, 16, 16},  4),
};
// clang-format on

}  // namespace bwgemm
