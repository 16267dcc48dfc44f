// SPDX-License-Identifier: Apache-2.0
// An operand's tile whose lines start anywhere (device/residues.h): loading it class by class, and
// moving its lines to their places. K-major: each thread has the same lines of every block, and
// keeps the last unit of one block for the next. MN-major: a warp has eight lines of a class and
// reads what lies before a tile from global memory, one block ahead.
#pragma once

#include "device/ptx/cp_async_bulk.h"
#include "device/ptx/global_memory.h"
#include "families/sm90/blocks.h"
#include "families/sm90/layout.h"
#include "families/sm90/shifted/line_shift.h"

namespace bwgemm::sm90 {

inline constexpr int shifting_threads = 128;
inline constexpr int class_chunk_bytes = chunk_bytes / residue_classes;  // MN-major

// An operand's boxes in one block of k, dealt out to the warps. TMA takes them fastest from single
// lanes, and about as long for a box of 2 KiB as for one of 1 KiB (bench/log/2026-11-21.md).
template <Major major, int extent>
struct ResidueBoxes {
  static constexpr int by_class = residue_classes * (major == Major::k ? 1 : extent / 64);
  static constexpr int in_order = major == Major::k ? residue_boxes : extent / 64;
  static constexpr int bytes = extent * swizzle_row_bytes;

  // What those of one warp hold.
  BWGEMM_DEVICE static int bytes_of(const ResidueOperand& operand, int warp) {
    if (operand.by_class) return bytes / warps_per_warpgroup;
    if constexpr (in_order < warps_per_warpgroup) return warp < in_order ? bytes / in_order : 0;
    return bytes / warps_per_warpgroup;
  }

  // By one lane: `extent` of m or n, from `mn` on, by one block of k. Where batches are one matrix,
  // lines of a class of the tile are of another class of that matrix.
  BWGEMM_DEVICE static void load(const ResidueOperand& operand, int warp, std::uint32_t to, int mn,
                                 int block, int batch, std::uint32_t barrier) {
    if (operand.by_class) {
#pragma unroll 1
      for (int i = 0; i < by_class / warps_per_warpgroup; ++i) {
        const int box = i * warps_per_warpgroup + warp;
        const int j = box % residue_classes;
        if constexpr (major == Major::k) {
          const int line = mn + j, of_map = line % residue_classes;
          ptx::cp_async_bulk_tensor_3d(to + j * (bytes / residue_classes), operand.maps[of_map],
                                       block * k_block + operand.first_loaded(of_map),
                                       line / residue_classes, batch, barrier);
        } else {
          const int chunk = box / residue_classes;
          ptx::cp_async_bulk_tensor_3d(to + chunk * chunk_bytes + j * class_chunk_bytes,
                                       operand.maps[j], mn + chunk * 64 + operand.first_loaded(j),
                                       block * (k_block / residue_classes), batch, barrier);
        }
      }
    } else if (warp < in_order) {
      if constexpr (major == Major::k)
        ptx::cp_async_bulk_tensor_3d(to + warp * (bytes / in_order), operand.maps[0],
                                     block * k_block, mn + warp * (extent / in_order), batch,
                                     barrier);
      else
        ptx::cp_async_bulk_tensor_3d(to + warp * chunk_bytes, operand.maps[0], mn + warp * 64,
                                     block * k_block, batch, barrier);
    }
  }
};

// The aligned unit of 16 bytes that holds an element.
BWGEMM_DEVICE const void* unit_of(const StridedMatrix& matrix, int mn, int k, int batch) {
  const std::int64_t element =
      mn * matrix.outer_stride + k * matrix.inner_stride + batch * matrix.batch_stride;
  const auto address = reinterpret_cast<std::uintptr_t>(matrix.data) + 2 * element;
  return reinterpret_cast<const void*>(address & -std::uintptr_t{unit_bytes});
}

// What one of the shifting threads does for an operand of `extent` of m or n. The thread's place
// among them is computed anew wherever it is used: what would be derived from that place once takes
// too many registers.
template <Major major, int extent>
class ResidueTile;

template <int extent>
class ResidueTile<Major::k, extent> {
  static constexpr int slots = (extent + shifting_threads - 1) / shifting_threads;

 public:
  BWGEMM_DEVICE ResidueTile(const ResidueOperand& operand, const StridedMatrix& matrix, int mn_end,
                            int k_end)
      : operand_(operand), matrix_(matrix), mn_end_(mn_end), k_end_(k_end) {}

  // Before the first block of a split of k.
  BWGEMM_DEVICE void fetch(int mn, int block, int batch, bool starts) {
    if (!starts) return;
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      const int line = position(slot), row = mn + line_at(line, extent);
      const int of_map =
          (line / (extent / residue_classes) + batch * operand_.batch_lines) % residue_classes;
      heads_[slot] = line < extent ? operand_.heads[of_map] : 0;
      ptx::ld_global_v4_if(heads_[slot] != 0 && row < mn_end_,
                           unit_of(matrix_, row, block * k_block, batch), before_[slot]);
      clear_behind(unit_elements - heads_[slot] + k_end_ - block * k_block, before_[slot]);
    }
  }

  BWGEMM_DEVICE void shift(std::uint32_t tile, bool interleaves) {
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      const int line = position(slot);
      if (extent % shifting_threads != 0 && line >= extent) continue;
      if (!interleaves && heads_[slot] == 0) continue;
      const LinePlace place(tile + line * swizzle_row_bytes);
      RawLine raw;
      raw.set_before(before_[slot]);
      read_line(place, raw);
      raw.get_last(before_[slot]);
      if (interleaves)
        write_line_interleaved(place, raw, heads_[slot]);
      else
        write_line(place, raw, heads_[slot]);
    }
  }

 private:
  BWGEMM_DEVICE static int position(int slot) {
    return ptx::tid_x() + slot * shifting_threads;
  }

  // A line may end in its head.
  BWGEMM_DEVICE static void clear_behind(int elements, std::uint32_t (&unit)[unit_words]) {
    if (elements >= unit_elements) return;
#pragma unroll
    for (int i = 0; i < unit_words; ++i) {
      if (elements <= 2 * i) unit[i] = 0;
      if (elements == 2 * i + 1) unit[i] &= 0xffff;
    }
  }

  const ResidueOperand& operand_;
  const StridedMatrix& matrix_;
  int mn_end_, k_end_;
  int heads_[slots] = {};
  std::uint32_t before_[slots][unit_words] = {};
};

template <int extent>
class ResidueTile<Major::mn, extent> {
  static constexpr int chunks = extent / 64;
  static constexpr int classes_at_once = 4 / chunks;  // of a warp
  static constexpr int slots = chunks > 1 ? chunks / 2 : 1;

 public:
  BWGEMM_DEVICE ResidueTile(const ResidueOperand& operand, const StridedMatrix& matrix, int,
                            int k_end)
      : matrix_(matrix), k_end_(k_end) {
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      const int j = Place(slot).residue_class;
      heads_[slot] = j < residue_classes ? operand.heads[j] : 0;
    }
  }

  BWGEMM_DEVICE void fetch(int mn, int block, int batch, bool) {
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      const Place at(slot);
      const int k = block * k_block + at.line * residue_classes + at.residue_class;
      ptx::ld_global_v4_if(heads_[slot] != 0 && at.chunk == 0 && k < k_end_,
                           unit_of(matrix_, mn, k, batch), before_[slot]);
    }
  }

  BWGEMM_DEVICE void shift(std::uint32_t tile, bool) {
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      const Place at(slot);
      const LinePlace place(tile + at.chunk * chunk_bytes + at.residue_class * class_chunk_bytes +
                            at.line * swizzle_row_bytes);
      const bool moves = heads_[slot] != 0;
      RawLine raw;
      if (moves) {
        if (at.chunk > 0) {
          const LinePlace left(place.address - chunk_bytes);
          ptx::ld_shared_v4(left.unit(line_units - 1), before_[slot]);
        }
        raw.set_before(before_[slot]);
        read_line(place, raw);
      }
      __syncwarp();  // reads of the chunk to the left before its line is moved
      if (moves) write_line(place, raw, heads_[slot]);
    }
  }

 private:
  // Eight lanes have the lines of a class in one chunk, as they lie in memory.
  struct Place {
    int line, chunk, residue_class;  // line: of the class

    BWGEMM_DEVICE explicit Place(int slot) {
      const int thread = ptx::tid_x(), lane = thread % 32;
      line = lane % 8;
      chunk = lane / 8 % chunks;
      residue_class = (slot * 4 + thread / 32) * classes_at_once + lane / (8 * chunks);
    }
  };

  const StridedMatrix& matrix_;
  int k_end_;
  int heads_[slots];
  std::uint32_t before_[slots][unit_words] = {};
};

}  // namespace bwgemm::sm90
