// SPDX-License-Identifier: Apache-2.0
#include "families/sm90/derived.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "families/variants.h"

namespace bwgemm::sm90 {
namespace {

constexpr Derived computed(const KernelConfig& config) {
  return {warpgroups_of(config), staged_boxes(config), parts_of(config),
          layout(config).staging_depth};
}

// For the rows of kernel_variants that are Hopper's, which come first.
static_assert(std::equal(sm90_variants.begin(), sm90_variants.end(), kernel_variants.begin()));
constexpr auto table = [] {
  std::array<Derived, sm90_variants.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = computed(kernel_variants[i]);
  return all;
}();

}  // namespace

Derived derived(const KernelConfig& config) {
  const std::size_t bytes = reinterpret_cast<std::uintptr_t>(&config) -
                            reinterpret_cast<std::uintptr_t>(kernel_variants.data());
  const std::size_t row = bytes / sizeof(KernelConfig);
  return row < table.size() ? table[row] : computed(config);
}

}  // namespace bwgemm::sm90
