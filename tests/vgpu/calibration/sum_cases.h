// SPDX-License-Identifier: Apache-2.0
// The sums of question 3: vectors that tell hypotheses about the adder apart, then random ones.
#pragma once

#include <vector>

#include "vgpu/calibration/sums.h"

namespace bwgemm::calibration {

// SumCase::kind.
enum SumKind : std::int32_t {
  small_behind_large,  // one product of 1, others 2^-r below: places, bits kept, cut
  small_behind_addend,
  cancelling,     // large - large + small in all orders
  rounding,       // sums that end between floats
  wide_products,  // significands near 2 x 2: is a product normalised before it is aligned
  denormal,
  special,  // infinities, NaN, overflow
  random_sums,
  random_signs_alike,
  random_denormal,
  random_chain,
  random_without_addend,
  sum_kinds
};
const char* name_of(SumKind kind);

std::vector<SumCase> make_sum_cases(bool is_f16);

std::uint16_t to_16_bits(double value,
                         bool is_f16);  // of a value that the type has, or the nearest
float from_16_bits(std::uint16_t bits, bool is_f16);

}  // namespace bwgemm::calibration
