// SPDX-License-Identifier: Apache-2.0
// Slabs: 64 rows (of m or n) x 32 steps of k of one operand, as the main loop consumes them. A slab
// keeps the operand's direction: lines of 32 elements along k, or of 64 along m or n, with the
// 128-byte swizzle, so that neither stores nor ldmatrix meet bank conflicts.
#pragma once

#include "device/epilogue.h"
#include "device/ptx/cp_async.h"
#include "device/ptx/mma.h"
#include "device/ptx/operand_memory.h"
#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "families/direct/access.h"

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

// A thread's part of a slab between its loads and its stores: four pairs of neighbours. The second
// element of a pair has its own word, because what joins them would wait for the loads.
struct SlabWords {
  std::uint32_t word[4], second[4];
};

// Moves slabs of one operand from global to shared memory. cp.async copies them, 16 bytes at a
// time, which is wide, or a pair of elements; or they pass through registers element by element.
// Past the last row of the matrix a slab holds any of its elements, since the sums there are not
// written; past the last step of k it holds zeros.
class SlabLoader {
 public:
  BWGEMM_DEVICE SlabLoader(const StridedMatrix& matrix, std::int64_t rows, int batches)
      : matrix_(matrix),
        along_k_(lines_along_k(matrix)),
        width_(access_width(matrix.data, rows, batches)) {}

  // For a matrix at another address.
  BWGEMM_DEVICE void fit(const void* data, std::int64_t rows, int batches) {
    width_ = access_width(data, rows, batches);
  }

  BWGEMM_DEVICE bool can_be_copied() const { return width_ > 1; }

  // Moves to the slab that starts at (row, k) of the matrix at `data`, with `rows` rows from there
  // to the matrix's edge.
  BWGEMM_DEVICE void seek(const void* data, std::int64_t row, std::int64_t k, std::int64_t batch,
                          int rows) {
    rows_ = rows;
    const UnitMap at = units();
    const int last = along_k_ ? rows - 1 : (rows - 1) & (is_wide() ? ~7 : ~1);
    const int line = along_k_ && at.line > last ? last : at.line;
    const int column = !along_k_ && at.column > last ? last : at.column;
    inside_ = along_k_ ? at.units_in(rows) : 4;
    left_ = (along_k_ ? slab_depth : rows) - column;
    to_ = swizzled(ptx::tid_x() * (is_wide() ? 16 : 4), swizzle_row_bytes);
    unit_ = static_cast<const char*>(data) +
            2 * (batch * matrix_.batch_stride + row * matrix_.outer_stride +
                 k * matrix_.inner_stride + line * line_stride() + column * along_stride());
  }

  // Starts copies of the slab, of which `depth` steps of k exist, to a 1024-byte aligned shared
  // address, and moves to the next slab.
  BWGEMM_DEVICE void copy(std::uint32_t slab, int depth) {
    if (depth < slab_depth || left_ < (is_wide() ? 8 : 2))
      copy_part(slab + to_, depth);
    else if (is_wide())
      ptx::cp_async_16(slab + to_, unit_);
    else
      copy_pairs(slab + to_);
    unit_ += 2 * slab_depth * matrix_.inner_stride;
  }

  // Starts loads of the slab to registers, and moves to the next one. `words`: zeros, or what the
  // thread stored of an earlier slab.
  BWGEMM_DEVICE void load(int depth, SlabWords& words) {
    if (depth < slab_depth || width_ == 0)
      load_part(depth, words);
    else
      load_whole(words);
    unit_ += 2 * slab_depth * matrix_.inner_stride;
  }

  // Writes a loaded slab to a 1024-byte aligned shared address.
  BWGEMM_DEVICE void store(std::uint32_t slab, const SlabWords& words) const {
    static_assert(threads * 4 % 1024 == 0);  // so the pairs of a thread swizzle alike
#pragma unroll
    for (int i = 0; i < 4; ++i)
      ptx::st_shared(slab + to_ + i * threads * 4, words.word[i] + (words.second[i] << 16));
  }

 private:
  // Elements per access, 0 where none are neighbours.
  BWGEMM_DEVICE int access_width(const void* data, std::int64_t rows, int batches) const {
    if (along_stride() != 1) return 0;
    Alignment alignment;
    alignment.add(data);
    alignment.add(2 * matrix_.batch_stride, batches);
    // Lines behind the only step of k are addressed, too, though nothing of them is copied.
    alignment.add(2 * line_stride(), along_k_ ? rows : 2);
    return alignment.bytes() / 2;
  }

  BWGEMM_DEVICE bool is_wide() const {
    return width_ == 8;
  }

  static BWGEMM_DEVICE int clamped(int left, int most) {
    return left < 0 ? 0 : left < most ? left : most;
  }

  BWGEMM_DEVICE std::int64_t along_stride() const {
    return along_k_ ? matrix_.inner_stride : matrix_.outer_stride;
  }
  BWGEMM_DEVICE std::int64_t line_stride() const {
    return along_k_ ? matrix_.outer_stride : matrix_.inner_stride;
  }
  BWGEMM_DEVICE std::int64_t pair_step() const {
    return 2 * line_stride() * (along_k_ ? threads / 16 : threads / 32);
  }
  BWGEMM_DEVICE UnitMap units() const {
    return UnitMap(ptx::tid_x(), is_wide() ? 8 : 2, along_k_ ? 5 : 6);
  }

  // Lines behind the last one are the last one again.
  BWGEMM_DEVICE void copy_pairs(std::uint32_t to) const {
    const std::int64_t step = pair_step();
    const char* pair = unit_;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i > 0) pair = ptx::add_s64_if(i < inside_, pair, step);
      ptx::cp_async_4(to + i * threads * 4, pair);
    }
  }

  // What exists of the thread's units, and zeros.
  BWGEMM_DEVICE void copy_part(std::uint32_t to, int depth) const {
    const int lines = units().units_in(along_k_ ? rows_ : depth);
    const int left = along_k_ ? left_ - (slab_depth - depth) : left_;
    if (is_wide()) {
      ptx::cp_async_16(to, unit_, lines > 0 ? 2 * clamped(left, 8) : 0);
    } else {
      const std::int64_t step = pair_step();
      const char* pair = unit_;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        ptx::cp_async_4(to + i * threads * 4, pair, i < lines ? 2 * clamped(left, 2) : 0);
        pair = ptx::add_s64(pair, step);
      }
    }
  }

  // Lines behind the last one are the last one again.
  BWGEMM_DEVICE void load_whole(SlabWords& words) const {
    const std::int64_t step = pair_step();
    const bool is_pair = left_ > 1;
    const char* pair = unit_;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i > 0) pair = ptx::add_s64_if(i < inside_, pair, step);
      words.word[i] = ptx::ld_global_u16(pair);
      ptx::ld_global_u16_over(words.second[i], is_pair, pair + 2);
    }
  }

  // Any distance between elements.
  BWGEMM_DEVICE void load_part(int depth, SlabWords& words) const {
    const UnitMap at = units();
    const int inside = at.units_in(along_k_ ? rows_ : depth);
    const int left = (along_k_ ? depth : rows_) - at.column;
    const std::int64_t step = pair_step();
    const char *first = unit_, *second = unit_ + 2 * along_stride();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      words.word[i] = ptx::ld_global_u16_if(i < inside && left > 0, first);
      words.second[i] = ptx::ld_global_u16_if(i < inside && left > 1, second);
      first = ptx::add_s64(first, step);
      second = ptx::add_s64(second, step);
    }
  }

  const StridedMatrix& matrix_;
  bool along_k_;
  int width_;
  int rows_ = 0;
  int inside_ = 0;        // pairs of the thread in lines that exist
  int left_ = 0;          // elements from its column to the end of a line
  std::uint32_t to_ = 0;  // from a slab's beginning to what the thread copies first
  const char* unit_ = nullptr;
};

// How the four 8x8 blocks of a 16x16 block follow each other in the registers of a fragment. mma
// takes A rows first. Of B it takes one half of the rows, both halves of k, and wants those two in
// neighbouring registers: otherwise each mma costs two moves.
enum class BlockOrder : std::uint8_t { rows_first, k_first };

// Reads 16x16 blocks of a slab as mma operands.
class FragmentReader {
 public:
  // `row`: first row of this warp's part of the slab, a multiple of 16 for each block of rows.
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
