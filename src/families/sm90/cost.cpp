// SPDX-License-Identifier: Apache-2.0
// The predicted time of a Hopper kernel, by the model of rules/cost_terms.h: first what one k block
// asks for and how long a CTA takes to move or copy its unaligned lines, then waves of tiles.
#include <algorithm>
#include <cmath>

#include "core/tiling.h"
#include "families/sm90/facts.h"
#include "families/sm90/functions.h"
#include "families/sm90/residue_operands.h"
#include "rules/arch_costs.h"
#include "rules/choice.h"
#include "rules/cost_terms.h"

namespace bwgemm::sm90 {
namespace {

// Rows of an operand that a CTA loads for its tile: what is outside of the operand is not asked
// for, but where a gate reorders it. The fullest tile is the slowest, all together weigh on L2.
struct LoadedRows {
  double most, mean;
};
LoadedRows loaded_rows(Major major, std::int64_t extent, int tile, std::int64_t ctas,
                       bool is_gated) {
  constexpr std::int64_t wide_chunk = 64;
  const std::int64_t chunk = major == Major::mn ? chunk_of(major, tile) : 1;
  const auto rows_of = [&](std::int64_t rows) { return ceil_div(rows, chunk) * chunk; };
  const std::int64_t whole = rows_of(tile);
  if (is_gated) return {static_cast<double>(whole), static_cast<double>(whole)};
  const std::int64_t full_tiles = extent / tile;
  const std::int64_t all = full_tiles * whole + rows_of(extent % tile);
  const std::int64_t most = rows_of(std::min<std::int64_t>(extent, tile));
  // A narrow chunk has as many rows of k as a wide one, and each takes TMA as long.
  return {static_cast<double>(major == Major::mn ? most / chunk * wide_chunk : most),
          static_cast<double>(all) / static_cast<double>(ctas)};
}

bool is_gated(const Problem& problem, const Derived& kernel, Gates along) {
  return problem.epilogue.gate != Gate::none && kernel.parts.gates == along;
}

Block block_of(const Problem& problem, const ArchCosts& costs, const KernelConfig& config,
               const Derived& kernel) {
  const ClusterTile tile = cluster_tile(config, config.tile.n);
  const TileCounts tiles = tile_counts(problem, tile.m, tile.n);
  const LoadedRows a = loaded_rows(config.a, problem.m, config.tile.m, tiles.m * config.cluster.m,
                                   is_gated(problem, kernel, Gates::rows));
  const LoadedRows b = loaded_rows(config.b, problem.n, config.tile.n, tiles.n * config.cluster.n,
                                   is_gated(problem, kernel, Gates::columns));
  const RowBytes bytes(problem, costs, config, config.a, config.b, config.tile.n);
  const OperandRows shared{a.mean / config.cluster.n, b.mean / config.cluster.m};
  return {.flop = 2.0 * config.tile.m * config.tile.n * config.tile.k,
          .bytes = bytes.plain({a.mean, b.mean}),
          .sm_bytes = bytes.plain({a.most, b.most}),
          .l2_bytes = bytes.of_l2(shared)};
}

// Warps of a CTA that store a tile line by line.
int storing_warps(const KernelConfig& config, const Derived& kernel) {
  return config.ping_pong ? 1 : kernel.groups.consumers;
}

// Bytes a us that the warps of a CTA store line by line. The warps are in each other's way. A
// shorter line takes as long. Each box of columns behind the first has a price of its own.
double line_bytes_per_us(const KernelConfig& config, const Derived& kernel,
                         const ArchCosts& costs) {
  const StagedBoxes& boxes = kernel.boxes;
  const double lines = costs.lines_per_us * std::sqrt(storing_warps(config, kernel));
  const double behind_first = 1 - static_cast<double>(boxes.lines) / config.tile.n;
  const double of_column =
      costs.lines_of_columns * (1 + behind_first * costs.lines_of_a_box / boxes.lines);
  return boxes.line_bytes * lines / (config.swaps_ab ? of_column : 1);
}

// Columns of the tile that are stored; those of boxes that overlap count twice.
int stored_columns(const Problem& problem, const KernelConfig& config, const StagedBoxes& boxes) {
  if (!boxes.overlap) return config.tile.n;
  const int box = config.swaps_ab ? boxes.lines : boxes.line_bytes / size_bytes(problem.d.type);
  return static_cast<int>(ceil_div(config.tile.n, box)) * box;
}

// What a k block takes over the longest of its limits. It is below 1 where neighbouring SMs share
// lines, which then leave L2 once: most in narrow tiles. A lone CTA whose rows straddle lines gains
// nothing by that. CTAs that share an SM are in each other's way.
double slowdown_of(const Problem& problem, const ArchCosts& costs, const KernelConfig& config) {
  const double of_rows =
      costs.block_slowdown + costs.row_slowdown * (config.tile.m + config.tile.n);
  const bool is_alone = config.cluster.size() == 1;
  const double slowdown = of_rows * (is_alone ? 1 : costs.cluster_slowdown) *
                          (config.ctas_per_sm > 1 ? costs.sharing_slowdown : 1);
  const bool straddles_alone = is_alone && (straddles(problem.a) || straddles(problem.b));
  return straddles_alone ? std::max(slowdown, 1.0) : slowdown;
}

// The time of a function for one value, over that of swish (gelu by tanh, silu), which is applied
// in place. Others go by parts, which copies each value twice (register_epilogue.h).
double curve_weight(Activation activation) {
  constexpr double by_parts = 1.4;  // of erf, measured; of sigmoid, as many special functions
  switch (activation) {
    case Activation::gelu_tanh:
    case Activation::silu: return 1;
    case Activation::gelu_erf:
    case Activation::sigmoid: return by_parts;
    default: return 0;
  }
}

// What the special function unit of an SM takes for the values of a tile.
double curve_us(const Problem& problem, const KernelConfig& config, const ArchCosts& costs) {
  const double of_values = problem.epilogue.gate == Gate::none ? 1 : 0.5;
  return curve_weight(problem.epilogue.activation) * of_values * config.tile.m * config.tile.n /
         costs.curved_values_per_us;
}

// The epilogue of a tile that leaves through staging buffers. A box that finds none free waits for
// a store. In a ping-pong kernel the other warpgroup multiplies meanwhile.
double staged_us(const Problem& problem, const KernelConfig& config, const Derived& kernel,
                 const ArchCosts& costs, double output_bytes) {
  const int boxes = kernel.boxes.count * size_bytes(problem.d.type) / 2;
  const int stored = is_gated(problem, kernel, Gates::columns) ? boxes / 2 : boxes;
  const int waiting = config.ping_pong ? 0 : std::max(0, stored - kernel.staging_depth);
  return output_bytes / costs.epilogue_bytes_per_us + boxes * costs.epilogue_box_us +
         waiting * costs.staging_wait_us;
}

double cluster_merge_us(const ArchCosts& costs, double partial_bytes, int splits) {
  return costs.cluster_merge_us + (splits - 1) * partial_bytes / costs.cluster_bytes_per_us;
}

// How a launch goes over its tiles: whole ones in waves, those whose k is split at the end.
struct Walk {
  TileCounts clusters;    // of D, in what a whole cluster computes
  std::int64_t resident;  // of them at a time
  std::int64_t whole, cut;
  std::int64_t steps, split_steps;  // k blocks of a whole tile, and of a split

  // Whether no CTA has a second whole tile.
  bool has_one_tile() const { return whole <= resident; }
};

Walk walk_of(const Prediction& of) {
  const TileCounts clusters = tiles_of_clusters(of.problem, of.config, of.tile_n);
  const std::int64_t tiles = clusters.total();
  const std::int64_t resident = resident_clusters(of.facts, of.config);
  const std::int64_t cut =
      split_tiles(tiles, resident, of.splits, sm90::split_limits(of.problem, of.config));
  const std::int64_t steps = k_steps(of.problem, of.config);
  return {clusters, resident, tiles - cut, cut, steps, ceil_div(steps, of.splits)};
}

// A wave of clusters: k blocks, and the epilogue as far as nothing hides it.
class Wave {
 public:
  Wave(const Prediction& of, const ArchCosts& costs, const Walk& walk)
      : of_(of),
        costs_(costs),
        has_one_tile_(walk.has_one_tile()),
        epilogue_(has_one_tile_ ? of.known.only_epilogue_us : of.known.epilogue_us),
        exposed_(of.config.ping_pong         ? 0
                 : of.config.ctas_per_sm > 1 ? costs.exposed_epilogue * epilogue_
                                             : epilogue_) {}

  double epilogue() const { return epilogue_; }

  double us(std::int64_t clusters, std::int64_t blocks) const {
    if (clusters == 0) return 0;
    const WithoutSplits& known = of_.known;
    const Block& block = known.block;
    const double sharing = std::max(1.0, static_cast<double>(clusters) / of_.facts.sm_count);
    const double each =
        std::max(sharing * known.moving_us,
                 block_us(costs_, block, block.flop / costs_.sm_flop_per_us, known.slowdown,
                          of_.facts.sm_count, clusters * of_.config.cluster.size()));
    const double products =
        (static_cast<double>(blocks) + known.partial_block) * each + costs_.fill_us;
    if (has_one_tile_) return products + exposed_;
    // A ping-pong warpgroup waits until the other has multiplied, however thin k is.
    if (of_.config.ping_pong)
      return std::max(products, costs_.ping_pong_overlap * (products + epilogue_));
    return products + exposed_;
  }

 private:
  const Prediction& of_;
  const ArchCosts& costs_;
  bool has_one_tile_;
  double epilogue_, exposed_;
};

double compute_us(const Prediction& of, const ArchCosts& costs, const Walk& walk) {
  const Wave wave(of, costs, walk);
  const std::int64_t full_waves = walk.whole / walk.resident, left = walk.whole % walk.resident;
  const std::int64_t splits = walk.cut * of.splits;
  return static_cast<double>(full_waves) * wave.us(walk.resident, walk.steps) +
         wave.us(left, walk.steps) + wave.us(splits, walk.split_steps) +
         (of.config.ping_pong ? wave.epilogue() : 0) +
         (has_residues(of.config) ? first_moves_us(of.problem) : 0);
}

// How long clusters that begin together wait for the first lines of an operand that all of them ask
// for. The CTAs of a cluster share what they load.
double first_lines_us(const ArchCosts& costs, const Walk& walk) {
  const std::int64_t readers = std::max(walk.clusters.m, walk.clusters.n);
  return costs.first_lines_us * static_cast<double>(std::min(readers, walk.resident));
}

double merge_us(const Prediction& of, const ArchCosts& costs, const Walk& walk) {
  if (of.splits == 1) return 0;
  const double partial_bytes = 4.0 * of.config.tile.m * of.config.tile.n;
  if (of.reduction == SplitReduction::workspace)
    return workspace_merge_us(costs, partial_bytes, of.splits,
                              static_cast<double>(walk.cut * of.splits * of.config.cluster.size()));
  const bool from_registers = stores_of(of.problem, of.config) == Stores::from_registers;
  return cluster_merge_us(costs, partial_bytes, of.splits) -
         (from_registers ? costs.register_stores_us : 0);
}

}  // namespace

WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int) {
  const ArchCosts& costs = costs_of(config.arch);
  const Derived kernel = derived(config);
  WithoutSplits known{slowdown_of(problem, costs, config),
                      block_of(problem, costs, config, kernel)};
  const Stores stores = stores_of(problem, config, kernel.parts);
  const double output_bytes = static_cast<double>(config.tile.m) *
                              stored_columns(problem, config, kernel.boxes) *
                              output_bytes_per_element(problem);
  known.stores_whole_sectors = stores == Stores::in_pieces;
  const double curve = curve_us(problem, config, costs);
  const auto stored_us = [&] {
    if (has_residues(config)) return scattered_us(problem, config);
    if (stores == Stores::by_lines) return output_bytes / line_bytes_per_us(config, kernel, costs);
    if (stores == Stores::in_pieces)
      return costs.piece_us + static_cast<double>(config.tile.m * problem.n) *
                                  output_bytes_per_element(problem) / costs.piece_bytes_per_us;
    if (stores == Stores::from_staging) return output_bytes / costs.staged_line_bytes_per_us;
    return staged_us(problem, config, kernel, costs, output_bytes);
  };
  const double only = stored_us();
  // What a CTA's only tile stores from registers costs no more than the way through buffers.
  const bool stores_in_turn = stores == Stores::from_registers && !has_residues(config);
  known.only_epilogue_us = only + curve;
  known.epilogue_us = (stores_in_turn ? output_bytes / costs.register_bytes_per_us : only) + curve;
  known.moving_us = has_residues(config)     ? moving_block_us(problem, config)
                    : has_loose_rows(config) ? config.tile.m / costs.loose_rows_per_us
                                             : 0;
  const bool ends_inside = problem.k % config.tile.k != 0 && !has_residues(config);
  known.partial_block = ends_inside ? costs.partial_block : 0;
  return known;
}

double predicted_us(const Prediction& of) {
  const ArchCosts& costs = costs_of(of.config.arch);
  const Walk walk = walk_of(of);
  return total_us(of, costs, costs.launch_us + first_lines_us(costs, walk),
                  compute_us(of, costs, walk), merge_us(of, costs, walk));
}

}  // namespace bwgemm::sm90
