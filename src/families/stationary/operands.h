// SPDX-License-Identifier: Apache-2.0
// The operands of a stationary kernel. ResidentB: a slab of B, in shared memory. RowStream: rows of
// A, from global memory straight into registers. Both hand out k in units of 8, one to each of the
// four lanes that share a row of A or a column of B. mma.sync expects other pairs of k in a lane.
// Its sums are right all the same, because A and B are exchanged alike.
#pragma once

#include "device/params.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/operand_memory.h"
#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "families/stationary/layout.h"

namespace bwgemm::stationary {

struct UnitWords {
  std::uint32_t word[4];
};

// The lane's unit of a step of k, and which of the 8 rows or columns that a warp takes at a time.
BWGEMM_DEVICE int unit_of_lane() {
  return static_cast<unsigned>(ptx::tid_x()) % 4;
}
BWGEMM_DEVICE int line_of_lane() {
  return static_cast<unsigned>(ptx::tid_x()) % 32 / 4;
}

// The column of B and of D that is column `line` of mma.sync's block of 8. Four blocks take columns
// in turn, two at a time, so that a lane has 8 neighbours of D.
BWGEMM_DEVICE constexpr int column_of(int block, int line) {
  return block / 4 * 32 + line / 2 * 8 + block % 4 * 2 + line % 2;
}

// Where a slab of B lies in memory, and how much of it there is.
struct SlabOfB {
  const char* data;                    // of its first element
  std::int64_t column_bytes, k_bytes;  // from column to column, and along k
  int columns, depth;
};

template <KernelConfig config>
class ResidentB {
  static constexpr int columns = config.tile.n;
  static constexpr int in_flight = 4;  // loads of a thread

 public:
  static constexpr int bytes = place_of(columns, 0);

  // All threads call it, between barriers. Behind the end of k the last step is zero.
  BWGEMM_DEVICE static void store(const SlabOfB& b, std::uint32_t shared) {
    const bool is_k_major = b.k_bytes == 2, is_n_major = b.column_bytes == 2;
    const auto all = reinterpret_cast<std::uintptr_t>(b.data) |
                     static_cast<std::uintptr_t>(is_k_major ? b.column_bytes : b.k_bytes);
    const bool is_wide = all % unit_bytes == 0;
    if (is_wide && is_k_major && b.depth % unit_elements == 0)
      store_columns(b, shared);
    else if (is_wide && is_n_major && b.columns % unit_elements == 0)
      store_rows(b, shared);
    else
      store_elements(b, shared);
  }

  // Where the lane reads its units of the first step.
  BWGEMM_DEVICE static std::uint32_t lane_place(std::uint32_t shared) {
    return shared + place_of(column_of(0, line_of_lane()), unit_of_lane() * unit_elements);
  }
  // From there, to those of a block of a step.
  BWGEMM_DEVICE static constexpr int offset(int block) { return place_of(column_of(block, 0), 0); }

 private:
  BWGEMM_DEVICE static int padded(int depth) {
    return (depth + step_depth - 1) / step_depth * step_depth;
  }

  // Units along k.
  BWGEMM_DEVICE static void store_columns(const SlabOfB& b, std::uint32_t shared) {
    constexpr int at_once = threads / 4, passes = columns / at_once;
    constexpr int steps = in_flight / passes;
    const int first = ptx::tid_x() / 4, depth = padded(b.depth);
#pragma unroll 1
    for (int step_k = unit_of_lane() * unit_elements; step_k < depth;
         step_k += steps * step_depth) {
      UnitWords units[in_flight];
      const auto visit = [&](auto act) {
#pragma unroll
        for (int i = 0; i < in_flight; ++i)
          act(units[i], first + i % passes * at_once, step_k + i / passes * step_depth);
      };
      visit([&](UnitWords& unit, int column, int k) {
        ptx::ld_global_v4_if(column < b.columns && k < b.depth,
                             b.data + column * b.column_bytes + 2 * k, unit.word);
      });
      visit([&](const UnitWords& unit, int column, int k) {
        if (k < depth)
          ptx::st_shared_v4(shared + place_of(column, k), unit.word[0], unit.word[1], unit.word[2],
                            unit.word[3]);
      });
    }
  }

  // Units along n. A thread has four of them, behind each other along k, and stores 8 halves of
  // units along k. Neighbouring threads load the two halves of a sector.
  BWGEMM_DEVICE static void store_rows(const SlabOfB& b, std::uint32_t shared) {
    constexpr int rows = 4, at_once = 16 * rows;  // of k: of a thread, of a warp
    constexpr int sectors = columns / 16;
    const int lane = ptx::tid_x() % 32, depth = padded(b.depth);
#pragma unroll 1
    for (int i = ptx::tid_x() / 32; i / sectors * at_once < depth; i += warps) {
      const int column = i % sectors * 16 + lane % 2 * unit_elements;
      const int k = i / sectors * at_once + lane / 2 * rows;
      UnitWords row[rows];
#pragma unroll
      for (int j = 0; j < rows; ++j)
        ptx::ld_global_v4_if(column < b.columns && k + j < b.depth,
                             b.data + (k + j) * b.k_bytes + 2 * column, row[j].word);
      if (k >= depth) continue;
#pragma unroll
      for (int j = 0; j < unit_elements; ++j) {
        const auto pair = [&](int first) {
          return __byte_perm(row[first].word[j / 2], row[first + 1].word[j / 2],
                             j % 2 == 0 ? 0x5410 : 0x7632);
        };
        ptx::st_shared_v2(shared + place_of(column + j, k), pair(0), pair(2));
      }
    }
  }

  // Pairs along k, element by element.
  BWGEMM_DEVICE static void store_elements(const SlabOfB& b, std::uint32_t shared) {
    constexpr int at_once = 2 * threads / columns;
    const int column = ptx::tid_x() % columns, depth = padded(b.depth);
    const char* const line = b.data + column * b.column_bytes;
#pragma unroll 1
    for (int first = ptx::tid_x() / columns * 2; first < depth; first += in_flight * at_once) {
      std::uint32_t low[in_flight], high[in_flight];
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        const int k = first + i * at_once;
        const char* const element = line + k * b.k_bytes;
        low[i] = ptx::ld_global_u16_if(column < b.columns && k < b.depth, element);
        high[i] = ptx::ld_global_u16_if(column < b.columns && k + 1 < b.depth, element + b.k_bytes);
      }
#pragma unroll
      for (int i = 0; i < in_flight; ++i)
        if (const int k = first + i * at_once; k < depth)
          ptx::st_shared(shared + place_of(column, k), low[i] | high[i] << 16);
    }
  }
};

// What a lane has of rows on their way: of each of its two rows, line_of_lane() of the 16 of a warp
// and the row 8 below, one unit for each step of k. Rows past the edge are zero; so is what lies
// behind the end of k, when get_units() returns. With Load::threads units may begin at any element,
// those of both rows equally far behind a multiple of 16 bytes. Aligned units are loaded then, and
// a lane takes the rest of its unit from the lane that has the next one.
template <KernelConfig config>
class RowStream {
  static constexpr bool is_loose = config.load == Load::threads;

 public:
  static constexpr int steps_ahead = stationary::steps_ahead(config);

  // Steps that are loaded. Loose rows have one more than k.
  BWGEMM_DEVICE static int loads(int k) {
    return k > 0 ? (k + step_depth - 1) / step_depth + is_loose : 0;
  }

  // Starts the loads of the first steps of k. `data`: A, of the batch; `row`: the warp's first.
  BWGEMM_DEVICE void begin(const KernelParams& params, const char* data, int row, int k) {
    const int at = row + line_of_lane();
    const char* const first = data + at * (2 * params.a.outer_stride);
    before_ = is_loose ? static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % unit_bytes) : 0;
    next_ = first - before_ + unit_of_lane() * unit_bytes;
    bytes_ = before_ + 2 * k - unit_of_lane() * unit_bytes;
    rows_ = k > 0 ? static_cast<int>(params.m) - at : 0;
#pragma unroll
    for (int i = 0; i < steps_ahead; ++i) load(params, i);  // all: nothing is kept of units before
  }

  // Starts the loads of the next step.
  BWGEMM_DEVICE void load(const KernelParams& params, int slot) {
    const std::int64_t row_bytes = 2 * params.a.outer_stride;
    if (is_loose && bytes_ < unit_bytes) {
      load_end(row_bytes, slot);
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        ptx::ld_global_no_allocate_v4_if(bytes_ > 0 && rows_ > 8 * i, next_ + 8 * i * row_bytes,
                                         words_[slot][i]);
    }
    next_ += 2 * step_depth;
    bytes_ -= 2 * step_depth;
  }

  // What has been loaded of both rows, at its place. `left`: of k, from the unit on. All lanes.
  BWGEMM_DEVICE void get_units(int slot, int left, UnitWords (&units)[2]) const {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const Quad& words = words_[slot][row];
      if constexpr (is_loose) {
        const Quad& next_step = words_[(slot + 1) % steps_ahead][row];
        const int unit = unit_of_lane();
        Quad next;
#pragma unroll
        for (int i = 0; i < 4; ++i)
          next[i] = __shfl_sync(~0u, unit == 0 ? next_step[i] : words[i], unit + 1, 4);
        shift(words, next, before_, units[row]);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) units[row].word[i] = words[i];
      }
    }
    if (is_loose && left < unit_elements) clear_behind(left, units);
  }

 private:
  using Quad = std::uint32_t[4];

  // Where the row may end inside of the unit. What follows a row is read, but not what follows the
  // last one.
  BWGEMM_DEVICE void load_end(std::int64_t row_bytes, int slot) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int rows = rows_ - 8 * i, bytes = rows > 0 ? max(bytes_, 0) : 0;
      const char* const at = next_ + 8 * i * row_bytes;
      if (bytes > 0 && bytes + (rows - 1) * row_bytes >= unit_bytes)
        ptx::ld_global_no_allocate_v4_if(true, at, words_[slot][i]);
      else
        load_elements(at, bytes, words_[slot][i]);
    }
  }

  // The first `bytes` of less than a unit, element by element.
  BWGEMM_DEVICE static void load_elements(const char* at, int bytes, Quad& words) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      words[i] = ptx::ld_global_u16_if(bytes > 4 * i, at + 4 * i);
      if (i < 3) words[i] |= ptx::ld_global_u16_if(bytes > 4 * i + 2, at + 4 * i + 2) << 16;
    }
  }

  BWGEMM_DEVICE static void shift(const Quad& low, const Quad& high, int before, UnitWords& unit) {
    std::uint32_t from[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) from[i] = i < 4 ? low[i] : high[i - 4];
#pragma unroll
    for (int i = 0; i < 6; ++i) from[i] = (before & 8) != 0 ? from[i + 2] : from[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) from[i] = (before & 4) != 0 ? from[i + 1] : from[i];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      unit.word[i] = __funnelshift_r(from[i], from[i + 1], 8 * (before & 2));
  }

  // What follows the end of a row may be anything, and zero times that is not always zero.
  BWGEMM_DEVICE static void clear_behind(int left, UnitWords (&units)[2]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t mask = left > 2 * i + 1 ? ~0u : left == 2 * i + 1 ? 0xffff : 0;
      units[0].word[i] &= mask;
      units[1].word[i] &= mask;
    }
  }

  const char* next_;
  int before_;  // bytes between the start of an aligned unit and a row's first element in it
  int bytes_;   // of a row, from the lane's next unit on
  int rows_;    // of A, from the lane's first on
  Quad words_[steps_ahead][2];
};

}  // namespace bwgemm::stationary
