// SPDX-License-Identifier: Apache-2.0
// OperandRows: one operand of a warp's tile, loaded straight into the registers that mma.sync
// reads.
#pragma once

#include "device/params.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/operand_memory.h"
#include "device/ptx/sync.h"

namespace bwgemm::warp {

inline constexpr int step_depth = 16;  // of k: one mma.sync

// What a lane has of 8 rows (of m or n) by 16 steps of k: row lane / 4, and of k the pairs that
// begin at 2 * (lane % 4) and 8 behind. The second element of a pair has its own word until it is
// multiplied, because what joins them would wait for the loads; loaded as a pair it has none.
struct BlockWords {
  std::uint32_t word[2], second[2];

  template <bool in_pairs>
  BWGEMM_DEVICE std::uint32_t pair(int half) const {
    return in_pairs ? word[half] : word[half] + (second[half] << 16);
  }
};

template <int blocks>
struct StepWords {
  BlockWords block[blocks];
};

// Whether every pair of neighbours along k can be loaded at once: a pair begins at an even k.
// `data`: the matrix of the batch.
BWGEMM_DEVICE bool loads_pairs(const StridedMatrix& matrix, const char* data) {
  return matrix.inner_stride == 1 && matrix.outer_stride % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(data) % 4 == 0;
}

// Rows past the edge are the last one again: sums there are not written.
template <int blocks>
class OperandRows {
 public:
  // `data`: the matrix of the batch; `row`: the tile's first, of `rows` in all.
  BWGEMM_DEVICE OperandRows(const StridedMatrix& matrix, const char* data, std::int64_t row,
                            std::int64_t rows)
      : k_bytes_(2 * matrix.inner_stride) {
    const int lane = ptx::tid_x() % 32, first_k = lane % 4 * 2;
    const std::int64_t left = rows - row - 1;
    const int last = left < 8 * blocks ? static_cast<int>(left) : 8 * blocks - 1;
    const char* const tile = data + 2 * row * matrix.outer_stride + first_k * k_bytes_;
#pragma unroll
    for (int i = 0; i < blocks; ++i) {
      const int at = lane / 4 + 8 * i;
      line_[i] = tile + 2 * (at < last ? at : last) * matrix.outer_stride;
    }
  }

  // Starts the loads of the next step, all of which exists. Addresses are a chain, because those of
  // a step, computed once and kept, would take four registers for each line.
  template <bool in_pairs>
  BWGEMM_DEVICE void load(StepWords<blocks>& words) {
#pragma unroll
    for (int i = 0; i < blocks; ++i) {
      BlockWords& block = words.block[i];
      if constexpr (in_pairs) {
        block.word[0] = ptx::ld_global(line_[i]);
        block.word[1] = ptx::ld_global(line_[i] + 8 * 2);
        line_[i] += step_depth * 2;
      } else {
        const char* at = line_[i];
        block.word[0] = ptx::ld_global_u16(at);
        block.second[0] = ptx::ld_global_u16(at = ptx::add_s64(at, k_bytes_));
        block.word[1] = ptx::ld_global_u16(at = ptx::add_s64(at, 7 * k_bytes_));
        block.second[1] = ptx::ld_global_u16(at = ptx::add_s64(at, k_bytes_));
        line_[i] = ptx::add_s64(at, 7 * k_bytes_);
      }
    }
  }

  // The same for the step `steps` further, of which `depth` exist; the others are zero.
  BWGEMM_DEVICE void load_part(int steps, int depth, StepWords<blocks>& words) const {
    const std::int64_t offset = steps * step_depth * k_bytes_;
    const int left = depth - ptx::tid_x() % 4 * 2;
#pragma unroll
    for (int i = 0; i < blocks; ++i) {
      BlockWords& block = words.block[i];
      const char* at = ptx::add_s64(line_[i], offset);
      block.word[0] = ptx::ld_global_u16_if(left > 0, at);
      block.second[0] = ptx::ld_global_u16_if(left > 1, at = ptx::add_s64(at, k_bytes_));
      block.word[1] = ptx::ld_global_u16_if(left > 8, at = ptx::add_s64(at, 7 * k_bytes_));
      block.second[1] = ptx::ld_global_u16_if(left > 9, at = ptx::add_s64(at, k_bytes_));
    }
  }

 private:
  std::int64_t k_bytes_;
  const char* line_[blocks];
};

}  // namespace bwgemm::warp
