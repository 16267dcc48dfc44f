// SPDX-License-Identifier: Apache-2.0
// StagingStores: the epilogue of a consumer warpgroup where TMA cannot store D and k is short, so
// that stores take most of the time. A warp stages the 16 rows that it holds and copies them to D,
// word by word. There is no output role, whose one warp would take longer than the four of the
// consumer (bench/log/2026-11-29.md). No other warp touches a warp's rows of the staging buffers.
#pragma once

#include "device/computed_here.h"
#include "device/epilogue.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/shared_memory.h"
#include "families/sm90/cta.h"
#include "families/sm90/staged_f32.h"
#include "families/sm90/staging.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class StagingStores {
 public:
  BWGEMM_DEVICE StagingStores(const KernelParams& params, const Cta<config>& cta, int warpgroup)
      : params_(params),
        staging_(cta.staging(warpgroup).address),
        lane_(computed_here(ptx::laneid())),
        warp_(__shfl_sync(0xffffffff, threadIdx.x / 32 % warps_per_warpgroup, 0)) {}

  // The warpgroup's rows begin at (row, column) of the product.
  BWGEMM_DEVICE void write_tile(const Accumulators<config>& accumulators, const Scaling& scaling,
                                int row, int column, int batch) const {
    if (params_.d_type == Dtype::f32)
      write<Staged32<config>, 4>(accumulators, scaling, row, column, batch);
    else
      write<Staged16<config>, 2>(accumulators, scaling, row, column, batch);
  }

 private:
  static constexpr int warp_rows = staging_rows / warps_per_warpgroup;
  static constexpr int row_blocks = warpgroups_of(config).rows / staging_rows;
  static constexpr int line_bytes = staged_boxes(config).line_bytes;

  // The lines of a row block go through the staging buffers in equal parts, of some boxes each.
  template <class Staged>
  struct LineParts {
    static constexpr int all_boxes = config.tile.n / 4 / Staged::pairs;
    static constexpr int boxes = boxes_together(config, all_boxes);
    static constexpr int count = all_boxes / boxes;
    static constexpr int bytes = boxes * line_bytes;
  };

  template <class Staged, int element_bytes>
  BWGEMM_DEVICE void write(const Accumulators<config>& accumulators, const Scaling& scaling,
                           int row, int column, int batch) const {
    constexpr int of_line = LineParts<Staged>::count, bytes = LineParts<Staged>::bytes;
    constexpr int parts = row_blocks * of_line;
#pragma unroll 1
    for (int part = 0; part < parts; ++part) {
      stage<Staged, parts - 1>(accumulators, scaling, part);
      __syncwarp();  // all lanes' writes before their neighbours' reads
      copy<bytes, element_bytes>(row + part / of_line * staging_rows + warp_ * warp_rows,
                                 column + part % of_line * (bytes / element_bytes), batch);
      __syncwarp();  // these reads before the next writes
    }
  }

  // One of its branches runs: registers have no index.
  template <class Staged, int candidate>
  BWGEMM_DEVICE void stage(const Accumulators<config>& accumulators, const Scaling& scaling,
                           int part) const {
    if constexpr (candidate > 0)
      if (part != candidate) return stage<Staged, candidate - 1>(accumulators, scaling, part);
    using Part = LineParts<Staged>;
    constexpr int of_box = 2 * Staged::pairs;
    const Staged staged(warp_, lane_);
#pragma unroll
    for (int box = 0; box < Part::boxes; ++box) {
      const float* const from =
          &accumulators[candidate / Part::count]
                       [(candidate % Part::count * Part::boxes + box) * of_box];
      Pair values[Staged::pairs];
#pragma unroll
      for (int i = 0; i < Staged::pairs; ++i)
        values[i] = {scaling.combine(from[2 * i]), scaling.combine(from[2 * i + 1])};
      staged.write(params_.type16, buffer(box), values);
    }
  }

  // What D has of the warp's lines in the buffers.
  struct Lines {
    char* to;            // the first of them
    std::int64_t pitch;  // bytes from one to the next
    int count, bytes;    // lines, and bytes of each

    // Bytes before a line's first word of D: a line may start at the second half of a word.
    BWGEMM_DEVICE static int before_words(const char* line) {
      return static_cast<int>(reinterpret_cast<std::uintptr_t>(line) % 4);
    }
  };

  template <int bytes, int element_bytes>
  BWGEMM_DEVICE void copy(int row, int column, int batch) const {
    const StridedMatrix& d = params_.d;
    const int rows = min(static_cast<int>(params_.m) - row, warp_rows);
    const int columns = min(static_cast<int>(params_.n) - column, bytes / element_bytes);
    if (rows <= 0 || columns <= 0) return;
    const std::int64_t pitch = element_bytes * d.outer_stride;
    const Lines lines{static_cast<char*>(const_cast<void*>(d.data)) +
                          element_bytes * (d.batch_stride * batch + column) + row * pitch,
                      pitch, rows, element_bytes * columns};
    copy_words<bytes, element_bytes>(lines);
    if constexpr (element_bytes == 2) copy_lone_elements(lines);
  }

  // All words of D that lines have to themselves. Where a line starts at the second half of a word
  // of D, each word of D is halves of two words of the buffers. Lines that D does not have are
  // read, and not stored.
  template <int bytes, int element_bytes>
  BWGEMM_DEVICE void copy_words(const Lines& lines) const {
    constexpr int of_warp = 128, accesses = (bytes + of_warp - 1) / of_warp;
    constexpr int lines_at_once = accesses > 2 ? 4 : 8;  // a power of two: the swizzle repeats
    constexpr bool has_halves = element_bytes == 2;
    char* to = lines.to;
#pragma unroll 1
    for (int line = 0; line < lines.count; line += lines_at_once) {
      std::uint32_t low[lines_at_once][accesses], high[lines_at_once][accesses];
#pragma unroll
      for (int j = 0; j < accesses; ++j) {
        const int byte = min(4 * lane_ + of_warp * j, bytes - 4);
        const std::uint32_t from = staged_at(line, byte),
                            behind = staged_at(line, min(byte + 4, bytes - 4));
#pragma unroll
        for (int i = 0; i < lines_at_once; ++i) {
          // Lines that differ in these bits of their number alone: so do what the swizzle makes of
          // them.
          const int distance = i * line_bytes, swizzle = swizzled(distance, line_bytes) - distance;
          low[i][j] = ptx::ld_shared((from ^ swizzle) + distance);
          if constexpr (has_halves) high[i][j] = ptx::ld_shared((behind ^ swizzle) + distance);
        }
      }
#pragma unroll
      for (int i = 0; i < lines_at_once; ++i) {
        const int before = Lines::before_words(to);
#pragma unroll
        for (int j = 0; j < accesses; ++j) {
          const int at = before + 4 * lane_ + of_warp * j;
          const std::uint32_t word =
              has_halves ? __funnelshift_r(low[i][j], high[i][j], 8 * before) : low[i][j];
          ptx::st_global_if(line + i < lines.count && at + 4 <= lines.bytes, to + at, word);
        }
        to = ptx::add_s64(to, lines.pitch);
      }
    }
  }

  // The 16-bit elements that share a word of D with another line: a line's first element if it is
  // the second of its word, its last element if that is the first of its word. A lane has one end
  // of a line.
  BWGEMM_DEVICE void copy_lone_elements(const Lines& lines) const {
    const int line = lane_ % warp_rows;
    const bool is_first = lane_ < warp_rows;
    char* const to = lines.to + line * lines.pitch;
    const int before = Lines::before_words(to);
    const bool is_alone = is_first ? before != 0 : (lines.bytes - before) % 4 != 0;
    const int at = is_first ? 0 : lines.bytes - 2;
    ptx::st_global_u16_if(line < lines.count && is_alone, to + at,
                          ptx::ld_shared_u16(staged_at(line, at)));
  }

  BWGEMM_DEVICE std::uint32_t buffer(int box) const {
    return staging_ + box * Cta<config>::offsets.staging_bytes;
  }
  // A byte of a line of the warp.
  BWGEMM_DEVICE std::uint32_t staged_at(int line, int byte) const {
    return buffer(byte / line_bytes) +
           swizzled((warp_ * warp_rows + line) * line_bytes + byte % line_bytes, line_bytes);
  }

  const KernelParams& params_;
  std::uint32_t staging_;
  int lane_, warp_;
};

}  // namespace bwgemm::sm90
