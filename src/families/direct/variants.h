// SPDX-License-Identifier: Apache-2.0
// The kernels of Family::direct: one for each architecture.
#pragma once

#include <array>

#include "core/unmapped.h"

namespace bwgemm {

// clang-format off
inline constexpr std::array direct_variants = {
    //       arch         family          major of B  tile m,n,k     CTAs per SM
    unmapped(Arch::sm90,  Family::direct, Major::any, {64, 64, 32},  2),
    unmapped(Arch::sm100, Family::direct, Major::any, {64, 64, 32},  2),
};
// clang-format on

}  // namespace bwgemm
