// SPDX-License-Identifier: Apache-2.0
// Layout: where a kernel's operands lie in shared memory and how TMA cuts them, computed from the
// config for host and device alike. One entry per family; kernels/shape.h is the host's view over
// all.
//
// Operand tiles are 128-byte swizzled. A K-major tile is rows of 64 elements (128 bytes); an
// MN-major tile is chunks of 64 elements along m or n, each chunk being one 128-byte row per k.
// Both take rows * 128 bytes for k = 64. Output passes through staging buffers of 128-byte rows: 64
// columns of a 16-bit type or 32 of f32.
#pragma once

#include <cstdint>

#include "core/kernel_config.h"

namespace bwgemm {

inline constexpr int k_block = 64;  // elements of k per ring stage, one swizzle row
inline constexpr int swizzle_row_bytes = 128;
inline constexpr int max_smem_bytes = 232448;  // per CTA on 9.0 and 10.x
inline constexpr int staging_buffers = 2;

// Columns of one staging buffer: a full row of 128 bytes, or 32 columns where 64 do not divide the
// tile. The swizzle of the output map is as wide as the row: 128 or 64 bytes.
constexpr int staging_columns(int tile_n, int element_bytes) {
  const int full_row = swizzle_row_bytes / element_bytes;
  return tile_n % full_row == 0 ? full_row : 32;
}

namespace sm90 {

inline constexpr int consumer_warpgroups = 2;
inline constexpr int threads = 128 * (1 + consumer_warpgroups);
inline constexpr int staging_rows = 64;  // one consumer warpgroup's wgmma height
inline constexpr int producer_registers = 40;
inline constexpr int consumer_registers = 232;

// Offsets in bytes from the 1024-aligned start of dynamic shared memory.
struct Layout {
  int a_bytes, b_bytes, stage_bytes;   // stage s: A at s * stage_bytes, B a_bytes behind it
  int staging;                         // [warpgroup][buffer], staging_rows * 128 bytes each
  int staging_bytes;                   // of one buffer
  int full, empty;                     // mbarriers, one per stage
  int staging_ready, staging_written;  // mbarriers [warpgroup][buffer]
  int bytes;
};

constexpr Layout layout(const KernelConfig& config) {
  Layout at{};
  at.a_bytes = config.tile.m * swizzle_row_bytes;
  at.b_bytes = config.tile.n * swizzle_row_bytes;
  at.stage_bytes = at.a_bytes + at.b_bytes;
  at.staging = config.stages * at.stage_bytes;
  at.staging_bytes = staging_rows * swizzle_row_bytes;
  at.full = at.staging + consumer_warpgroups * staging_buffers * at.staging_bytes;
  at.empty = at.full + 8 * config.stages;
  at.staging_ready = at.empty + 8 * config.stages;
  at.staging_written = at.staging_ready + 8 * consumer_warpgroups * staging_buffers;
  at.bytes = at.staging_written + 8 * consumer_warpgroups * staging_buffers;
  return at;
}

// Null, or the rule that the config breaks.
constexpr const char* invalid_because(const KernelConfig& config) {
  if (config.input == Input::any16) return "wgmma fixes the input type: say bf16 or f16";
  if (config.a == Major::any || config.b == Major::any) return "wgmma fixes the majors: say which";
  if (config.tile.m != 64 * consumer_warpgroups)
    return "tile.m must be 128: 64 per consumer warpgroup";
  if (config.tile.n < 64 || config.tile.n > 256 || config.tile.n % 64 != 0)
    return "tile.n must be 64, 128, 192 or 256: output is staged in 64 columns";
  if (config.tile.k != k_block) return "tile.k must be 64: one 128-byte swizzle row";
  if (config.cluster.size() > 2) return "cluster must be 1x1, 2x1 or 1x2";
  if (config.cluster.m == 2 && config.b == Major::mn && config.tile.n % 128 != 0)
    return "half of an N-major B tile must be whole chunks of 64 columns";
  if (config.stages < 2) return "stages must be at least 2";
  if (layout(config).bytes > max_smem_bytes) return "shared memory exceeds 227 KiB";
  return nullptr;
}

}  // namespace sm90

namespace sm100 {

inline constexpr int cta_rows = 128;  // rows of the pair's tile that one CTA holds
inline constexpr int threads = 256;
inline constexpr int max_stages = 10;
inline constexpr int accumulators = 2;
inline constexpr int staging_rows = cta_rows;

struct Layout {
  int a_bytes, b_bytes, stage_bytes;  // per CTA: 128 rows of A, tile_n / 2 rows of B
  int staging, staging_bytes;         // [buffer], cta_rows * 128 bytes each
  int full, empty;                    // mbarriers, max_stages each
  int accumulator_full, accumulator_empty;
  int staging_ready, staging_written;
  int tensor_memory;  // 4 bytes: address of the allocation
  int bytes;
};

// Room kept beside ring and staging for the mbarriers and the tensor-memory address.
inline constexpr int fixed_bytes = 1024;

constexpr int stage_bytes(int tile_n) {
  return (cta_rows + tile_n / 2) * swizzle_row_bytes;
}

constexpr int stages_that_fit(int tile_n) {
  const int room =
      max_smem_bytes - fixed_bytes - staging_buffers * staging_rows * swizzle_row_bytes;
  const int stages = room / stage_bytes(tile_n);
  return stages < max_stages ? stages : max_stages;
}

constexpr Layout layout(int tile_n, int stages) {
  Layout at{};
  at.a_bytes = cta_rows * swizzle_row_bytes;
  at.b_bytes = tile_n / 2 * swizzle_row_bytes;
  at.stage_bytes = at.a_bytes + at.b_bytes;
  at.staging = stages * at.stage_bytes;
  at.staging_bytes = staging_rows * swizzle_row_bytes;
  at.full = at.staging + staging_buffers * at.staging_bytes;
  at.empty = at.full + 8 * max_stages;
  at.accumulator_full = at.empty + 8 * max_stages;
  at.accumulator_empty = at.accumulator_full + 8 * accumulators;
  at.staging_ready = at.accumulator_empty + 8 * accumulators;
  at.staging_written = at.staging_ready + 8 * staging_buffers;
  at.tensor_memory = at.staging_written + 8 * staging_buffers;
  at.bytes = at.tensor_memory + 8;
  return at;
}

constexpr const char* invalid_because(const KernelConfig& config) {
  if (config.tile.m != 2 * cta_rows) return "tile.m must be 256: 128 rows per CTA of the pair";
  if (config.tile.n != 0) return "tile.n is chosen at launch: say 0";
  if (config.tile.k != k_block) return "tile.k must be 64: one 128-byte swizzle row";
  if (config.cluster != Cluster{2, 1}) return "cluster must be 2x1: the pair";
  if (config.stages != 0) return "stages are chosen at launch: say 0";
  return nullptr;
}

// Null, or why the pair's tile cannot have this many columns.
constexpr const char* invalid_because(int tile_n, Major b) {
  if (tile_n < 32 || tile_n > 256 || tile_n % 32 != 0)
    return "tile_n must be a multiple of 32 in 32..256 (tcgen05 with two CTAs)";
  if (b == Major::mn && tile_n % 128 != 0)
    return "tile_n must be a multiple of 128 for an N-major B: each CTA holds whole chunks of 64";
  return nullptr;
}

}  // namespace sm100

namespace direct {

inline constexpr int threads = 128;
inline constexpr int ctas_per_sm = 4;  // launch bound: 128 registers, 16 KiB of shared memory each

constexpr const char* invalid_because(const KernelConfig& config) {
  if (config.tile != Tile{64, 64, 32}) return "tile must be 64x64x32";
  if (config.cluster.size() != 1) return "cluster must be 1x1";
  if (config.input != Input::any16) return "the input type is chosen at launch: say any16";
  return nullptr;
}

}  // namespace direct

}  // namespace bwgemm
