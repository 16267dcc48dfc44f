// SPDX-License-Identifier: Apache-2.0
// PieceStores: the epilogue of a consumer warpgroup where rows of D follow each other without a
// gap and a tile has all of their columns. The 16 rows that a warp holds are then one piece of
// memory. The warp lays them out in shared memory as they lie in D, and copies them in units of 16
// bytes. Stores line by line take more instructions. They and TMA write a sector in which two rows
// meet in two parts, which costs memory more than a whole sector (bench/log/2026-11-28.md).
#pragma once

#include "device/computed_here.h"
#include "device/epilogue.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/shared_memory.h"
#include "families/sm90/cta.h"
#include "families/sm90/staging.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class PieceStores {
 public:
  BWGEMM_DEVICE PieceStores(const KernelParams& params, const Cta<config>& cta, int warpgroup)
      : params_(params),
        lane_(computed_here(ptx::laneid())),
        warp_(__shfl_sync(0xffffffff, threadIdx.x / 32 % warps_per_warpgroup, 0)),
        image_(cta.staging(warpgroup).address + warp_ * image_bytes) {}

  // The warpgroup's rows begin at `row` of the product.
  BWGEMM_DEVICE void write_tile(const Accumulators<config>& accumulators, const Scaling& scaling,
                                int row, int batch) const {
#pragma unroll
    for (int block = 0; block < row_blocks; ++block) {
      const Piece piece = piece_at(row + block * staging_rows + warp_ * piece_rows, batch);
      stage(accumulators[block], scaling, piece.before);
      __syncwarp();  // all lanes' writes before their neighbours' reads
      copy(piece);
      __syncwarp();  // these reads before the next writes
    }
  }

 private:
  static constexpr int row_blocks = warpgroups_of(config).rows / staging_rows;
  static constexpr int image_bytes = parts_of(config).piece_image_bytes;
  static constexpr int unit_bytes = 16;

  // What D has of the warp's rows.
  struct Piece {
    char* to;    // the unit of D in which the piece begins
    int before;  // bytes of the unit that belong to what D has in front of the piece
    int end;     // bytes from `to` to the end of the piece
  };

  BWGEMM_DEVICE Piece piece_at(int row, int batch) const {
    const StridedMatrix& d = params_.d;
    const int rows = max(0, min(static_cast<int>(params_.m) - row, piece_rows));
    char* const first = static_cast<char*>(const_cast<void*>(d.data)) +
                        2 * (d.batch_stride * batch + row * d.outer_stride);
    const int before = static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % unit_bytes);
    return {first - before, before, before + rows * 2 * static_cast<int>(params_.n)};
  }

  // Pairs of neighbouring columns are words of the image where all rows begin at words.
  BWGEMM_DEVICE void stage(const float (&sums)[config.tile.n / 2], const Scaling& scaling,
                           int before) const {
    constexpr int pairs = config.tile.n / 4;
    Pair values[pairs];
#pragma unroll
    for (int i = 0; i < pairs; ++i)
      values[i] = {scaling.combine(sums[2 * i]), scaling.combine(sums[2 * i + 1])};
    std::uint32_t packed[pairs];
    pack_all(params_.type16, values, packed);
    const int row_bytes = 2 * static_cast<int>(params_.n), first = lane_ % 4 * 4;
    const std::uint32_t to = image_ + before + lane_ / 4 * row_bytes + first;
    const int left = row_bytes - first;  // bytes that the row has from the lane's first pair on
    const auto visit = [&](auto store) {
#pragma unroll
      for (int i = 0; i < pairs; ++i) {
        // Of each group of columns a thread has a pair of a row and one of the row 8 below.
        const int at = i / 2 * 2 * group_columns;
        store(to + i % 2 * 8 * row_bytes + at, left - at, packed[i]);
      }
    };
    // A branch for each pair would be code that takes longer to fetch than to run.
    if ((row_bytes | before) % 4 == 0)
      visit([](std::uint32_t at, int bytes, std::uint32_t pair) {
        ptx::st_shared_if(bytes > 0, at, pair);
      });
    else
      visit([](std::uint32_t at, int bytes, std::uint32_t pair) {
        ptx::st_shared_u16_if(bytes > 0, at, pair & 0xffff);
        ptx::st_shared_u16_if(bytes > 2, at + 2, pair >> 16);
      });
  }

  BWGEMM_DEVICE void copy(const Piece& piece) const {
    if (piece.end == piece.before) return;
    constexpr int of_warp = 32 * unit_bytes, most_bytes = piece_rows * 2 * config.tile.n;
    constexpr int at_once = most_bytes < 4 * of_warp ? most_bytes / of_warp : 4;
    const int begin = (piece.before + unit_bytes - 1) / unit_bytes * unit_bytes,
              end = piece.end / unit_bytes * unit_bytes;  // of whole units
#pragma unroll 1
    for (int first = begin + lane_ * unit_bytes; first < end; first += at_once * of_warp) {
      std::uint32_t units[at_once][4];
      // Behind the end the last unit is read again, and not stored.
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        ptx::ld_shared_v4(image_ + min(first + i * of_warp, end - unit_bytes), units[i]);
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        ptx::st_global_v4_if(first + i * of_warp < end, piece.to + first + i * of_warp, units[i][0],
                             units[i][1], units[i][2], units[i][3]);
    }
    if ((piece.before | piece.end) % unit_bytes != 0) copy_ends(piece, begin, end);
  }

  // The elements ahead of the first whole unit and behind the last one. A lane has one of them.
  BWGEMM_DEVICE void copy_ends(const Piece& piece, int begin, int end) const {
    constexpr int elements = unit_bytes / 2;
    const bool is_ahead = lane_ < elements;
    // A piece may end inside of the unit in which it begins.
    const int to = is_ahead ? min(begin, piece.end) : piece.end;
    const int at = (is_ahead ? begin - unit_bytes : max(begin, end)) + lane_ % elements * 2;
    const bool stores = lane_ < 2 * elements && at >= piece.before && at < to;
    ptx::st_global_u16_if(stores, piece.to + at,
                          ptx::ld_shared_u16(image_ + (stores ? at : piece.before)));
  }

  const KernelParams& params_;
  int lane_, warp_;
  std::uint32_t image_;  // of the warp's rows: its part of the staging buffers
};

}  // namespace bwgemm::sm90
