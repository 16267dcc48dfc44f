// SPDX-License-Identifier: Apache-2.0
// The predicted time of a Hopper kernel, by the model of rules/cost_terms.h: first what one k block
// asks for and how long a CTA takes to move or copy its unaligned lines, then waves of tiles.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/tiling.h"
#include "families/sm90/facts.h"
#include "families/sm90/functions.h"
#include "families/sm90/residue_operands.h"
#include "families/sm90/variants.h"
#include "rules/arch_costs.h"
#include "rules/choice.h"
#include "rules/cost_terms.h"

namespace bwgemm::sm90 {
namespace {

// An operand along m or n with so few of them that a line of L2 holds rows of several k: all CTAs
// ask for each of these rows.
double requests_for_a_line(const Matrix& matrix, Major major, std::int64_t readers) {
  constexpr int line_bytes = 128;
  const auto row_bytes = static_cast<double>(matrix.ld * size_bytes(matrix.type));
  if (major == Major::k || row_bytes >= line_bytes) return 0;
  return static_cast<double>(readers) * line_bytes / row_bytes;
}

// Rows of an operand that a CTA loads for its tile: what is outside of the operand is not asked
// for, but where a gate reorders it. The fullest tile is the slowest, all together weigh on L2.
// Lines along m or n that end early cost time all the same: a chunk of 64 of which 16 elements are
// inside takes longer than one that is full.
struct LoadedRows {
  double most, mean;
  double unused;  // those outside that lie along m or n, of the fullest tile
};
LoadedRows loaded_rows(Major major, std::int64_t extent, int tile, std::int64_t ctas,
                       bool is_gated) {
  constexpr std::int64_t wide_chunk = 64;
  const std::int64_t chunk = major == Major::mn ? chunk_of(major, tile) : 1;
  const auto rows_of = [&](std::int64_t rows) { return ceil_div(rows, chunk) * chunk; };
  const std::int64_t whole = rows_of(tile);
  const double unused =
      major == Major::k ? 0 : static_cast<double>(std::max<std::int64_t>(0, whole - extent));
  if (is_gated) return {static_cast<double>(whole), static_cast<double>(whole), 0};
  const std::int64_t full_tiles = extent / tile;
  const std::int64_t all = full_tiles * whole + rows_of(extent % tile);
  const std::int64_t most = rows_of(std::min<std::int64_t>(extent, tile));
  // A narrow chunk has as many rows of k as a wide one, and each takes TMA as long.
  return {static_cast<double>(major == Major::mn ? most / chunk * wide_chunk : most),
          static_cast<double>(all) / static_cast<double>(ctas), unused};
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
  constexpr double depth = swizzle_row_bytes;
  const OperandRows shared{a.mean / config.cluster.n, b.mean / config.cluster.m};
  return {.flop = 2.0 * config.tile.m * config.tile.n * config.tile.k,
          .bytes = bytes.plain({a.mean, b.mean}),
          .sm_bytes = bytes.of_sm({a.most, b.most},
                                  {a.most / config.cluster.n, b.most / config.cluster.m}) +
                      depth * (a.unused + b.unused) * costs.unused_parts_of_lines,
          .l2_bytes = bytes.of_l2(shared),
          .l2_delivers = bytes.plain(shared),
          .line_requests = std::max(requests_for_a_line(problem.a, config.a, tiles.n),
                                    requests_for_a_line(problem.b, config.b, tiles.m))};
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

// The share of line_bytes_per_us() that is left while consumers only write more boxes.
double crowded_share(const KernelConfig& config, const Derived& kernel, const ArchCosts& costs) {
  return costs.crowded_lines_per_us / costs.lines_per_us * std::sqrt(storing_warps(config, kernel));
}

// Columns of the tile that are stored; those of boxes that overlap count twice.
int stored_columns(const Problem& problem, const KernelConfig& config, const StagedBoxes& boxes) {
  if (!boxes.overlap) return config.tile.n;
  const int box = boxes.line_bytes / size_bytes(problem.d.type);
  return static_cast<int>(ceil_div(config.tile.n, box)) * box;
}

// Lines of D as a kernel stores them: along m if it swaps A and B, else along n. A cluster stores
// some elements of a line at about the same time: all that it computes, or, line by line, what all
// consumers have of a column, or two boxes.
struct StoredLines {
  std::int64_t count, length;  // of one matrix
  int together;
};
StoredLines stored_lines(const Problem& problem, const KernelConfig& config,
                         const StagedBoxes& boxes, Stores stores) {
  const int tile_m = config.cluster.m * config.tile.m, tile_n = config.cluster.n * config.tile.n;
  if (config.swaps_ab) return {problem.n, problem.m, tile_m};
  if (stores != Stores::by_lines) return {problem.m, problem.n, tile_n};
  const int two_boxes = 2 * boxes.line_bytes / size_bytes(problem.d.type);
  return {problem.m, problem.n, std::min(tile_n, two_boxes)};
}

// The share of lines of D that begin inside of sectors of memory.
double torn_share(const Problem& problem) {
  constexpr std::int64_t sector_bytes = 32;
  const Matrix& d = problem.d;
  const std::int64_t batch_step = problem.batch > 1 ? d.batch_stride : 0;
  const std::int64_t step = std::gcd(d.ld, batch_step) * size_bytes(d.type);
  const std::int64_t common = std::gcd(step, sector_bytes);
  if (reinterpret_cast<std::uintptr_t>(d.data) % static_cast<std::uintptr_t>(common) != 0) return 1;
  return 1 - static_cast<double>(common) / sector_bytes;
}

// What memory takes for lines of D that begin inside of sectors: it reads a torn sector before it
// writes it, where L2 does not hold D until neighbouring CTAs have filled the sector.
double torn_sectors_us(const Problem& problem, const DeviceFacts& facts, const ArchCosts& costs,
                       const StoredLines& lines) {
  const double count = static_cast<double>(lines.count) * static_cast<double>(problem.batch);
  const double of_gate = problem.epilogue.gate == Gate::none ? 1 : 0.5;
  const double bytes =
      count * static_cast<double>(lines.length) * of_gate * size_bytes(problem.d.type);
  if (bytes <= static_cast<double>(facts.l2_bytes)) return 0;
  const double torn =
      torn_share(problem) * count * static_cast<double>(ceil_div(lines.length, lines.together));
  return torn * costs.torn_sector_bytes / (costs.memory_bytes_per_us * memory_speed(facts));
}

// Slowdown of a ping-pong kernel where a CTA has one tile: nobody multiplies in the gaps that its
// products leave, which are longer in narrow tiles.
double one_tile_ping_pong(const ArchCosts& costs, const KernelConfig& config) {
  constexpr double narrow = 96, wide = 192;
  return costs.one_tile_ping_pong + (costs.wide_one_tile_ping_pong - costs.one_tile_ping_pong) *
                                        (config.tile.n - narrow) / (wide - narrow);
}

// The time of a ping-pong kernel's wave behind the first, over that of the first: 1 on an H200.
// Where memory is slower, later waves take longer: the narrower the tile the more, and twice that
// where both operands lie along m and n.
double later_waves(const ArchCosts& costs, const DeviceFacts& facts, const KernelConfig& config) {
  constexpr double narrow = 128, none = 288, along_mn = 2;
  const double slowness = std::max(0.0, 1 / memory_speed(facts) - 1);
  const bool both_along_mn = config.a == Major::mn && config.b == Major::mn;
  return 1 + slowness * costs.later_ping_pong * (none - config.tile.n) / (none - narrow) *
                 (both_along_mn ? along_mn : 1);
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
                                             : epilogue_),
        slowdown_(slowdown()) {}

  double epilogue() const { return epilogue_; }

  double us(std::int64_t clusters, std::int64_t blocks) const {
    if (clusters == 0) return 0;
    const WithoutSplits& known = of_.known;
    const Block& block = known.block;
    const double sharing = std::max(1.0, static_cast<double>(clusters) / of_.facts.sm_count);
    const double each =
        std::max(sharing * known.moving_us,
                 block_us(costs_, block, block.flop / costs_.sm_flop_per_us, slowdown_,
                          of_.facts.sm_count, clusters * of_.config.cluster.size(), of_.reduction));
    const double products =
        (static_cast<double>(blocks) + known.partial_block) * each + costs_.fill_us;
    if (has_one_tile_) return products + exposed_;
    // A ping-pong warpgroup waits until the other has multiplied, however thin k is.
    if (of_.config.ping_pong)
      return std::max(products, costs_.ping_pong_overlap * (products + epilogue_));
    return std::max(products + exposed_, known.line_stores_us);
  }

 private:
  double slowdown() const {
    const double slowdown = of_.known.slowdown;
    if (of_.config.ping_pong && has_one_tile_)
      return one_tile_ping_pong(costs_, of_.config) * slowdown;
    // Neighbours share less of lines that rows straddle: lone CTAs then gain nothing by their
    // shape.
    const bool straddles_alone =
        of_.config.cluster.size() == 1 && (straddles(of_.problem.a) || straddles(of_.problem.b));
    return straddles_alone ? std::max(slowdown, 1.0) : slowdown;
  }

  const Prediction& of_;
  const ArchCosts& costs_;
  bool has_one_tile_;
  double epilogue_, exposed_, slowdown_;
};

double compute_us(const Prediction& of, const ArchCosts& costs, const Walk& walk) {
  const bool ping_pong = of.config.ping_pong;
  const Wave wave(of, costs, walk);
  const std::int64_t full_waves = walk.whole / walk.resident, left = walk.whole % walk.resident;
  const std::int64_t splits = walk.cut * of.splits;
  const double later = ping_pong && full_waves > 0 ? later_waves(costs, of.facts, of.config) : 1;
  const double full_us = full_waves == 0 ? 0
                                         : (1 + static_cast<double>(full_waves - 1) * later) *
                                               wave.us(walk.resident, walk.steps);
  const double us = full_us + later * wave.us(left, walk.steps) +
                    wave.us(splits, walk.split_steps) + (ping_pong ? wave.epilogue() : 0) +
                    (has_residues(of.config) ? first_moves_us(of.problem) : 0);
  const double delivered_bytes =
      static_cast<double>(walk.whole * walk.steps + splits * walk.split_steps) *
      of.config.cluster.size() * of.known.block.l2_delivers;
  return drifted_us(of.problem, of.facts, costs, us, delivered_bytes);
}

// How long clusters that begin together wait for the first lines of an operand that all of them ask
// for. The CTAs of a cluster share what they load.
double first_lines_us(const ArchCosts& costs, const Walk& walk) {
  const std::int64_t readers = std::max(walk.clusters.m, walk.clusters.n);
  return costs.first_lines_us * static_cast<double>(std::min(readers, walk.resident));
}

// What a kernel that lets the next one start (next_start() in rules/choice.h) hides of its own
// time: where it leaves half of the multiprocessors free, the next kernel's CTAs all begin
// meanwhile. Kernels of a few us hide as much, however many their CTAs are.
double hidden_us(const Prediction& of, const ArchCosts& costs, const Walk& walk, double us) {
  constexpr double from_us = 4;
  const std::int64_t ctas = (walk.whole + walk.cut * of.splits) * of.config.cluster.size();
  if (2 * ctas > of.facts.sm_count || us > longest_early_us) return 0;
  return costs.hidden_us * std::clamp(us - from_us, 0.0, 1.0);
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

WithoutSplits without_splits(const Problem& problem, const DeviceFacts& facts,
                             const KernelConfig& config, int) {
  const ArchCosts& costs = costs_of(config.arch);
  const Derived kernel = derived(config);
  WithoutSplits known{kernel.slowdown, block_of(problem, costs, config, kernel)};
  const Stores stores = stores_of(problem, config, kernel.parts);
  const bool is_by_lines = stores == Stores::by_lines;
  const double output_bytes = static_cast<double>(config.tile.m) *
                              stored_columns(problem, config, kernel.boxes) *
                              output_bytes_per_element(problem);
  const double curve = curve_us(problem, config, costs);
  const double only = has_residues(config) ? scattered_us(problem, config)
                      : is_by_lines        ? output_bytes / line_bytes_per_us(config, kernel, costs)
                                    : staged_us(problem, config, kernel, costs, output_bytes);
  // What a CTA's only tile stores from registers costs no more than the way through buffers.
  const bool stores_in_turn = stores == Stores::from_registers && !has_residues(config);
  known.only_epilogue_us = only + curve;
  known.epilogue_us = (stores_in_turn ? output_bytes / costs.register_bytes_per_us : only) + curve;
  known.line_stores_us = is_by_lines ? only / crowded_share(config, kernel, costs) : 0;
  known.moving_us = has_residues(config)     ? moving_block_us(problem, config)
                    : has_loose_rows(config) ? config.tile.m / costs.loose_rows_per_us
                                             : 0;
  const bool ends_inside = problem.k % config.tile.k != 0 && !has_residues(config);
  known.partial_block = ends_inside ? costs.partial_block : 0;
  known.torn_sectors_us =
      torn_sectors_us(problem, facts, costs, stored_lines(problem, config, kernel.boxes, stores));
  return known;
}

double predicted_us(const Prediction& of) {
  const ArchCosts& costs = costs_of(of.config.arch);
  const Walk walk = walk_of(of);
  const double us =
      total_us(of, costs, costs.launch_us + first_lines_us(costs, walk),
               compute_us(of, costs, walk), merge_us(of, costs, walk), of.known.torn_sectors_us);
  return us - hidden_us(of, costs, walk, us);
}

}  // namespace bwgemm::sm90
