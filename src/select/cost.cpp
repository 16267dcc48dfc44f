// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the model described in cost.h.
#include "select/cost.h"

#include <algorithm>
#include <cmath>

#include "core/tiling.h"
#include "kernels/output_path.h"
#include "kernels/shape.h"
#include "kernels/variants.h"
#include "select/arch_costs.h"
#include "select/block_cost.h"
#include "select/cost_terms.h"
#include "select/unmapped_cost.h"

namespace bwgemm {
namespace {

double memory_us(const Problem& problem, const DeviceFacts& facts, const ArchCosts& costs) {
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.scale_only() ? 0 : problem.k);
  const auto batch = static_cast<double>(problem.batch);
  const double a_batch = problem.a.batch_stride == 0 ? 1 : batch;
  const double b_batch = problem.b.batch_stride == 0 ? 1 : batch;
  const double bytes = (a_batch * m * k + b_batch * k * n) * size_bytes(problem.a.type) +
                       batch * m * n * output_bytes_per_element(problem);
  return bytes / (costs.memory_bytes_per_us * memory_speed(facts));
}

// Elements of D by ordinary stores; fitted as moving_block_us() was. They leave in segments of 64
// columns (sm90/scatter.h), those that D has.
constexpr double stored_elements_per_us = 2.8e3;

double scattered_us(const Problem& problem, const KernelConfig& config) {
  constexpr int segment = 64;
  const std::int64_t columns =
      std::min<std::int64_t>(config.tile.n, ceil_div(problem.n, segment) * segment);
  return static_cast<double>(config.tile.m * columns) / stored_elements_per_us;
}

// Until the first lines are moved: their heads come from memory on their own, and each class has a
// map.
constexpr double first_moves_us = 2.5;

// Whether rows of D begin inside of words: each line then has elements that are stored alone.
bool has_odd_rows(const Matrix& d) {
  constexpr int word_bytes = 4;
  return !begins_at_multiples(d, word_bytes) ||
         d.batch_stride * size_bytes(d.type) % word_bytes != 0;
}

// What the warps store that store a tile line by line, each of which takes as long for a shorter
// line.
double line_bytes_per_us(const Problem& problem, const KernelConfig& config,
                         const ArchCosts& costs) {
  const int warps = config.ping_pong ? 1 : sm90::consumer_warpgroups(config);
  const double slowdown = (config.swaps_ab ? costs.lines_of_columns : 1) *
                          (has_odd_rows(problem.d) ? costs.odd_lines : 1);
  return warps * sm90::staging_line_bytes(config) * costs.lines_per_us / slowdown;
}

// Columns of the tile that are stored; those of boxes that overlap count twice.
int stored_columns(const Problem& problem, const KernelConfig& config, int tile_n) {
  if (!sm90::overlaps_boxes(config)) return tile_n;
  const int box = sm90::staging_line_bytes(config) / size_bytes(problem.d.type);
  return static_cast<int>(ceil_div(tile_n, box)) * box;
}

// Whether a fused epilogue has few registers beside the accumulators: it then waits for its vectors
// a few columns at a time, which no product hides.
bool is_tight(const KernelConfig& config) {
  return config.family == Family::cooperative && sm90::accumulators(config) > 160;
}

// Slowdown of a ping-pong kernel where a CTA has one tile: nobody multiplies in the gaps that its
// products leave, which are longer in narrow tiles.
double one_tile_ping_pong(const ArchCosts& costs, int tile_n) {
  constexpr double narrow = 96, wide = 192;
  return costs.one_tile_ping_pong + (costs.wide_one_tile_ping_pong - costs.one_tile_ping_pong) *
                                        (tile_n - narrow) / (wide - narrow);
}

// The time of a ping-pong kernel's wave behind the first, over that of the first: 1 on an H200.
// Where memory is slower, later waves take longer: the narrower the tile the more, and twice that
// where both operands lie along m and n.
double later_waves(const ArchCosts& costs, const DeviceFacts& facts, const KernelConfig& config,
                   int tile_n) {
  constexpr double narrow = 128, none = 288, along_mn = 2;
  const double slowness = std::max(0.0, 1 / memory_speed(facts) - 1);
  const bool both_along_mn = config.a == Major::mn && config.b == Major::mn;
  return 1 + slowness * costs.later_ping_pong * (none - tile_n) / (none - narrow) *
                 (both_along_mn ? along_mn : 1);
}

// The epilogue of a tile that leaves through staging buffers.
double staged_us(const Problem& problem, const KernelConfig& config, const ArchCosts& costs,
                 double output_bytes) {
  const double us = output_bytes / costs.epilogue_bytes_per_us;
  if (config.family != Family::cooperative) return us;
  const int boxes = sm90::staged_boxes(config) * size_bytes(problem.d.type) / 2;
  return us + boxes * costs.epilogue_box_us;
}

struct Time {
  double compute_us, merge_us;
};

double workspace_merge_us(const ArchCosts& costs, double partial_bytes, int splits,
                          double partials) {
  return costs.merge_us +
         splits * (costs.merge_split_us + partial_bytes / costs.merge_bytes_per_us) +
         partials * partial_bytes / costs.partials_bytes_per_us;
}

double cluster_merge_us(const ArchCosts& costs, double partial_bytes, int splits) {
  return costs.cluster_merge_us + (splits - 1) * partial_bytes / costs.cluster_bytes_per_us;
}

// CTAs that share rows or columns begin together and drift apart as they go. What one asks for long
// after another is no longer in L2, if not all operands are, and a memory that is too slow for it
// holds all of them up.
double drifted_us(const Problem& problem, const DeviceFacts& facts, const ArchCosts& costs,
                  double compute_us, double delivered_bytes) {
  const double operand_bytes = static_cast<double>(problem.m + problem.n) *
                               static_cast<double>(problem.k) * size_bytes(problem.a.type);
  const bool fit_l2 = operand_bytes <= static_cast<double>(facts.l2_bytes);
  if (fit_l2 || costs.drift_us == 0) return compute_us;
  const double share = std::min(1.0, compute_us / costs.drift_us);
  return std::max(compute_us,
                  share * delivered_bytes / (costs.memory_bytes_per_us * memory_speed(facts)));
}

Time tma_time(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
              int given_tile_n, int splits, SplitReduction reduction, const ArchCosts& costs,
              const WithoutSplits& known) {
  const ClusterTile tile = cluster_tile(config, given_tile_n);
  const int tile_n = tile.n / config.cluster.n;
  const double cta_outputs = static_cast<double>(config.tile.m) *
                             stored_columns(problem, config, tile_n) /
                             (uses_tensor_memory(config) ? sm100::group_ctas(config) : 1);
  const double output_bytes = cta_outputs * output_bytes_per_element(problem);
  const Stores stores = stores_of(problem, config);
  const bool is_by_lines = stores == Stores::by_lines;
  const TileCounts tiles = tile_counts(problem, tile.m, tile.n);
  const std::int64_t cut = split_tiles(problem, facts, config, tile_n, splits);
  const std::int64_t whole = tiles.total() - cut, partials = cut * splits;
  const std::int64_t resident = resident_clusters(facts, config);
  // What a CTA's only tile stores from registers costs no more than the way through buffers.
  const bool stores_in_turn = stores == Stores::from_registers && whole > resident;
  const double epilogue = has_residues(config) ? scattered_us(problem, config)
                          : is_by_lines ? output_bytes / line_bytes_per_us(problem, config, costs)
                          : stores_in_turn ? output_bytes / costs.register_bytes_per_us
                                           : staged_us(problem, config, costs, output_bytes);
  // With two accumulators, or in ping-pong kernels, the next tile is computed during an epilogue.
  const bool hides_epilogue =
      config.ping_pong || (uses_tensor_memory(config) && config.choices.accumulators == 2);
  const double exposed = hides_epilogue           ? 0
                         : config.ctas_per_sm > 1 ? costs.exposed_epilogue * epilogue
                                                  : epilogue;
  const std::int64_t steps = k_steps(problem, config);
  const Block& block = known.block;
  // Neighbours share less of lines that rows straddle: lone CTAs then gain nothing by their shape.
  const bool straddles_alone =
      config.cluster.size() == 1 && (straddles(problem.a) || straddles(problem.b));
  const double slowdown = config.ping_pong && whole <= resident
                              ? one_tile_ping_pong(costs, tile_n) * known.slowdown
                          : straddles_alone ? std::max(known.slowdown, 1.0)
                                            : known.slowdown;
  const double loading = loading_block_us(problem, config, tile_n);
  const bool ends_inside = problem.k % config.tile.k != 0 && !has_residues(config);
  const double partial_block = ends_inside ? costs.partial_block : 0;
  const double fused = is_fused(problem, config) && is_tight(config) ? costs.tight_fused_us : 0;
  const auto wave_us = [&](std::int64_t clusters, std::int64_t blocks) {
    if (clusters == 0) return 0.0;
    const double moving = has_residues(config) ? moving_block_us(problem, config) : 0;
    const double each = std::max({loading, moving,
                                  block_us(costs, config, block, tile_n, slowdown, facts.sm_count,
                                           clusters * config.cluster.size(), reduction)});
    const double products =
        (static_cast<double>(blocks) + partial_block) * each + costs.fill_us + fused;
    if (is_by_lines && whole > resident && !config.ping_pong)
      return std::max(products + exposed,
                      epilogue * costs.lines_per_us / costs.crowded_lines_per_us);
    // A ping-pong warpgroup waits until the other has multiplied, however thin k is.
    return config.ping_pong && whole > resident
               ? std::max(products, costs.ping_pong_overlap * (products + epilogue))
               : products + exposed;
  };
  const double partial_bytes = cta_outputs * sizeof(float);
  const double saved = stores == Stores::from_registers ? costs.register_stores_us : 0;
  const double merge =
      splits == 1 ? 0
      : reduction == SplitReduction::cluster
          ? cluster_merge_us(costs, partial_bytes, splits) - saved
          : workspace_merge_us(costs, partial_bytes, splits,
                               static_cast<double>(partials * config.cluster.size()));
  const std::int64_t full_waves = whole / resident, left = whole % resident;
  const std::int64_t split_steps = ceil_div(steps, splits);
  const double delivered_bytes = static_cast<double>(whole * steps + partials * split_steps) *
                                 config.cluster.size() * block.l2_delivers;
  const double later =
      config.ping_pong && full_waves > 0 ? later_waves(costs, facts, config, tile_n) : 1;
  const double whole_waves = full_waves == 0 ? 0 : 1 + static_cast<double>(full_waves - 1) * later;
  const double compute_us = whole_waves * wave_us(resident, steps) + later * wave_us(left, steps) +
                            wave_us(partials, split_steps) + (hides_epilogue ? epilogue : 0) +
                            (has_residues(config) ? first_moves_us : 0);
  return {drifted_us(problem, facts, costs, compute_us, delivered_bytes), merge};
}

}  // namespace

// A wave of R tiles that is g tiles high and R/g wide reads g * tile_m rows of A and R/g * tile_n
// columns of B. Columns are shared by neighbours, who keep in step, rows by CTAs far apart, who do
// not, and count w times: the sum is least for g = sqrt(R * tile_n / (w * tile_m)). Bands are then
// made equally high.
// Where a wave spans all of n, bands of one tile give it the same operands, and the CTAs that share
// the rows of A, the longer operand, are neighbours: their loads leave memory once.
int raster_group(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                 int tile_n) {
  const ClusterTile tile = cluster_tile(config, tile_n);
  const TileCounts tiles = tile_counts(problem, tile.m, tile.n);
  const std::int64_t wave = std::min(resident_clusters(facts, config), tiles.m * tiles.n);
  const double rows_count = costs_of(config.arch).distant_rows;
  const double best = std::sqrt(static_cast<double>(wave) * tile.n / (rows_count * tile.m));
  const bool is_narrow = static_cast<double>(tiles.n) * best <= static_cast<double>(wave);
  if (problem.m > problem.n && is_narrow) return 1;
  const std::int64_t rows = std::clamp<std::int64_t>(std::llround(best), 1, tiles.m);
  const std::int64_t bands = ceil_div(tiles.m, rows);
  return static_cast<int>(ceil_div(tiles.m, bands));
}

WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int tile_n) {
  if (is_unmapped(config)) return {};
  const ClusterTile tile = cluster_tile(config, tile_n);
  const bool has_slowdown = config.family == Family::cooperative;  // of the others all are 1
  return {has_slowdown ? slowdown_of(config) : 1,
          block_of(problem, costs_of(config.arch), config, tile.n / config.cluster.n,
                   tile_counts(problem, tile.m, tile.n))};
}

double predicted_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                    int tile_n, int splits, SplitReduction reduction) {
  return predicted_us(problem, facts, config, tile_n, splits, reduction,
                      without_splits(problem, config, tile_n));
}

double predicted_us(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                    int tile_n, int splits, SplitReduction reduction, const WithoutSplits& known) {
  const ArchCosts& costs = costs_of(config.arch);
  if (config.family == Family::dot) return dot_us(problem, facts, config, splits, reduction, costs);
  const Time time = config.family == Family::direct
                        ? Time{direct_compute_us(problem, facts, config, splits, costs), 0}
                    : config.family == Family::warp
                        ? Time{warp_compute_us(problem, facts, config, costs), 0}
                        : tma_time(problem, facts, config, tile_n, splits, reduction, costs, known);
  const double launch = is_unmapped(config) ? costs.unmapped_launch_us : costs.launch_us;
  return launch + (config.cluster.size() > 1 ? costs.cluster_us : 0) +
         together_us(costs, time.compute_us, memory_us(problem, facts, costs)) + time.merge_us;
}

}  // namespace bwgemm
