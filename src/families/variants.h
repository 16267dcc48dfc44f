// SPDX-License-Identifier: Apache-2.0
// The table of kernels, joined from those of the families. One variant is one compiled kernel, one
// candidate of selection, one parameter of the tests and of the benchmark, and one name. To add a
// kernel, add a line to its family's table (families/<family>/variants.h): nothing else lists
// kernels.
#pragma once

#include <array>
#include <cstddef>

#include "core/kernel_config.h"
#include "core/kernel_name.h"
#include "families/direct/variants.h"
#include "families/dot/variants.h"
#include "families/facts.h"
#include "families/sm100/variants.h"
#include "families/sm90/variants.h"
#include "families/stationary/variants.h"
#include "families/warp/variants.h"

namespace bwgemm {

template <std::size_t... sizes>
constexpr auto joined(const std::array<KernelConfig, sizes>&... tables) {
  std::array<KernelConfig, (sizes + ...)> all{};
  std::size_t count = 0;
  const auto add = [&](const auto& table) {
    for (const KernelConfig& variant : table) all[count++] = variant;
  };
  (add(tables), ...);
  return all;
}

// Selection takes the earlier of two kernels that it predicts alike.
inline constexpr auto kernel_variants = joined(sm90_variants, sm100_variants, direct_variants,
                                               warp_variants, stationary_variants, dot_variants);

constexpr bool all_valid() {
  for (const KernelConfig& variant : kernel_variants)
    if (invalid_because(variant) != nullptr) return false;
  return true;
}

constexpr bool all_distinct() {
  for (std::size_t i = 0; i < kernel_variants.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (kernel_variants[i] == kernel_variants[j]) return false;
  return true;
}

static_assert(all_valid(), "a variant breaks a rule of its family's invalid_because()");
static_assert(kernel_variants.size() <= 320, "more variants need their gain in bench/log");
static_assert(all_distinct(), "two variants are the same kernel");

}  // namespace bwgemm
