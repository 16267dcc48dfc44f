// SPDX-License-Identifier: Apache-2.0
// Rows of the kernel table by name: some that stand for their kind, and why one cannot serve a
// problem.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "families/registry.h"
#include "families/variants.h"
#include "select/algos.h"

namespace bwgemm::test {

inline constexpr std::string_view big_kk = "bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop",
                                  pair_kernel = "bwgemm_sm100_b16_256xNx64_2x1_pair",
                                  direct90 = "bwgemm_sm90_b16_64x64x32_direct";

// Throws what forcing an unknown kernel throws.
inline const KernelConfig& row_named(std::string_view name) {
  return kernel_variants[static_cast<std::size_t>(forced_variant(kernel_variants, name))];
}

// Empty if the kernel serves the problem.
inline std::string reason(const Problem& problem, std::string_view kernel = big_kk) {
  const KernelConfig& row = row_named(kernel);
  const char* text = rejects(problem, row.arch == Arch::sm90 ? nominal_h200 : nominal_b200, row);
  return text != nullptr ? text : "";
}

}  // namespace bwgemm::test
