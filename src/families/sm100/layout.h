// SPDX-License-Identifier: Apache-2.0
// Layout of the sm100 families: shared and tensor memory of one CTA, computed from the config and
// the run-time tile_n for host and device alike.
//
// An operand of one stage is a row of blocks, each as wide as the swizzle: K-major, all its rows by
// the width in k; MN-major, tile.k by the width along m or n. One tensor-map box each.
#pragma once

#include "device/layout.h"

namespace bwgemm::sm100 {

inline constexpr int cta_rows = 128;  // of one multiplication that one CTA holds
inline constexpr int role_threads = 256;
inline constexpr int loader_threads = 256;
inline constexpr int max_stages = 16;
inline constexpr int responses = 3;  // of launch control: one in flight, two in use

// CTAs that multiply together, and how many such groups a cluster has: they share columns of B.
struct Groups {
  int ctas, count;
};
constexpr Groups groups_of(const KernelConfig& config) {
  const int ctas = config.family == Family::pair ? 2 : 1;
  return {ctas, config.cluster.size() / ctas};
}
// Whether warps load what TMA cannot address of A and B (loaders.h).
constexpr bool has_loaders(const KernelConfig& config) {
  return uses_tensor_memory(config) && config.load == Load::threads;
}

inline constexpr int tile_n_step = 16;
// What one CTA holds of tiles.
struct CtaTiles {
  int row_blocks;       // of cta_rows, each multiplied by the same B
  int columns_at_once;  // of its row, that a thread takes; no tile has fewer
  int most_columns;
  // Tensor memory has 128 lanes and 512 columns of f32. A power of two for every config that is
  // valid.
  int tensor_memory_columns;
};
constexpr CtaTiles cta_tiles(const KernelConfig& config) {
  const int row_blocks = config.tile.m / (groups_of(config).ctas * cta_rows);
  const int most_columns = config.swaps_ab ? 64 : 256;
  return {row_blocks, config.swaps_ab ? 16 : 32, most_columns,
          config.choices.accumulators * row_blocks * most_columns};
}

// How many columns of D that a tile makes are stored in whole boxes. What may be left is one step,
// which threads store themselves.
constexpr int boxed_columns(int d_columns) {
  return d_columns / 32 * 32;
}
constexpr bool leaves_rest(const KernelConfig& config, int d_columns) {
  return !config.swaps_ab && boxed_columns(d_columns) != d_columns;
}
constexpr bool may_leave_rest(const KernelConfig& config) {
  return stores_rows_by_tma(config) && config.choices.accumulators > 1;
}

// A thread has one row of the tile and so both columns that a gate pairs; rows, where D's columns
// are the tile's rows, are in the hands of different threads.
constexpr bool can_gate(const KernelConfig& config) {
  return !config.swaps_ab;
}

// What one box holds along the contiguous index of an operand. Without swizzle these are the 8 rows
// of 16 bytes of which the instruction's operands are made.
struct OperandBlock {
  int bytes, elements;
};
constexpr OperandBlock operand_block(const KernelConfig& config) {
  const int bytes = config.choices.swizzle_bytes == 0 ? 16 : config.choices.swizzle_bytes;
  return {bytes, bytes * 8 / operand_bits(config.mma)};
}

// Columns of one staging buffer: a full row of 128 bytes, or 32 columns where 64 do not divide the
// tile. The swizzle of the output map is as wide as the row: 128 or 64 bytes.
constexpr int staging_columns(int tile_n, int element_bytes) {
  const int full_row = swizzle_row_bytes / element_bytes;
  return tile_n % full_row == 0 ? full_row : 32;
}
// Lines of D in one staging buffer: rows of the tile, or columns.
constexpr int staging_lines(const KernelConfig& config, int tile_n) {
  return config.swaps_ab ? tile_n : cta_rows;
}
constexpr int staging_depth(const KernelConfig& config) {
  return config.store == Store::elements ? 0 : staging_buffers;
}

// Columns of B that one CTA holds. Boxes of an N-major B are loaded whole: the last one may reach
// beyond the CTA's columns, to some that no multiplication reads.
constexpr int held_b_columns(const KernelConfig& config, int tile_n, Major b) {
  const int columns = tile_n / groups_of(config).ctas;
  const int whole = b == Major::mn ? operand_block(config).elements : 1;
  return (columns + whole - 1) / whole * whole;
}

// Offsets in bytes from the 1024-aligned start of dynamic shared memory.
struct Layout {
  int a_bytes, b_bytes, stage_bytes;  // stage s: A at s * stage_bytes, B a_bytes behind it
  int staging, staging_bytes;         // [buffer]
  int response;                       // 16 bytes [responses], launch control
  int full, empty;                    // mbarriers, max_stages each
  int accumulator_full, accumulator_empty;
  int staging_ready, staging_written;
  int response_full, response_empty, response_wanted;
  int tensor_memory_read;  // a pair's, at its end
  int staging_messages;    // 4 bytes [buffer], where k is split
  int tensor_memory;       // 4 bytes: address of the allocation
  int bytes;
};

// Room kept beside ring and staging for what is small.
inline constexpr int fixed_bytes = 1024;

constexpr Layout layout(const KernelConfig& config, int tile_n, Major b, int stages) {
  Layout at{};
  at.a_bytes = cta_tiles(config).row_blocks * cta_rows * swizzle_row_bytes;
  at.b_bytes = held_b_columns(config, tile_n, b) * swizzle_row_bytes;
  at.stage_bytes = at.a_bytes + at.b_bytes;
  at.staging = stages * at.stage_bytes;
  at.staging_bytes = staging_lines(config, tile_n) * swizzle_row_bytes;
  at.response = at.staging + staging_depth(config) * at.staging_bytes;
  at.full = at.response + 16 * responses;
  at.empty = at.full + 8 * max_stages;
  at.accumulator_full = at.empty + 8 * max_stages;
  at.accumulator_empty = at.accumulator_full + 8 * config.choices.accumulators;
  at.staging_ready =
      at.accumulator_empty + 8 * config.choices.accumulators * cta_tiles(config).row_blocks;
  at.staging_written = at.staging_ready + 8 * staging_depth(config);
  at.response_full = at.staging_written + 8 * staging_depth(config);
  at.response_empty = at.response_full + 8 * responses;
  at.response_wanted = at.response_empty + 8 * responses;
  at.tensor_memory_read = at.response_wanted + 8;
  at.staging_messages = at.tensor_memory_read + 8;
  at.tensor_memory = at.staging_messages + 4 * staging_depth(config);
  at.bytes = at.tensor_memory + 8;
  return at;
}

constexpr int stages_that_fit(const KernelConfig& config, int tile_n, Major b) {
  const Layout one = layout(config, tile_n, b, 1);
  const int room = max_smem_bytes - fixed_bytes - staging_depth(config) * one.staging_bytes;
  const int stages = room / one.stage_bytes;
  return stages < max_stages ? stages : max_stages;
}

}  // namespace bwgemm::sm100
