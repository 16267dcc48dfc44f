// SPDX-License-Identifier: Apache-2.0
// NMajorWeights: weights that are contiguous along n. Lane (g, t) loads eight columns, 16 bytes, of
// four lines (steps of k); a byte permutation of each pair of lines makes the A operands of four
// mma of 16 columns and 16 of k.
//
// A warp takes lines of one class, whose 16-byte units cut n alike; where a tile's window of
// columns begins depends on the class, and is straightened out when the warps' partials are added.
// Columns outside the matrix only reach partials that nobody reads. The unit that the operand
// ends in is loaded by elements: what follows may not be the caller's.
#pragma once

#include "device/ptx/global_memory.h"
#include "device/ptx/operand_memory.h"
#include "device/ptx/shared_memory.h"
#include "families/dot/tiles.h"
#include "families/dot/unit.h"

namespace bwgemm::dot {

template <KernelConfig config>
class NMajorWeights {
 public:
  static constexpr int stages = dot::teams_of(config).stages;  // of 16 lines: four loads a lane
  static constexpr int stage_lines = 16;                       // of one warp
  static_assert(stages * stage_lines == teams_of(config).positions);

  struct Position {
    const char* unit;  // the lane's unit of columns in its first line of the round
    int lines;         // lines of the warp's class from the lane's first one of the round on,
                       // without one that has a tail
    int tail;          // elements of the lane's unit in the line behind those; 0: no such line
    int split_lines;   // lines of the class from the warp's first one on
    int warp_begin;    // number, in class and split, of the warp's first line of the round
  };

  struct Partials {
    float value[4][4];
  };

  BWGEMM_DEVICE NMajorWeights(const KernelParams& params, Lane lane)
      : params_(params),
        lane_(lane),
        classes_(line_classes(params.b.inner_stride)),
        columns_(columns_per_tile(config.tile.n,
                                  is_aligned(reinterpret_cast<std::uintptr_t>(params.b.data),
                                             params.b.inner_stride, params.b.batch_stride))),
        line_bytes_(2 * classes_ * params.b.inner_stride) {}

  // ---- the order of activations, see Activations ----
  BWGEMM_DEVICE int position_classes() const { return classes_; }
  BWGEMM_DEVICE int class_of(int warp) const { return warp & (classes_ - 1); }
  BWGEMM_DEVICE int longest_split() const {
    return params_.splits == 1 ? static_cast<int>(params_.k) : params_.k_per_split;
  }
  // The k of what the round's first warp reads first, and its position in its class and split.
  BWGEMM_DEVICE int first_k(const Unit& unit, const Position&, int round) const {
    return unit.split * params_.k_per_split + round * config.tile.k;
  }
  BWGEMM_DEVICE int first_position(const Unit&, int round) const {
    return round * (config.tile.k / classes_);
  }
  BWGEMM_DEVICE int rounds(const Unit& unit, const Position&) const {
    return (end_of(unit) - unit.split * params_.k_per_split + config.tile.k - 1) / config.tile.k;
  }

  BWGEMM_DEVICE Position at(const Unit& unit) const {
    const int line_class = lane_.warp & (classes_ - 1);
    const int begin = unit.split * params_.k_per_split;
    const int end = end_of(unit);
    const std::int64_t n0 = first_column(unit);
    const char* address = line(unit, begin + line_class);
    const int shift = shift_of(address);

    Position at{};
    at.warp_begin = lane_.warp / classes_ * stage_lines;
    const int class_lines = (end - begin - line_class + classes_ - 1) / classes_;
    const int last_line = begin + line_class + (class_lines - 1) * classes_;
    at.split_lines = class_lines - at.warp_begin;
    const int lane_begin = 4 * lane_.quad;
    const std::int64_t columns_left = params_.n - (n0 - shift + unit_elements * lane_.group);
    at.lines = columns_left > 0 ? at.split_lines - lane_begin : 0;
    const std::int64_t lines_behind = params_.k - 1 - last_line;
    if (columns_left > 0 && lines_behind * params_.b.inner_stride + columns_left < unit_elements) {
      at.tail = static_cast<int>(columns_left);
      --at.lines;
    }
    at.unit = address - 2 * shift + 16 * lane_.group + (at.warp_begin + lane_begin) * line_bytes_;
    return at;
  }

  // To the next round.
  BWGEMM_DEVICE void advance(Position& at) const {
    const int lines = stages * stage_step();
    at.unit += lines * line_bytes_;
    at.lines -= lines;
    at.split_lines -= lines;
    at.warp_begin += lines;
  }

  BWGEMM_DEVICE void load(int stage, const Position& at) {
    const int skipped = stage * stage_step();
    const char* address = at.unit + skipped * line_bytes_;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      ptx::ld_global_no_allocate_v4_if(skipped + i < at.lines, address + i * line_bytes_,
                                       words_[stage][i]);
  }

  // What the stage's first load has brought.
  BWGEMM_DEVICE std::uint32_t first_word(int stage) const {
    return words_[stage][0][0];
  }

  // `activations`: shared address of the class's position 0 in the lane's activation row.
  BWGEMM_DEVICE void multiply_stage(int stage, const Position& at, std::uint32_t activations,
                                    Partials& partials) {
    const int skipped = stage * stage_step();
    if (skipped >= at.split_lines) return;
    std::uint32_t(&words)[4][4] = words_[stage];
    if (at.split_lines <= skipped + stage_lines) load_tail(skipped, at, words);
    std::uint32_t b[2];
    ptx::ld_shared_v2(activations + 2 * (at.warp_begin + skipped + 4 * lane_.quad), b);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      multiply(params_.input_types.a, partials.value[i],
               {__byte_perm(words[0][i], words[1][i], 0x5410),
                __byte_perm(words[0][i], words[1][i], 0x7632),
                __byte_perm(words[2][i], words[3][i], 0x5410),
                __byte_perm(words[2][i], words[3][i], 0x7632)},
               b[0], b[1]);
  }

  // Writes the warp's partials as [activation row][column of its window].
  BWGEMM_DEVICE void store_partials(const Partials& partials, std::uint32_t to, int pitch) const {
#pragma unroll
    for (int row = 0; row < 2; ++row)
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const int column = unit_elements * lane_.group + 2 * i;
        ptx::st_shared_v4(to + 4 * ((2 * lane_.quad + row) * pitch + column),
                          __float_as_uint(partials.value[i][row]),
                          __float_as_uint(partials.value[i][row + 2]),
                          __float_as_uint(partials.value[i + 1][row]),
                          __float_as_uint(partials.value[i + 1][row + 2]));
      }
  }

  // ---- the output of a unit ----
  BWGEMM_DEVICE int columns(const Unit& unit) const {
    const std::int64_t left = params_.n - first_column(unit);
    return left < columns_ ? static_cast<int>(left) : columns_;
  }
  BWGEMM_DEVICE std::int64_t first_column(const Unit& unit) const {
    return static_cast<std::int64_t>(unit.tile) * columns_;
  }
  BWGEMM_DEVICE int column_step() const {
    return 1;
  }
  // The tile's first column in the window of `warp`.
  BWGEMM_DEVICE int column_shift(const Unit& unit, int warp) const {
    return shift_of(line(unit, warp & (classes_ - 1)));
  }

 private:
  // Into the words of the lines of a warp's last stage.
  BWGEMM_DEVICE void load_tail(int skipped, const Position& at, std::uint32_t (&words)[4][4]) {
    const char* address = at.unit + at.lines * line_bytes_;
#pragma unroll
    for (int element = 0; element < unit_elements; ++element) {
      const bool exists = element < at.tail && at.lines >= skipped && at.lines < skipped + 4;
      const std::uint32_t value = ptx::ld_global_u16_if(exists, address + 2 * element)
                                  << 16 * (element % 2);
#pragma unroll
      for (int i = 0; i < 4; ++i) words[i][element / 2] |= skipped + i == at.lines ? value : 0;
    }
  }
  static BWGEMM_DEVICE int shift_of(const char* address) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) & 15) / 2;
  }
  BWGEMM_DEVICE int end_of(const Unit& unit) const {
    const int k = static_cast<int>(params_.k);
    if (unit.split + 1 == params_.splits) return k;
    return min(k, (unit.split + 1) * params_.k_per_split);
  }
  // Lines from one stage of a warp to its next.
  BWGEMM_DEVICE int stage_step() const {
    return Team<config>::warps / classes_ * stage_lines;
  }
  // The tile's first element of line k.
  BWGEMM_DEVICE const char* line(const Unit& unit, std::int64_t k) const {
    return static_cast<const char*>(params_.b.data) +
           2 * (unit.batch * params_.b.batch_stride + first_column(unit) +
                k * params_.b.inner_stride);
  }

  const KernelParams& params_;
  Lane lane_;
  int classes_, columns_;
  std::int64_t line_bytes_;  // between neighbouring lines of a class
  std::uint32_t words_[stages][4][4];
};

}  // namespace bwgemm::dot
