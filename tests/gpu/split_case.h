// SPDX-License-Identifier: Apache-2.0
// A product that is split over k, and that TMA cannot load, since k is odd. Its launches use
// scratch memory: for copies of operands, or for partial sums.
#pragma once

#include "support/gemm_case.h"

namespace bwgemm::test {

// Results of different seeds differ.
inline GemmCase split_case(std::uint64_t seed) {
  return {.m = 72,
          .n = 40,
          .k = small_scale() ? 1025 : 32769,
          .output = Dtype::f32,
          .fill = Fill::integers,
          .seed = seed};
}

}  // namespace bwgemm::test
