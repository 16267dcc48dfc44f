// SPDX-License-Identifier: Apache-2.0
// What a config of the Blackwell kernels may be, and which widths of tile a launch may choose.
#pragma once

#include "families/sm100/layout.h"

namespace bwgemm::sm100 {

constexpr const char* choices_invalid_because(const KernelConfig& config) {
  const Sm100Choices& choices = config.choices;
  if (choices.swizzle_bytes != 0 && choices.swizzle_bytes != 32 && choices.swizzle_bytes != 64 &&
      choices.swizzle_bytes != 128)
    return "swizzle must be 0 (none), 32, 64 or 128 bytes";
  if (choices.map_rank != 2 && choices.map_rank != 3) return "tensor maps have 2 or 3 dimensions";
  if (choices.accumulators != 1 && choices.accumulators != 2) return "accumulators must be 1 or 2";
  if (cta_tiles(config).tensor_memory_columns > 512) return "tensor memory has 512 columns";
  return nullptr;
}

constexpr const char* paths_invalid_because(const KernelConfig& config) {
  if (config.load == Load::tma_shifted || config.load == Load::loose_a)
    return "loads are shifted, and rows copied by consumers, on sm90 only";
  if (config.load == Load::threads && config.family != Family::single)
    return "threads load operands of one CTA only";
  if (config.load == Load::threads && config.store != Store::elements)
    return "D is stored by elements where threads load operands";
  return config.swaps_ab && config.store != Store::tma ? "swap-AB: D is stored by TMA" : nullptr;
}

constexpr const char* invalid_because(const KernelConfig& config) {
  const bool is_pair = config.family == Family::pair;
  if (is_pair && config.tile.m != 2 * cta_rows && config.tile.m != 4 * cta_rows)
    return "tile.m must be 256 or 512: 128 or 256 rows per CTA of the pair";
  if (!is_pair && config.tile.m != cta_rows) return "tile.m must be 128";
  if (config.tile.n != 0) return "tile.n is chosen at launch: say 0";
  if (config.tile.k != row_elements(config.mma))
    return "tile.k must be 64: one 128-byte swizzle row";
  if (is_pair && config.cluster != Cluster{2, 1} && config.cluster != Cluster{4, 1})
    return "cluster must be 2x1, the pair, or 4x1, two of them";
  if (!is_pair && config.cluster != Cluster{1, 1}) return "cluster must be 1x1";
  if (config.stages != 0) return "stages are chosen at launch: say 0";
  if (config.ctas_per_sm != 1) return "1 CTA per multiprocessor: it takes all shared memory";
  if (is_pair && config.swaps_ab) return "swap-AB: one CTA, for few rows";
  if (const char* reason = paths_invalid_because(config)) return reason;
  if (has_loaders(config) && config.choices != Sm100Choices{})
    return "threads load operands as the usual choices have them";
  return choices_invalid_because(config);
}

// Null, or why B cannot be loaded and multiplied in tiles of this many columns.
constexpr const char* b_invalid_because(const KernelConfig& config, int tile_n, Major b,
                                        bool has_gate) {
  if (b == Major::k)
    return groups_of(config).count > 1 && tile_n / config.cluster.size() % 8 != 0
               ? "each part of a K-major B that pairs share must be whole swizzle atoms, of 8 rows"
               : nullptr;
  if (tile_n / groups_of(config).ctas % 16 != 0)
    return "the columns of an N-major B in one CTA must be a multiple of 16";
  // Columns of B that are loaded apart and then lie together: those of a cluster's groups, and a
  // gate's x and y in one CTA alone.
  const bool loads_gate_apart = has_gate && groups_of(config).ctas == 1;
  const int parts = groups_of(config).count * (loads_gate_apart ? 2 : 1);
  return parts > 1 && tile_n / groups_of(config).ctas / parts % operand_block(config).elements != 0
             ? "each part of an N-major B must be whole boxes"
             : nullptr;
}

// Null, or why the tile cannot have this many columns.
constexpr const char* tile_n_invalid_because(const KernelConfig& config, int tile_n, Major b,
                                             bool has_gate = false) {
  const int least = cta_tiles(config).columns_at_once;
  if (tile_n < least || tile_n > cta_tiles(config).most_columns || tile_n % tile_n_step != 0)
    return "tile_n must be a multiple of 16 in 32..256; in 16..64 for swap-AB";
  if (has_gate && (tile_n < 2 * least || tile_n % (2 * tile_n_step) != 0))
    return "with a gate tile_n must be a multiple of 32 from 64: half of it is stored, in steps of "
           "16";
  if (leaves_rest(config, has_gate ? tile_n / 2 : tile_n) && !may_leave_rest(config))
    return config.store == Store::elements
               ? "stores by elements: a tile must make a multiple of 32 columns of D: threads "
                 "store as many "
                 "at a time"
               : "with one accumulator a tile must make a multiple of 32 columns of D: registers "
                 "hold whole boxes of it";
  return b_invalid_because(config, tile_n, b, has_gate);
}

}  // namespace bwgemm::sm100
