// SPDX-License-Identifier: Apache-2.0
// How a problem meets a kernel: which index of each operand is contiguous, how many tiles cover the
// output, how many clusters are launched. Used by selection and planning alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/kernel_config.h"
#include "core/problem.h"

namespace bwgemm {

constexpr bool sees_transposed(const KernelConfig& config, const Problem& problem) {
  return config.family == Family::dot ? problem.m > problem.n : config.swaps_ab;
}

// The problem as the kernel computes it: whatever follows for that kernel (majors, tiles, maps) is
// of this one.
constexpr Problem seen_by(const KernelConfig& config, const Problem& problem) {
  return sees_transposed(config, problem) ? transposed(problem) : problem;
}

// A is m x k and B is k x n: rows of A and columns of B run along k.
constexpr Major a_major(const Problem& problem) {
  return problem.a.order == Order::row ? Major::k : Major::mn;
}
constexpr Major b_major(const Problem& problem) {
  return problem.b.order == Order::column ? Major::k : Major::mn;
}

// Whether all its rows, or columns, begin at multiples of so many bytes.
inline bool begins_at_multiples(const Matrix& matrix, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(matrix.data) % static_cast<std::uintptr_t>(bytes) == 0 &&
         matrix.ld * size_bytes(matrix.type) % bytes == 0;
}

// Whether pieces of 128 bytes of its rows or columns lie in two lines of L2 each.
inline bool straddles(const Matrix& matrix) {
  return !begins_at_multiples(matrix, 128);
}
// Whether they are whole sectors of those lines.
inline bool has_whole_sectors(const Matrix& matrix) {
  return begins_at_multiples(matrix, 32);
}

// Whether lines of the operand all start at 16-byte units.
inline bool starts_at_units(const Matrix& matrix) {
  return begins_at_multiples(matrix, 16);
}

// The product's extent along D's contiguous dimension, where a gate pairs x and y.
constexpr std::int64_t contiguous_extent(const Problem& problem) {
  return problem.d.order == Order::row ? problem.n : problem.m;
}

// With a gate two columns of the product, or two rows where D is in column order, are one of D.
constexpr std::int64_t d_columns(const Problem& problem) {
  const bool halves = problem.epilogue.gate != Gate::none && problem.d.order == Order::row;
  return halves ? problem.n / 2 : problem.n;
}
constexpr std::int64_t d_rows(const Problem& problem) {
  const bool halves = problem.epilogue.gate != Gate::none && problem.d.order == Order::column;
  return halves ? problem.m / 2 : problem.m;
}

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) {
  // Callers divide by tiles and splits, of which there is at least one.
  return value / by + (value % by != 0 ? 1 : 0);  // NOLINT(clang-analyzer-core.DivideZero)
}

struct TileCounts {
  std::int64_t m, n, batch;
  constexpr std::int64_t total() const { return m * n * batch; }
  bool operator==(const TileCounts&) const = default;
};

// Tiles of the given size that cover D.
constexpr TileCounts tile_counts(const Problem& problem, int tile_m, int tile_n) {
  return {ceil_div(problem.m, tile_m), ceil_div(problem.n, tile_n), problem.batch};
}

// The part of D that a whole cluster computes.
struct ClusterTile {
  int m = 0, n = 0;
};

constexpr ClusterTile cluster_tile(const KernelConfig& config, int tile_n) {
  const int ctas_of_tile = config.family == Family::pair ? 2 : 1;
  return {config.tile.m * config.cluster.m / ctas_of_tile,
          (config.tile.n != 0 ? config.tile.n : tile_n) * config.cluster.n};
}

// Steps of tile.k along k; 0 if A and B are not to be read.
constexpr std::int64_t k_steps(const Problem& problem, const KernelConfig& config) {
  return problem.scale_only() ? 0 : ceil_div(problem.k, config.tile.k);
}

// CTAs of a launch. Persistent: no more clusters than there is work or room for; else one for each
// unit of work.
constexpr std::int64_t grid_ctas(const KernelConfig& config, std::int64_t work_units,
                                 std::int64_t resident_clusters) {
  const bool is_persistent = config.choices.schedule == Schedule::persistent;
  return config.cluster.size() *
         (is_persistent ? std::min(work_units, resident_clusters) : work_units);
}

}  // namespace bwgemm
