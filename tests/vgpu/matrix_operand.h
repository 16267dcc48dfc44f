// SPDX-License-Identifier: Apache-2.0
// Operands of wgmma and tcgen05.mma in shared memory: 16 steps of k of 16-bit elements, found
// through a 64-bit descriptor. "Row" is an index of m or n.
#pragma once

#include <cstdint>
#include <string>

#include "vgpu/cta.h"
#include "vgpu/tma.h"

namespace bwgemm::vgpu {

inline constexpr std::uint32_t mma_depth = 16;  // steps of k of one instruction
inline constexpr std::uint32_t most_mma_columns = 256;

struct MatrixOperand {
  std::uint32_t start, leading, stride;  // bytes; see matrix_operand.cpp for what they step over
  Swizzle swizzle;
  bool mn_major;                // else k is contiguous
  bool f16;                     // else bf16
  const char* error = nullptr;  // what is illegal about the descriptor

  static MatrixOperand of_wgmma(std::uint64_t descriptor, bool mn_major, bool f16);
  static MatrixOperand of_tcgen05(std::uint64_t descriptor, bool mn_major, bool f16);

  // Address of 16 bytes: k-major, elements 8 * part .. of a row (part 0 or 1); mn-major, rows
  // 8 * row_group .. of step k.
  std::uint32_t k_major_chunk(std::uint32_t row, std::uint32_t part) const;
  std::uint32_t mn_major_chunk(std::uint32_t row_group, std::uint32_t k) const;

  // Calls visit(address) for all chunks of rows [first, first + rows).
  template <class Visit>
  void for_each_chunk(std::uint32_t first, std::uint32_t rows, Visit visit) const {
    if (mn_major) {
      for (std::uint32_t group = first / 8; group < (first + rows + 7) / 8; ++group)
        for (std::uint32_t k = 0; k < mma_depth; ++k) visit(mn_major_chunk(group, k));
    } else {
      for (std::uint32_t row = first; row < first + rows; ++row)
        for (std::uint32_t part = 0; part < 2; ++part) visit(k_major_chunk(row, part));
    }
  }

  // to[row * row_pitch + k * k_pitch] = element (first row + row, k), for `rows` rows.
  void fetch(const Cta& cta, std::uint32_t rows, float* to, std::uint32_t row_pitch,
             std::uint32_t k_pitch) const;
};

// Who reads an operand: the issuing thread, and the clocks its reads are ordered by; the bytes stay
// in use until (reader, time).
struct OperandReader {
  Access access;
  const Clock& order;
  const Clock& async_order;
  Entity entity;
  Time time;
};

// Checks bounds, and judges the reads, of rows [first, first + rows).
void judge_operand(Cta& cta, const MatrixOperand& operand, std::uint32_t first, std::uint32_t rows,
                   const OperandReader& reader);

// d[i][j] += a[i][k] * b[k][j] for the 16 steps of k; `d` has `pitch` floats per row, `b`
// most_mma_columns.
void multiply_add(float* d, std::uint32_t pitch, const float* a, const float* b, std::uint32_t rows,
                  std::uint32_t columns);

}  // namespace bwgemm::vgpu
