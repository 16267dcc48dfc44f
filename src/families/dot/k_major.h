// SPDX-License-Identifier: Apache-2.0
// KMajorWeights: rows of weights that are contiguous along k. They are A operands of mma without a
// shuffle: lane (g, t) loads 16 bytes of rows g and g + 8 at k = 8 t. They serve two mma of 16 k;
// the activations have k in the same permuted order.
//
// Positions along k count from the 16-byte boundary below the first element of the row, the same
// for all rows of a tile. Elements outside the row are cleared after loading: they may be NaN. The
// unit that the operand ends in is loaded by elements: what follows may not be the caller's.
#pragma once

#include "device/ptx/global_memory.h"
#include "device/ptx/operand_memory.h"
#include "device/ptx/shared_memory.h"
#include "families/dot/tiles.h"
#include "families/dot/unit.h"

namespace bwgemm::dot {

template <KernelConfig config>
class KMajorWeights {
 public:
  static constexpr int stages = dot::teams_of(config).stages;  // of 32 positions: two loads a lane
  static constexpr int stage_positions = 32;                   // of one warp
  static constexpr int warp_positions = stages * stage_positions;
  static_assert(warp_positions == dot::teams_of(config).positions);

  // Where a warp reads in one round of the unit.
  struct Position {
    const char* row[2];  // the lane's rows at position 0, plus its place among the quad
    int first,
        units_end;   // positions that exist: [first, end()); all before it belong to the split
    int tail;        // positions from units_end on that are loaded by elements
    int warp_begin;  // of this round

    BWGEMM_DEVICE int end() const { return units_end + tail; }
  };

  struct Partials {
    float value[2][4];
  };

  BWGEMM_DEVICE KMajorWeights(const KernelParams& params, Lane lane)
      : params_(params),
        lane_(lane),
        classes_(line_classes(params.b.outer_stride)),
        k_(static_cast<int>(params.k)) {}

  // ---- the order of activations, see Activations ----
  BWGEMM_DEVICE int position_classes() const { return 1; }
  BWGEMM_DEVICE int class_of(int) const { return 0; }
  BWGEMM_DEVICE int longest_split() const {
    const int whole = k_ + unit_elements - 1;
    return params_.splits == 1 ? whole : params_.k_per_split + unit_elements - 1;
  }
  // The k and the position of what the round's first warp reads first.
  BWGEMM_DEVICE int first_k(const Unit& unit, const Position& at, int round) const {
    return first_position(unit, round) - at.first;
  }
  BWGEMM_DEVICE int first_position(const Unit& unit, int round) const {
    return unit.split * params_.k_per_split + round * config.tile.k;
  }
  BWGEMM_DEVICE int rounds(const Unit& unit, const Position& at) const {
    const int positions = at.end() - unit.split * params_.k_per_split;
    return max(1, (positions + config.tile.k - 1) / config.tile.k);
  }

  BWGEMM_DEVICE Position at(const Unit& unit) const {
    const int line_class = static_cast<int>(unit.tile) & (classes_ - 1);
    const int rows = rows_of(line_class);
    const int first_row = first_row_of(unit);
    Position at{};
    if (first_row >= rows) return at;  // no class needs more tiles than the first, but some fewer
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = min(first_row + lane_.group + 8 * half, rows - 1);
      const char* address =
          static_cast<const char*>(params_.b.data) +
          2 * (unit.batch * params_.b.batch_stride +
               (line_class + static_cast<std::int64_t>(row) * classes_) * params_.b.outer_stride);
      at.first = shift_of(address);
      at.row[half] = address - 2 * at.first + 16 * lane_.quad;
    }
    const int begin = unit.split * params_.k_per_split;
    at.units_end = at.first + k_;
    if (unit.split + 1 < params_.splits)
      at.units_end = min(at.units_end, begin + params_.k_per_split);
    const std::int64_t last_row = min(first_row + config.tile.n, rows) - 1;
    const std::int64_t rows_behind = params_.n - 1 - (line_class + last_row * classes_);
    if (rows_behind * params_.b.outer_stride < unit_elements)
      at.tail = at.units_end % unit_elements;
    at.units_end -= at.tail;
    at.warp_begin = begin + lane_.warp * warp_positions;
    return at;
  }

  // To the next round.
  BWGEMM_DEVICE void advance(Position& at) const {
    at.warp_begin += config.tile.k;
  }

  BWGEMM_DEVICE void load(int stage, const Position& at) {
    const int position = at.warp_begin + stage * stage_positions;
    const bool exists = position + unit_elements * lane_.quad < at.units_end;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      ptx::ld_global_no_allocate_v4_if(
          exists, at.row[half] + 2 * static_cast<std::int64_t>(position), words_[stage][half]);
  }

  // What the stage's first load has brought.
  BWGEMM_DEVICE std::uint32_t first_word(int stage) const {
    return words_[stage][0][0];
  }

  // `activations`: shared address of position 0 of the lane's activation row.
  BWGEMM_DEVICE void multiply_stage(int stage, const Position& at, std::uint32_t activations,
                                    Partials& partials) {
    const int position = at.warp_begin + stage * stage_positions;
    if (position >= at.end()) return;
    std::uint32_t(&words)[2][4] = words_[stage];
    if (position < at.first || position + stage_positions > at.end()) {
      const int element = position + unit_elements * lane_.quad;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t mask = inside(element + 2 * i, at.first, at.end());
        words[0][i] &= mask;
        words[1][i] &= mask;
      }
      if (at.tail != 0) load_tail(at, position, words);
    }
    std::uint32_t b[4];
    ptx::ld_shared_v4(activations + 2 * (position + unit_elements * lane_.quad), b);
#pragma unroll
    for (int i = 0; i < 2; ++i)
      multiply(params_.input_types.a, partials.value[i],
               {words[0][2 * i], words[1][2 * i], words[0][2 * i + 1], words[1][2 * i + 1]},
               b[2 * i], b[2 * i + 1]);
  }

  // Writes the warp's partials as [activation row][weights row].
  BWGEMM_DEVICE void store_partials(const Partials& partials, std::uint32_t to, int pitch) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = 2 * lane_.quad + i % 2, column = lane_.group + i / 2 * 8;
      ptx::st_shared(to + 4 * (row * pitch + column),
                     __float_as_uint(partials.value[0][i] + partials.value[1][i]));
    }
  }

  // ---- the output of a unit ----
  BWGEMM_DEVICE int columns(const Unit& unit) const {
    return rows_of(static_cast<int>(unit.tile) & (classes_ - 1)) - first_row_of(unit);
  }
  BWGEMM_DEVICE std::int64_t first_column(const Unit& unit) const {
    return static_cast<int>(unit.tile & (classes_ - 1)) +
           static_cast<std::int64_t>(first_row_of(unit)) * classes_;
  }
  BWGEMM_DEVICE int column_step() const {
    return classes_;
  }
  BWGEMM_DEVICE int column_shift(const Unit&, int) const {
    return 0;
  }

 private:
  // Into the words of the lane whose unit the tail is.
  BWGEMM_DEVICE void load_tail(const Position& at, int position, std::uint32_t (&words)[2][4]) {
    const int element = position + unit_elements * lane_.quad;
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < unit_elements; ++i) {
        const bool exists = element == at.units_end && i < at.tail && element + i >= at.first;
        words[half][i / 2] |=
            ptx::ld_global_u16_if(exists,
                                  at.row[half] + 2 * static_cast<std::int64_t>(position) + 2 * i)
            << 16 * (i % 2);
      }
  }
  static BWGEMM_DEVICE int shift_of(const char* address) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) & 15) / 2;
  }
  BWGEMM_DEVICE int rows_of(int line_class) const {
    return static_cast<int>((params_.n - line_class + classes_ - 1) >> (31 - __clz(classes_)));
  }
  BWGEMM_DEVICE int first_row_of(const Unit& unit) const {
    return static_cast<int>(unit.tile >> (31 - __clz(classes_))) * config.tile.n;
  }

  const KernelParams& params_;
  Lane lane_;
  int classes_, k_;
  std::uint32_t words_[stages][2][4];
};

}  // namespace bwgemm::dot
