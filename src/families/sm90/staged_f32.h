// SPDX-License-Identifier: Apache-2.0
// Staged32: how the accumulators of a consumer warpgroup lie in a staging buffer as f32. Its
// members are those of Staged16 (staging.h), which are told the type.
#pragma once

#include <type_traits>

#include "families/sm90/staging.h"

namespace bwgemm::sm90 {

// In rows. In half of the rows the groups of each half of a line are swapped in time, so that the
// rows of one access meet no bank twice.
template <KernelConfig config>
class Staged32Rows {
  static constexpr int line_bytes = staged_boxes(config).line_bytes;

 public:
  static constexpr int pairs = line_bytes / 16;
  static constexpr int boxes_of_rows = 1;

  BWGEMM_DEVICE Staged32Rows(int warp, int lane)
      : swaps_(lane / 4 / lines_without_conflict % 2 != 0),
        offset_(swizzled((warp * 16 + lane / 4) * line_bytes + lane % 4 * 8, line_bytes) ^
                (swaps_ ? line_bytes / 2 : 0)) {}

  template <int count>
  BWGEMM_DEVICE void read(Dtype, std::uint32_t buffer, Pair (&values)[count], int first = 0) const {
    Pair met[count];
#pragma unroll
    for (int i = 0; i < count; ++i) {
      std::uint32_t words[2];
      ptx::ld_shared_v2(address<count>(buffer, first + i), words);
      met[i] = {__uint_as_float(words[0]), __uint_as_float(words[1])};
    }
#pragma unroll
    for (int i = 0; i < count; ++i) values[i] = in_turn(met, i);
  }

  template <int count>
  BWGEMM_DEVICE void write(Dtype, std::uint32_t buffer, const Pair (&values)[count],
                           int first = 0) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const Pair value = in_turn(values, i);
      ptx::st_shared_v2(address<count>(buffer, first + i), __float_as_uint(value.low),
                        __float_as_uint(value.high));
    }
  }

 private:
  static constexpr int lines_without_conflict = swizzle_row_bytes / line_bytes;

  // What is accessed i-th, or: when i is accessed. A part is accessed as it lies.
  template <int count>
  BWGEMM_DEVICE Pair in_turn(const Pair (&of)[count], int i) const {
    if constexpr (count < pairs) return of[i];
    const Pair here = of[i], there = of[i ^ count / 2];
    return {swaps_ ? there.low : here.low, swaps_ ? there.high : here.high};
  }
  template <int count>
  BWGEMM_DEVICE std::uint32_t address(std::uint32_t buffer, int pair) const {
    const std::uint32_t offset = count < pairs && swaps_ ? offset_ ^ line_bytes / 2 : offset_;
    return buffer + (offset ^ pair / 2 * group_columns * 4) + pair % 2 * swizzle_lines * line_bytes;
  }

  bool swaps_;
  std::uint32_t offset_;
};

// In columns: a line of a buffer holds 32 rows, those of two warps.
template <KernelConfig config>
class Staged32Columns {
  static constexpr int line_bytes = swizzle_row_bytes;
  static constexpr int group_bytes = group_columns * line_bytes;

 public:
  static constexpr int pairs = staged_boxes(config).lines / 4;
  static constexpr int boxes_of_rows = 2;

  BWGEMM_DEVICE Staged32Columns(int warp, int lane)
      : offset_(swizzled(lane % 4 * 2 * line_bytes + (warp % 2 * 16 + lane / 4) * 4, line_bytes)) {}

  template <int count>
  BWGEMM_DEVICE void read(Dtype, std::uint32_t buffer, Pair (&values)[count], int first = 0) const {
#pragma unroll
    for (int i = 0; i < count; ++i)
      values[i] = {__uint_as_float(ptx::ld_shared(low_address(buffer, first + i))),
                   __uint_as_float(ptx::ld_shared(high_address(buffer, first + i)))};
  }

  template <int count>
  BWGEMM_DEVICE void write(Dtype, std::uint32_t buffer, const Pair (&values)[count],
                           int first = 0) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      ptx::st_shared(low_address(buffer, first + i), __float_as_uint(values[i].low));
      ptx::st_shared(high_address(buffer, first + i), __float_as_uint(values[i].high));
    }
  }

 private:
  // The row 8 below is two 16-byte units further, in the line of the next column units are swapped.
  BWGEMM_DEVICE std::uint32_t low_address(std::uint32_t buffer, int pair) const {
    return buffer + (offset_ ^ pair % 2 * 32) + pair / 2 * group_bytes;
  }
  BWGEMM_DEVICE std::uint32_t high_address(std::uint32_t buffer, int pair) const {
    return buffer + (offset_ ^ (pair % 2 * 32 + 16)) + line_bytes + pair / 2 * group_bytes;
  }

  std::uint32_t offset_;
};

template <KernelConfig config>
using Staged32 = std::conditional_t<config.swaps_ab, Staged32Columns<config>, Staged32Rows<config>>;

}  // namespace bwgemm::sm90
