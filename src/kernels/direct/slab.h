// SPDX-License-Identifier: Apache-2.0
// Slabs: 64 rows (of m or n) x 32 steps of k of one operand, as the main loop consumes them. A slab
// keeps the operand's direction: lines of 32 elements along k, or of 64 along m or n, with the
// 128-byte swizzle, so that neither stores nor ldmatrix meet bank conflicts.
#pragma once

#include "kernels/direct/access.h"
#include "kernels/epilogue.h"
#include "kernels/ptx/mma.h"
#include "kernels/ptx/sync.h"

namespace bwgemm::direct {

inline constexpr int slab_rows = 64;
inline constexpr int slab_depth = 32;
inline constexpr int slab_elements = slab_rows * slab_depth;
inline constexpr int slab_bytes = 2 * slab_elements;

// Lines run along k unless only m or n is contiguous. A matrix without a contiguous direction is
// right too, element by element.
BWGEMM_DEVICE bool lines_along_k(const StridedMatrix& matrix) {
  return matrix.inner_stride == 1 || matrix.outer_stride != 1;
}

// A thread's part of a slab between its load and its store.
struct SlabWords {
  std::uint32_t word[slab_bytes / threads / 4];
};

// Moves slabs of one operand from global memory through registers to shared memory. Keeps only the
// position in the matrix, its edge and the width of the accesses, chosen once per kernel; the rest
// is computed anew for each slab, because registers are scarcer here than arithmetic.
class SlabLoader {
 public:
  BWGEMM_DEVICE SlabLoader(const StridedMatrix& matrix, std::int64_t rows, std::int64_t k,
                           int batches)
      : matrix_(matrix),
        along_k_(lines_along_k(matrix)),
        width_(access_width(matrix.data, rows, k, batches)) {}

  // For a matrix at another address.
  BWGEMM_DEVICE void fit(const void* data, std::int64_t rows, std::int64_t k, int batches) {
    width_ = access_width(data, rows, k, batches);
  }

  // Moves to the slab that starts at (row, k) of the matrix at `data`, with `rows` rows from there
  // to the matrix's edge.
  BWGEMM_DEVICE void seek(const void* data, std::int64_t row, std::int64_t k, std::int64_t batch,
                          int rows) {
    rows_ = rows;
    slab_ =
        static_cast<const char*>(data) +
        2 * (batch * matrix_.batch_stride + row * matrix_.outer_stride + k * matrix_.inner_stride);
  }

  // Starts the loads of the slab, of which `depth` steps of k exist. Accesses of one element are
  // left to store(): they would hold a register per element for as long as the slab before is
  // multiplied.
  BWGEMM_DEVICE void load(int depth, SlabWords& words) const {
    switch (width_) {
      case 8: load_units<8>(depth, words.word); break;
      case 4: load_units<4>(depth, words.word); break;
      case 2: load_units<2>(depth, words.word); break;
      default: break;
    }
  }

  // Writes the slab to a 1024-byte aligned shared address and moves to the next one.
  BWGEMM_DEVICE void store(std::uint32_t slab, int depth, const SlabWords& words) {
    switch (width_) {
      case 8: store_units<8>(slab, words.word); break;
      case 4: store_units<4>(slab, words.word); break;
      case 2: store_units<2>(slab, words.word); break;
      default: copy_elements(slab, depth); break;
    }
    slab_ += 2 * slab_depth * matrix_.inner_stride;
  }

 private:
  template <int width>
  static constexpr int units = slab_elements / threads / width;

  // Elements per access.
  BWGEMM_DEVICE int access_width(const void* data, std::int64_t rows, std::int64_t k,
                                 int batches) const {
    if (along_stride() != 1) return 1;
    Alignment alignment;
    alignment.add(data);
    alignment.add(2 * matrix_.batch_stride, batches);
    alignment.add(2 * line_stride(), along_k_ ? rows : k);
    return alignment.bytes() / 2;
  }

  BWGEMM_DEVICE std::int64_t along_stride() const {
    return along_k_ ? matrix_.inner_stride : matrix_.outer_stride;
  }
  BWGEMM_DEVICE std::int64_t line_stride() const {
    return along_k_ ? matrix_.outer_stride : matrix_.inner_stride;
  }

  template <int width>
  BWGEMM_DEVICE void load_units(int depth, std::uint32_t* words) const {
    constexpr int unit_words = words_of(2 * width);
    const UnitMap at(ptx::tid_x(), width, along_k_ ? 5 : 6);
    const int inside = at.units_in(along_k_ ? rows_ : depth);
    const int left = (along_k_ ? depth : rows_) - at.column;  // elements to the line's end
    const std::int64_t unit_step = 2 * line_stride() << at.log2_line_step;
    const char* unit = slab_ + 2 * (at.line * line_stride() + at.column * along_stride());
#pragma unroll
    for (int i = 0; i < units<width>; ++i) {
      std::uint32_t* value = words + i * unit_words;
#pragma unroll
      for (int word = 0; word < unit_words; ++word) value[word] = 0;
      if (i < inside) {
        if (left >= width)
          load_global<2 * width>(unit, value);
        else if constexpr (width > 1)
          load_global_first<2 * width>(unit, left, value);
      }
      unit = ptx::add_s64(unit, unit_step);
    }
  }

  template <int width>
  BWGEMM_DEVICE void store_units(std::uint32_t slab, const std::uint32_t* words) const {
    const std::uint32_t first = swizzled(ptx::tid_x() * width * 2, swizzle_row_bytes);
#pragma unroll
    for (int i = 0; i < units<width>; ++i) {
      // Unit 0 lies below this distance's bits, so they swizzle separately.
      const std::uint32_t distance = i * threads * width * 2;
      const std::uint32_t crossed = swizzled(distance, swizzle_row_bytes) - distance;
      store_shared<2 * width>(slab + distance + (first ^ crossed), words + i * words_of(2 * width));
    }
  }

  BWGEMM_DEVICE void copy_elements(std::uint32_t slab, int depth) const {
    std::uint32_t elements[units<1>];
    load_units<1>(depth, elements);
    store_units<1>(slab, elements);
  }

  const StridedMatrix& matrix_;
  bool along_k_;
  int width_;
  int rows_ = 0;
  const char* slab_ = nullptr;
};

// How the four 8x8 blocks of a 16x16 block follow each other in the registers of a fragment. mma
// takes A rows first. Of B it takes one half of the rows, both halves of k, and wants those two in
// neighbouring registers: otherwise each mma costs two moves.
enum class BlockOrder : std::uint8_t { rows_first, k_first };

// Reads 16x16 blocks of a slab as mma operands.
class FragmentReader {
 public:
  // `row`: first row of this warp's part of the slab, a multiple of 32.
  BWGEMM_DEVICE FragmentReader(bool along_k, int row, BlockOrder order)
      : along_k_(along_k),
        row_step_(along_k ? 16 * slab_depth * 2 : 16 * 2),
        k_step_(along_k ? 16 * 2 : 16 * slab_rows * 2) {
    // Lane l names line l % 8 of the 8x8 block l / 8. Blocks 1 and 3 are one block further in the
    // first direction of the order, 2 and 3 in the other.
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t in_block = lane % 8, first = lane / 8 % 2 * 8, second = lane / 16 * 8;
    const std::uint32_t block_row = order == BlockOrder::rows_first ? first : second;
    const std::uint32_t block_k = order == BlockOrder::rows_first ? second : first;
    const std::uint32_t offset = along_k
                                     ? (row + block_row + in_block) * slab_depth * 2 + block_k * 2
                                     : (block_k + in_block) * slab_rows * 2 + (row + block_row) * 2;
    offset_ = swizzled(offset, swizzle_row_bytes);
  }

  // Block (i, j): 16 i rows and 16 j steps of k from the start; i and j are 0 or 1. Both steps are
  // single bits, clear in the unswizzled offset and not among the bits 7 to 9 that choose the
  // swizzle: so crossing them in is adding them.
  BWGEMM_DEVICE void read(std::uint32_t slab, int i, int j, std::uint32_t (&fragment)[4]) const {
    const std::uint32_t address = slab + (offset_ ^ (i * row_step_) ^ (j * k_step_));
    if (along_k_)
      ptx::ldmatrix_m8n8_x4(address, fragment);
    else
      ptx::ldmatrix_m8n8_x4_trans(address, fragment);
  }

 private:
  bool along_k_;
  std::uint32_t row_step_, k_step_;
  std::uint32_t offset_;
};

}  // namespace bwgemm::direct
