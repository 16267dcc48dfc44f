// SPDX-License-Identifier: Apache-2.0
// unmapped(): a variant without tensor maps, as tables of variants name one.
#pragma once

#include "core/kernel_config.h"

namespace bwgemm {

// A variant without tensor maps.
constexpr KernelConfig unmapped(Arch arch, Family family, Major b, Tile tile, int ctas_per_sm) {
  KernelConfig variant{arch, family, MmaKind::b16, Major::any, b, tile, {1, 1}, 0};
  variant.load = Load::threads;
  variant.store = Store::elements;
  variant.ctas_per_sm = ctas_per_sm;
  return variant;
}

}  // namespace bwgemm
