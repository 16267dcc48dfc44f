// SPDX-License-Identifier: Apache-2.0
// SumCase: 512 sums of products that one warpgroup forms, as host, kernel and raw data see them.
#pragma once

#include <cstdint>

namespace bwgemm::calibration {

struct alignas(16) SumCase {
  static constexpr int rows = 64, columns = 8, depth = 64;

  std::int32_t is_f16;      // else bf16
  std::int32_t steps;       // instructions of 16 k each, one behind the other
  std::int32_t accumulate;  // 0: the first instruction ignores c
  std::int32_t kind;        // what the operands were made for, see sum_cases.h
  std::uint16_t a[rows * depth], b[columns * depth];  // k contiguous
  float c[rows * columns];
  float d_wgmma[rows * columns], d_mma[rows * columns];
};

}  // namespace bwgemm::calibration
