// SPDX-License-Identifier: Apache-2.0
// The kernel that copies operands whose lines start anywhere to lines that start at multiples of 16
// bytes. The product behind it loads the copies by TMA. Persistent over pieces of 1024 units of 16
// bytes. The last unit of a line is filled up with zeros.
//
// Roles (256 threads)   each copies four units; neighbouring threads, neighbouring units
// Timeline              all loads of a piece, then all stores; in a short call the product starts
//                       when the last piece begins, and waits for the end of this kernel
#pragma once

#include "device/loose_unit.h"
#include "device/ptx/operand_memory.h"
#include "device/ptx/sync.h"
#include "families/copies/params.h"

namespace bwgemm::copies {

// A unit where it is read, and where it goes.
struct Move {
  LoosePlace from;
  char* to;  // null: there is none
};

BWGEMM_DEVICE Move move_of(const OperandCopy& operand, std::uint32_t unit) {
  if (unit >= operand.units) return {{0, 0}, nullptr};
  const std::uint32_t line_of_all = unit / operand.line_units;
  const std::uint32_t batch = line_of_all / operand.lines;
  const std::int64_t line = line_of_all - batch * operand.lines;
  const std::uint32_t in_line = unit - line_of_all * operand.line_units;
  const std::int64_t byte = std::int64_t{in_line} * LoosePlace::unit_bytes;
  const std::int64_t from = batch * operand.from_batch_bytes + line * operand.from_ld + byte;
  const std::int64_t to = batch * operand.to_batch_bytes + line * operand.to_ld + byte;
  return {{reinterpret_cast<std::uintptr_t>(operand.from) + from,
           static_cast<int>(operand.line_elements - in_line * LoosePlace::unit_elements)},
          static_cast<char*>(operand.to) + to};
}

BWGEMM_DEVICE void copy_piece(const OperandCopy& operand, std::uint32_t piece) {
  LooseUnit units[thread_units];
  char* to[thread_units];
#pragma unroll
  for (int i = 0; i < thread_units; ++i) {
    const Move move = move_of(operand, piece * piece_units + i * threads + threadIdx.x);
    to[i] = move.to;
    if (move.from.is_whole())
      units[i].load_whole(move.from);
    else
      units[i].load_elements(move.from);
  }
#pragma unroll
  for (int i = 0; i < thread_units; ++i) {
    if (to[i] == nullptr) continue;
    std::uint32_t words[LooseUnit::words];
    units[i].get_shifted(words);
    ptx::st_global_v4(to[i], words[0], words[1], words[2], words[3]);
  }
}

BWGEMM_DEVICE void copy(const CopiesParams& params) {
  // What grids before this one wrote before anything is read, and their reads of the copies' place.
  ptx::griddepcontrol_wait();
  if (params.alpha != nullptr && __uint_as_float(ptx::ld_global(params.alpha)) == 0) return;
#pragma unroll 1
  for (std::uint32_t piece = blockIdx.x; piece < params.pieces; piece += gridDim.x) {
    if (params.lets_product_start && piece + gridDim.x >= params.pieces)
      ptx::griddepcontrol_launch_dependents();
    const bool is_first = piece < params.first_pieces;
    copy_piece(params.operands[is_first ? 0 : 1], is_first ? piece : piece - params.first_pieces);
  }
}

}  // namespace bwgemm::copies
