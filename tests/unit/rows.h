// SPDX-License-Identifier: Apache-2.0
// Rows of the kernel table by name. Throws what forcing an unknown kernel throws.
#pragma once

#include <cstddef>
#include <string_view>

#include "families/variants.h"
#include "select/candidate.h"

namespace bwgemm::test {

inline const KernelConfig& row_named(std::string_view name) {
  return kernel_variants[static_cast<std::size_t>(forced_variant(kernel_variants, name))];
}

}  // namespace bwgemm::test
