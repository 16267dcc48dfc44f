// SPDX-License-Identifier: Apache-2.0
// The table of kernels. One row is one compiled kernel, one candidate of selection, one parameter
// of the tests and of the benchmark, and one name. To add a kernel, add a row; nothing else lists
// kernels.
#pragma once

#include <array>

#include "core/kernel_config.h"
#include "kernels/layout.h"

namespace bwgemm {

// clang-format off
inline constexpr std::array kernel_rows = {
    //           arch         family               input          a          b           tile m,n,k      cluster  stages
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::k,  Major::k,  {128, 256, 64}, {2, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::k,  Major::mn, {128, 256, 64}, {2, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::mn, Major::k,  {128, 256, 64}, {2, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::mn, Major::mn, {128, 256, 64}, {2, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::k,  Major::k,  {128, 128, 64}, {1, 1}, 6},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::k,  Major::mn, {128, 128, 64}, {1, 1}, 6},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::mn, Major::k,  {128, 128, 64}, {1, 1}, 6},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::mn, Major::mn, {128, 128, 64}, {1, 1}, 6},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::k,  Major::k,  {128, 192, 64}, {1, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::k,  Major::mn, {128, 192, 64}, {1, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::mn, Major::k,  {128, 192, 64}, {1, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::mn, Major::mn, {128, 192, 64}, {1, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::k,  Major::k,  {128, 64, 64},  {1, 1}, 8},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::k,  Major::mn, {128, 64, 64},  {1, 1}, 8},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::mn, Major::k,  {128, 64, 64},  {1, 1}, 8},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::bf16,  Major::mn, Major::mn, {128, 64, 64},  {1, 1}, 8},

    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::k,  Major::k,  {128, 256, 64}, {2, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::k,  Major::mn, {128, 256, 64}, {2, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::mn, Major::k,  {128, 256, 64}, {2, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::mn, Major::mn, {128, 256, 64}, {2, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::k,  Major::k,  {128, 128, 64}, {1, 1}, 6},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::k,  Major::mn, {128, 128, 64}, {1, 1}, 6},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::mn, Major::k,  {128, 128, 64}, {1, 1}, 6},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::mn, Major::mn, {128, 128, 64}, {1, 1}, 6},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::k,  Major::k,  {128, 192, 64}, {1, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::k,  Major::mn, {128, 192, 64}, {1, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::mn, Major::k,  {128, 192, 64}, {1, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::mn, Major::mn, {128, 192, 64}, {1, 1}, 4},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::k,  Major::k,  {128, 64, 64},  {1, 1}, 8},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::k,  Major::mn, {128, 64, 64},  {1, 1}, 8},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::mn, Major::k,  {128, 64, 64},  {1, 1}, 8},
    KernelConfig{Arch::sm90,  Family::cooperative, Input::f16,   Major::mn, Major::mn, {128, 64, 64},  {1, 1}, 8},

    KernelConfig{Arch::sm90,  Family::direct,      Input::any16, Major::any, Major::any, {64, 64, 32}, {1, 1}, 0},

    KernelConfig{Arch::sm100, Family::pair,        Input::any16, Major::any, Major::any, {256, 0, 64}, {2, 1}, 0},
    KernelConfig{Arch::sm100, Family::direct,      Input::any16, Major::any, Major::any, {64, 64, 32}, {1, 1}, 0},
};
// clang-format on

constexpr const char* invalid_because(const KernelConfig& config) {
  switch (config.family) {
    case Family::cooperative: return sm90::invalid_because(config);
    case Family::pair: return sm100::invalid_because(config);
    case Family::direct: return direct::invalid_because(config);
  }
  return "unknown family";
}

constexpr bool all_valid() {
  for (const KernelConfig& row : kernel_rows)
    if (invalid_because(row) != nullptr) return false;
  return true;
}

constexpr bool all_distinct() {
  for (std::size_t i = 0; i < kernel_rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (kernel_rows[i] == kernel_rows[j]) return false;
  return true;
}

static_assert(all_valid(), "a row of kernel_rows breaks a rule of its family's invalid_because()");
static_assert(all_distinct(), "two rows of kernel_rows are the same kernel");

}  // namespace bwgemm
