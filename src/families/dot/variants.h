// SPDX-License-Identifier: Apache-2.0
// The kernels of Family::dot: for weights of each major, with one warp or eight for each tile, and
// for vectors.
#pragma once

#include <array>

#include "core/unmapped.h"

namespace bwgemm {

// clang-format off
inline constexpr std::array dot_variants = {
    //       arch         family          major of B  tile m,n,k     CTAs per SM
    unmapped(Arch::sm90,  Family::dot,    Major::k,   {8, 16, 1024}, 2),
    unmapped(Arch::sm90,  Family::dot,    Major::mn,  {8, 64, 256},  2),
    unmapped(Arch::sm90,  Family::dot,    Major::k,   {8, 16, 128},  2),
    unmapped(Arch::sm90,  Family::dot,    Major::mn,  {8, 64, 32},   2),
    unmapped(Arch::sm90,  Family::dot,    Major::k,   {1, 1, 2048},  2),
    unmapped(Arch::sm90,  Family::dot,    Major::k,   {1, 4, 2048},  2),
    unmapped(Arch::sm90,  Family::dot,    Major::k,   {1, 8, 2048},  2),
    unmapped(Arch::sm100, Family::dot,    Major::k,   {8, 16, 1024}, 2),
    unmapped(Arch::sm100, Family::dot,    Major::mn,  {8, 64, 256},  2),
    unmapped(Arch::sm100, Family::dot,    Major::k,   {8, 16, 128},  2),
    unmapped(Arch::sm100, Family::dot,    Major::mn,  {8, 64, 32},   2),
};
// clang-format on

}  // namespace bwgemm
