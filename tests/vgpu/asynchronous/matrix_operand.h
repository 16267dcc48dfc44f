// SPDX-License-Identifier: Apache-2.0
// Operands of wgmma and tcgen05.mma in shared memory: 32 bytes of k of each row, found through a
// 64-bit descriptor. "Row" is an index of m or n.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vgpu/asynchronous/tma.h"
#include "vgpu/machine/cta.h"
#include "vgpu/operations/accumulation.h"

namespace bwgemm::vgpu {

inline constexpr std::uint32_t most_mma_depth = 32;  // steps of k of one instruction
inline constexpr std::uint32_t most_mma_columns = 256;

// Of all types an instruction takes 32 bytes of k.
constexpr std::uint32_t element_bytes(MmaElement element) {
  return element == MmaElement::tf32 ? 4 : element <= MmaElement::bf16 ? 2 : 1;
}
constexpr std::uint32_t mma_depth(MmaElement element) {
  return 32 / element_bytes(element);
}
// Elements that lie one after the other at `from`, as f32.
void to_floats(MmaElement element, const std::byte* from, std::uint32_t count, float* to);

struct MatrixOperand {
  std::uint32_t start, leading, stride;  // bytes; see matrix_operand.cpp for what they step over
  Swizzle swizzle;
  bool mn_major;  // else k is contiguous
  MmaElement element;
  const char* error = nullptr;  // what is illegal about the descriptor

  static MatrixOperand of_wgmma(std::uint64_t descriptor, bool mn_major, MmaElement element);
  static MatrixOperand of_tcgen05(std::uint64_t descriptor, bool mn_major, MmaElement element);

  // Elements in the 16 bytes that lie together.
  std::uint32_t chunk_elements() const { return 16 / element_bytes(element); }
  std::uint32_t depth() const { return mma_depth(element); }
  // Address of a chunk: k-major, of half `part` of a row's k; mn-major, of the rows of a group
  // (chunk_elements of them) at step k.
  std::uint32_t k_major_chunk(std::uint32_t row, std::uint32_t part) const;
  std::uint32_t mn_major_chunk(std::uint32_t row_group, std::uint32_t k) const;

  // Calls visit(address) for all chunks of rows [first, first + rows).
  template <class Visit>
  void for_each_chunk(std::uint32_t first, std::uint32_t rows, Visit visit) const {
    if (mn_major) {
      const std::uint32_t together = chunk_elements();
      for (std::uint32_t group = first / together; group < (first + rows + together - 1) / together;
           ++group)
        for (std::uint32_t k = 0; k < depth(); ++k) visit(mn_major_chunk(group, k));
    } else {
      for (std::uint32_t row = first; row < first + rows; ++row)
        for (std::uint32_t part = 0; part < 2; ++part) visit(k_major_chunk(row, part));
    }
  }

  // With the widest swizzle, mostly: calls visit(line) for the lines of shadow_line_bytes that hold
  // the chunks, once for each. False: they lie otherwise.
  template <class Visit>
  bool for_each_line(std::uint32_t first, std::uint32_t rows, Visit visit) const {
    const std::uint32_t inside = start % shadow_line_bytes;
    if (swizzle != Swizzle::bytes128 || stride % shadow_line_bytes != 0) return false;
    if (!mn_major) {
      if (inside > shadow_line_bytes - 32) return false;
      for (std::uint32_t row = first; row < first + rows; ++row)
        visit((start + row / 8 * stride) / shadow_line_bytes + row % 8);
      return true;
    }
    if (inside != 0 || leading % shadow_line_bytes != 0) return false;
    const std::uint32_t together = chunk_elements(), end = (first + rows + together - 1) / together;
    for (std::uint32_t group = first / together; group < end; group = (group / 8 + 1) * 8)
      for (std::uint32_t k = 0; k < depth(); ++k)
        visit(mn_major_chunk(group, k) / shadow_line_bytes);
    return true;
  }

  // to[row * row_pitch + k * k_pitch] = element (first row + row, k), for `rows` rows.
  void fetch(const Cta& cta, std::uint32_t rows, float* to, std::uint32_t row_pitch,
             std::uint32_t k_pitch) const;

 private:
  template <class Bits, class Convert>
  void fetch_as(const Cta& cta, std::uint32_t rows, float* to, std::uint32_t row_pitch,
                std::uint32_t k_pitch, Convert convert) const;
};

// Who reads an operand: the issuing thread, and the clocks its reads are ordered by; the bytes stay
// in use until (reader, time).
struct OperandReader {
  Access access;
  const Clock& order;
  const Clock& async_order;
  Entity entity;
  Time time;
  Unwritten unwritten = Unwritten::wrong;
};

// Checks bounds, and judges the reads, of rows [first, first + rows).
void judge_operand(Cta& cta, const MatrixOperand& operand, std::uint32_t first, std::uint32_t rows,
                   const OperandReader& reader);

// What a buffer of B has behind its last row: multiply_add may read whole blocks of columns.
inline constexpr std::uint32_t most_columns_behind = 32;

// d[j] += a[k] * b[k][j] of each row, for `depth` steps of k, summed as `how` says.
void multiply_add(const Accumulation& how, MmaElement element, std::span<const RowOfSums> rows,
                  Rows<const float> b, std::uint32_t columns, std::uint32_t depth);

}  // namespace bwgemm::vgpu
