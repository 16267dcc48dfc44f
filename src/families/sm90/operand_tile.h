// SPDX-License-Identifier: Apache-2.0
// OperandTile: how the tile of an operand is cut into bulk loads, and these among the CTAs of a
// cluster that share it.
#pragma once

#include <cstdint>

#include "core/kernel_config.h"

namespace bwgemm::sm90 {

// An operand that lies along m or n is loaded in chunks, which are rows of so many elements, one
// for each k, and swizzled over the width of a row. A narrow tile is one chunk of its own width:
// TMA would fill a wider chunk with zeros, which take it longer than elements.
constexpr int chunk_of(Major major, int extent) {
  return major == Major::mn && (extent == 16 || extent == 32) ? extent : 64;
}
// Rows of 128 bytes that an operand's tile takes in memory. Along m or n these are whole chunks.
constexpr int operand_rows(Major major, int extent) {
  const int chunk = chunk_of(major, extent);
  return major == Major::mn ? (extent + chunk - 1) / chunk * chunk : extent;
}

// How `sharers` CTAs of a cluster divide the loads of an operand's tile, of which each CTA receives
// all: rows of m or n where those are whole boxes, else the rows of k of the only chunk.
struct OperandBox {
  int mn, k;  // one load: rows of m or n by so many of k
  bool cuts_k;
};
constexpr OperandBox operand_box(Major major, int extent, int tile_k, int sharers) {
  if (major == Major::k) return {extent / sharers, tile_k, false};
  const int chunk = chunk_of(major, extent);
  const bool cuts_k = operand_rows(major, extent) % (sharers * chunk) != 0;
  return {chunk, cuts_k ? tile_k / sharers : tile_k, cuts_k};
}
struct OperandBoxes {
  OperandBox a, b;
};
constexpr OperandBoxes operand_boxes(const KernelConfig& config) {
  return {operand_box(config.a, config.tile.m, config.tile.k, config.cluster.n),
          operand_box(config.b, config.tile.n, config.tile.k, config.cluster.m)};
}

// What is left of `extent` from `first` on. `first` may be a tile behind the end, and over 2^31.
constexpr int left_of(int extent, int first) {
  return static_cast<int>(static_cast<std::uint32_t>(extent) - static_cast<std::uint32_t>(first));
}

// One operand's tile: `rows` of m or n by tile.k.
struct OperandTile {
  Major major;
  int rows;
  int sharers;
  int sharer_step;    // from rank to rank
  bool may_be_empty;  // perhaps none is loaded: a cluster may stick out of D
  OperandBox load = {64, 64, false};

  // Rows of m or n that one CTA loads.
  constexpr int part() const { return load.cuts_k ? rows : rows / sharers; }
  constexpr int box() const { return major == Major::k ? part() : load.mn; }
  // How many of the `most` rows of the tile from `first` on have to be loaded, where the operand
  // has `extent` rows. Rows that lie along m or n are loaded in chunks, of which `most` has a whole
  // number.
  constexpr int inside(int first, int extent, int most) const {
    const int left = left_of(extent, first);
    const int rows = left < 0 ? 0 : left < most ? left : most;
    return major == Major::k ? rows : (rows + load.mn - 1) / load.mn * load.mn;
  }
  // What one load brings of a part that is outside of the operand, by the map of its last rows.
  constexpr int rows_of_zeros(int extent) const {
    if (sharers == 1) return 0;
    if (major == Major::mn) return load.mn;
    const int rest = static_cast<int>(static_cast<std::uint32_t>(extent) % part());
    return rest == 0 ? part() : rest;
  }
  constexpr std::uint32_t sharer_mask() const {  // of the first set of sharers
    std::uint32_t mask = 0;
    for (int i = 0; i < sharers; ++i) mask |= 1u << i * sharer_step;
    return mask;
  }
};

template <KernelConfig config>
constexpr OperandTile a_tile{
    config.a,         operand_rows(config.a, config.tile.m),         config.cluster.n,
    config.cluster.m, config.cluster.m > 1 && config.cluster.n == 1, operand_boxes(config).a};
template <KernelConfig config>
constexpr OperandTile b_tile{
    config.b, operand_rows(config.b, config.tile.n),         config.cluster.m,
    1,        config.cluster.n > 1 && config.cluster.m == 1, operand_boxes(config).b};

}  // namespace bwgemm::sm90
