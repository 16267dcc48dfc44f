// SPDX-License-Identifier: Apache-2.0
// Staged16: how the accumulators of a consumer warpgroup lie in a staging buffer as 16-bit
// elements. A box is the part of the tile that fills one buffer. Its size is counted in pairs of
// neighbouring accumulators for each thread.
//
// Accumulators 4g..4g+3 of a thread are two pairs of neighbours in group g, the tile's columns
// 8g..8g+7: row 16*warp + lane/4 of the warpgroup's 64 (and the row 8 below it for the second
// pair), columns 2*(lane%4) and the next.
#pragma once

#include "device/epilogue.h"
#include "device/ptx/shared_memory.h"

namespace bwgemm::sm90 {

inline constexpr int group_columns = 8;
inline constexpr int swizzle_lines = 8;  // the swizzle repeats

// Values of a thread, with one question of the type.
template <int count>
BWGEMM_DEVICE void pack_all(Dtype type, const Pair (&values)[count],
                            std::uint32_t (&packed)[count]) {
  if (type == Dtype::bf16) {
#pragma unroll
    for (int i = 0; i < count; ++i) packed[i] = pack(Dtype::bf16, values[i]);
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) packed[i] = pack(Dtype::f16, values[i]);
  }
}

template <int count>
BWGEMM_DEVICE void unpack_all(Dtype type, const std::uint32_t (&packed)[count],
                              Pair (&values)[count]) {
  if (type == Dtype::bf16) {
#pragma unroll
    for (int i = 0; i < count; ++i) values[i] = unpack(Dtype::bf16, packed[i]);
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) values[i] = unpack(Dtype::f16, packed[i]);
  }
}

// Moved as 8x8 matrices: two row halves of two groups at once. Transposed where
// the lines of the buffer are columns of the tile.
template <KernelConfig config>
class Staged16 {
  static constexpr bool columns = config.swaps_ab;
  static constexpr int line_bytes = staged_boxes(config).line_bytes;

 public:
  static constexpr int pairs = (columns ? staged_boxes(config).lines : line_bytes / 2) / 4;
  static constexpr int boxes_of_rows = 1;  // that 64 rows take

  // The line that this lane names for its matrix of the first two groups.
  BWGEMM_DEVICE Staged16(int warp, int lane)
      : offset_(swizzled(
            columns ? (lane / 16 * 8 + lane % 8) * line_bytes + warp * 32 + lane / 8 % 2 * 16
                    : (warp * 16 + lane % 16) * line_bytes + lane / 16 * 16,
            line_bytes)) {}

  template <int count>
  BWGEMM_DEVICE void read(Dtype type, std::uint32_t buffer, Pair (&values)[count],
                          int first = 0) const {
#pragma unroll
    for (int i = 0; i < count; i += 4) {
      std::uint32_t packed[4];
      if constexpr (!columns) {
        ptx::ldmatrix_m8n8_x4(address(buffer, first + i), packed);
      } else if (i + 4 <= count) {
        ptx::ldmatrix_m8n8_x4_trans(address(buffer, first + i), packed);
      } else {
        std::uint32_t half[2];
        ptx::ldmatrix_m8n8_x2_trans(address(buffer, first + i), half);
        packed[0] = half[0];
        packed[1] = half[1];
      }
      Pair four[4];
      unpack_all(type, packed, four);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (i + j < count) values[i + j] = four[j];
    }
  }

  template <int count>
  BWGEMM_DEVICE void write(Dtype type, std::uint32_t buffer, const Pair (&values)[count],
                           int first = 0) const {
    std::uint32_t packed[count];
    pack_all(type, values, packed);
#pragma unroll
    for (int i = 0; i < count; i += 4) {
      const std::uint32_t to = address(buffer, first + i);
      if (i + 4 > count)
        ptx::stmatrix_m8n8_x2_trans(to, packed[i], packed[i + 1]);
      else if constexpr (columns)
        ptx::stmatrix_m8n8_x4_trans(to, packed[i], packed[i + 1], packed[i + 2], packed[i + 3]);
      else
        ptx::stmatrix_m8n8_x4(to, packed[i], packed[i + 1], packed[i + 2], packed[i + 3]);
    }
  }

 private:
  // A group is one 16-byte unit of each row, which the swizzle permutes by exclusive or, or whole
  // lines.
  BWGEMM_DEVICE std::uint32_t address(std::uint32_t buffer, int pair) const {
    const int group = pair / 2;
    return columns ? buffer + offset_ + group * swizzle_lines * line_bytes
                   : buffer + (offset_ ^ group * 16);
  }

  std::uint32_t offset_;
};

}  // namespace bwgemm::sm90
