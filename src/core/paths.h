// SPDX-License-Identifier: Apache-2.0
// Paths: how A and B come into a kernel, and how D goes out, as tables of variants name them.
#pragma once

#include "core/kernel_config.h"

namespace bwgemm {

// How A and B come in, and D goes out.
struct Paths {
  Load load;
  Store store;
  bool swaps_ab;
  bool operator==(const Paths&) const = default;
};

constexpr Paths paths_of(const KernelConfig& config) {
  return {config.load, config.store, config.swaps_ab};
}

namespace paths {
inline constexpr Paths tma{Load::tma, Store::tma, false};
inline constexpr Paths swap_ab{Load::tma, Store::tma, true};
inline constexpr Paths shifted{Load::tma_shifted, Store::elements, false};
inline constexpr Paths loose_a{Load::loose_a, Store::tma, false};
inline constexpr Paths elements{Load::tma, Store::elements, false};
inline constexpr Paths threads{Load::threads, Store::elements, false};
}  // namespace paths

}  // namespace bwgemm
