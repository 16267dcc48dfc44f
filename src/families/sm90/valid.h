// SPDX-License-Identifier: Apache-2.0
// What a config of the Hopper kernels may be, and how deep its ring is.
#pragma once

#include "families/sm90/parts.h"

namespace bwgemm::sm90 {

// More stages slow the kernel down. Where A and B are swapped, A streams by: memory answers best if
// all multiprocessors together ask it for 10 MB or a little more (bench/log/2026-11-25.md).
constexpr int most_stages(const KernelConfig& config) {
  constexpr int any_number = 64;
  if (!config.swaps_ab) return any_number;
  return config.tile.m == 64 ? 13 : 8;
}

// The deepest ring within most_stages() that leaves room for the rest; config.stages does not
// count.
constexpr int best_stages(KernelConfig config) {
  config.stages = 0;
  while (config.stages <= most_stages(config) && layout(config).bytes <= smem_room(config))
    ++config.stages;
  return config.stages - 1;
}

constexpr const char* tile_invalid_because(const KernelConfig& config) {
  const Tile& tile = config.tile;
  if (tile.m != 64 && tile.m != 128 && tile.m != 192 && tile.m != 256)
    return "tile.m must be 64, 128, 192 or 256: 64 or 128 per consumer warpgroup";
  if (tile.k != row_elements(config.mma)) return "tile.k must be 64: one 128-byte swizzle row";
  if (config.ping_pong && tile.m != 64 && tile.m != 128)
    return "ping-pong: tile.m must be 64 or 128";
  if (config.ping_pong && (!stores_rows_by_tma(config) || config.ctas_per_sm != 1))
    return "ping-pong: TMA must store rows of D, with one CTA per multiprocessor";
  if (tile.n < 8 || tile.n > 256) return "tile.n must be 8 to 256, as that of wgmma";
  if (config.swaps_ab) {
    if (tile.n % 8 != 0 || (staged_boxes(config).overlap && tile.n < 40))
      return "tile.n must be a multiple of 16, or of 8 from 40 on: columns are staged by 16 or 32";
    if (warpgroups_of(config).rows != 64) return "columns are staged in 64 rows of the tile";
  } else if (staged_boxes(config).overlap && (tile.n % 16 != 0 || tile.n < 64)) {
    return "tile.n must be a multiple of 32, or of 16 from 64 on: output is staged in 32 or 64 "
           "columns";
  }
  if (tile.n / 2 + 26 > warpgroups_of(config).registers.at_launch)
    return "the accumulators of one wgmma exceed the registers that threads start with";
  return warpgroups_of(config).accumulators + 40 > warpgroups_of(config).registers.consumer
             ? "too many accumulators"
             : nullptr;
}

constexpr const char* cluster_invalid_because(const KernelConfig& config) {
  if (config.cluster.size() > 8) return "cluster must have at most 8 CTAs";
  // What each sharer loads: whole chunks of rows or columns, or swizzle atoms, of 8 rows.
  const auto is_cut = [](Major major, const OperandBox& box, int extent) {
    constexpr int atom = 8;
    if (major == Major::k) return box.mn % atom == 0;
    return box.cuts_k ? box.k % atom == 0 && extent <= box.mn : true;
  };
  if (config.cluster.m > 1 && !is_cut(config.b, operand_boxes(config).b, config.tile.n))
    return "a part of a B tile must be whole chunks of its columns, or whole swizzle atoms";
  if (config.cluster.n > 1 && !is_cut(config.a, operand_boxes(config).a, config.tile.m))
    return "a part of an A tile must be whole chunks of its rows, or whole swizzle atoms";
  return nullptr;
}

constexpr const char* paths_invalid_because(const KernelConfig& config) {
  if (config.load == Load::threads || config.load == Load::units)
    return "A is loaded by TMA, shifted or not, or copied by consumers; B is loaded by TMA";
  if (has_loose_rows(config) && (config.a != Major::k || warpgroups_of(config).rows != 64))
    return "loose: A must run along k, and each consumer multiply 64 rows";
  if (has_loose_rows(config) && (config.cluster.size() != 1 || config.ping_pong || config.swaps_ab))
    return "loose: cluster must be 1x1, without ping-pong or swap-AB";
  if (config.swaps_ab && config.store != Store::tma) return "swap-AB: D is stored by TMA";
  if ((config.load == Load::tma_shifted) != (config.store == Store::elements))
    return "D is stored by elements where loads are shifted, and only there";
  if (config.load != Load::tma_shifted) return nullptr;
  if (config.cluster.size() != 1) return "shifted: what one CTA moves no other sees";
  if (config.ctas_per_sm != 1) return "shifted: threads that move lines need registers";
  if (config.tile.m != 64 && config.tile.m != 128) return "shifted: tile.m must be 64 or 128";
  if (config.tile.n != 64 && config.tile.n != 128 && config.tile.n != 256)
    return "shifted: tile.n must be 64, 128 or 256";
  return config.stages < 3 ? "shifted: stages must be at least 3" : nullptr;
}

// Null, or the rule that the config breaks.
constexpr const char* invalid_because(const KernelConfig& config) {
  if (config.a == Major::any || config.b == Major::any) return "wgmma fixes the majors: say which";
  if (config.ctas_per_sm < 1 || config.ctas_per_sm > 4) return "1 to 4 CTAs per multiprocessor";
  if (const char* reason = tile_invalid_because(config)) return reason;
  if (const char* reason = cluster_invalid_because(config)) return reason;
  if (const char* reason = paths_invalid_because(config)) return reason;
  if (config.stages < 2) return "stages must be at least 2";
  if (layout(config).bytes > smem_room(config)) return "shared memory exceeds 227 KiB";
  return nullptr;
}

}  // namespace bwgemm::sm90
