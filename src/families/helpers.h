// SPDX-License-Identifier: Apache-2.0
// Helpers: the kernels that are no variants, a row for each. There is one for each architecture, so
// selection has no choice. Nothing else lists them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/kernel_name.h"
#include "families/bias_gradient/params.h"
#include "families/copies/params.h"

namespace bwgemm {

struct Helper {
  int number;                       // below those of variants
  std::string_view folder, header;  // of families
  std::string_view params, body;    // of namespace bwgemm
  int threads, ctas_per_sm;         // as many CTAs as hide the latency of loads
  KernelName (*name)(Arch);
};

inline constexpr std::array helpers{
    Helper{copy_kernel, "copies", "copy.cuh", "CopiesParams", "copies::copy", copies::threads,
           copies::ctas_per_sm, copies::kernel_name},
    Helper{bias_gradient_kernel, "bias_gradient", "bias_gradient.cuh", "BiasGradientParams",
           "bias_gradient::add_up", bias_gradient::threads, 2, bias_gradient::kernel_name}};

constexpr const Helper& helper_of(int kernel) {
  return helpers[static_cast<std::size_t>(-1 - kernel)];
}

constexpr bool helpers_are_in_order() {
  for (std::size_t i = 0; i < helpers.size(); ++i)
    if (helpers[i].number != -1 - static_cast<int>(i)) return false;
  return true;
}
static_assert(helpers_are_in_order(), "the numbers of helpers are -1, -2 and so on");

}  // namespace bwgemm
