// SPDX-License-Identifier: Apache-2.0
#include "families/registry.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "core/kernel_name.h"
#include "core/text.h"
#include "core/tiling.h"
#include "families/facts.h"
#include "families/helpers.h"
#include "families/variants.h"
#include "program/part.h"
#include "rules/arch_costs.h"
#include "rules/rasters.h"
#include "rules/rejects.h"

namespace bwgemm {
namespace {

// Launches may differ in what is chosen per launch; the function must allow the largest of them.
KernelShape largest_shape(const KernelConfig& config) {
  KernelShape largest{};
  const auto consider = [&](int tile_n) {
    for (const Dtype d_type : {Dtype::bf16, Dtype::f32})
      for (const Major b : {Major::k, Major::mn})
        if (const KernelShape shape = kernel_shape(config, tile_n, d_type, b);
            largest.threads == 0 || shape.smem_bytes > largest.smem_bytes)
          largest = shape;
  };
  if (config.tile.n != 0) {
    consider(config.tile.n);
  } else {
    for (int tile_n = tile_n_step; tile_n <= widest_tile; tile_n += tile_n_step)
      if (facts_of(config.family).tile_n_invalid_because(config, tile_n, Major::k) == nullptr)
        consider(tile_n);
  }
  return largest;
}

LaunchedKernel launched(const Helper& helper, Arch arch) {
  KernelShape shape{};
  shape.threads = helper.threads;
  return {helper.name(arch), shape, 1, false};
}

// Safe here: rejects() has refused what does not fit.
std::int32_t narrow(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

// Kernels step through batches of operands by maps or strides.
std::int32_t batch_step(const Matrix& matrix, std::int64_t batch) {
  return batch > 1 && matrix.batch_stride != 0 ? 1 : 0;
}

void fill_common(const Problem& problem, const KernelConfig& config, const Choice& choice,
                 const KernelShape& shape, const TileCounts& tiles, KernelParams& params,
                 Linker& linker) {
  params.tiles_m = narrow(tiles.m);
  params.tiles_n = narrow(tiles.n);
  params.batch = narrow(tiles.batch);
  params.raster_group = choice.raster_group;
  params.reciprocals = raster_reciprocals(static_cast<std::uint32_t>(params.tiles_m),
                                          static_cast<std::uint32_t>(params.tiles_n),
                                          static_cast<std::uint32_t>(params.raster_group));
  params.raster = choice.raster;
  params.k_blocks = narrow(k_steps(problem, config));
  params.a_batch_step = batch_step(problem.a, problem.batch);
  params.b_batch_step = batch_step(problem.b, problem.batch);
  params.tile_n = shape.tile_n;
  params.stages = shape.stages;
  // Member by member: assigning a Scalar may copy its padding.
  params.alpha.value = problem.alpha.value;
  params.alpha.device = problem.alpha.device;
  params.beta.value = problem.beta.value;
  params.beta.device = problem.beta.device;
  linker.scalar(params.alpha, Argument::alpha);
  linker.scalar(params.beta, Argument::beta);
  params.m = problem.m;
  params.n = problem.n;
  params.k = problem.scale_only() ? 0 : problem.k;
  params.input_types = {problem.a.type, problem.b.type};
  params.type16 = type16(problem);
  params.d_type = problem.d.type;
  params.a_major = a_major(problem);
  params.b_major = b_major(problem);
  params.is_pointer_array = problem.is_pointer_array;
}

void fill_splits(const Problem& problem, const KernelConfig& config, const Choice& choice,
                 std::int64_t tiles, KernelParams& params) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();  // undivided k: any size
  params.splits = choice.splits;
  params.whole_tiles = static_cast<std::uint32_t>(tiles - choice.split_tiles);
  params.split_tiles_reciprocal = reciprocal(static_cast<std::uint32_t>(choice.split_tiles));
  params.k_per_split =
      narrow(std::min(ceil_div(k_steps(problem, config), choice.splits) * config.tile.k, limit));
}

// Partial sums lie behind the copies of operands.
void link_scratch(const Values& base, std::size_t copied_bytes, KernelParams& params,
                  Linker& linker) {
  params.partials = reinterpret_cast<float*>(base[Argument::workspace] + copied_bytes);
  params.arrivals = reinterpret_cast<std::uint32_t*>(base[Argument::counters]);
  linker.address(params.partials, Argument::workspace);
  linker.address(params.arrivals, Argument::counters);
}

// Clusters that may be launched: those that fit, in the share of the device that the call has.
std::int64_t allowed_clusters(const KernelConfig& config, const ProductContext& context) {
  const int limit = usable_sms(context.facts, context.sm_limit);
  // Fewer CTAs than SMs never share one.
  const int per_sm = limit < context.facts.sm_count ? 1 : config.ctas_per_sm;
  return std::min<std::int64_t>(context.resident_clusters, per_sm * limit / config.cluster.size());
}

}  // namespace

const char* rejects(const Problem& given, const Problem& seen, const DeviceFacts& facts,
                    const KernelConfig& config) {
  if (const char* reason = device_rejects(facts, config)) return reason;
  if (const char* reason = type_rejects(given, config)) return reason;
  const Texts& texts = sees_transposed(config, given) ? exchanged : as_given;
  if (!is_unmapped(config) && given.scale_only())
    return "k or alpha is zero: A and B are not to be touched";
  if (const char* reason = major_rejects(given, config, texts)) return reason;
  return functions_of(config).rejects(seen, config, texts);
}

// A wave of R tiles that is g tiles high and R/g wide reads g * tile_m rows of A and R/g * tile_n
// columns of B. Columns are shared by neighbours, who keep in step, rows by CTAs far apart, who do
// not, and count w times: the sum is least for g = sqrt(R * tile_n / (w * tile_m)). Bands are then
// made equally high.
// Where a wave spans all of n, bands of one tile give it the same operands, and the CTAs that share
// the rows of A, the longer operand, are neighbours: their loads leave memory once. Not so where n
// has many tiles: neighbours would read the same rows of A but different columns of B, which takes
// up to 1.5 times as long (bench/log/2026-11-27.md; an H100, and assumed of Blackwell).
int raster_group(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                 int tile_n) {
  const ClusterTile tile = cluster_tile(config, tile_n);
  const TileCounts tiles = tile_counts(problem, tile.m, tile.n);
  const std::int64_t wave = std::min(resident_clusters(facts, config), tiles.m * tiles.n);
  const double rows_count = costs_of(config.arch).distant_rows;
  const double best = std::sqrt(static_cast<double>(wave) * tile.n / (rows_count * tile.m));
  constexpr int few_tiles = 7;
  const bool is_narrow =
      tiles.n <= few_tiles && static_cast<double>(tiles.n) * best <= static_cast<double>(wave);
  if (problem.m > problem.n && is_narrow) return 1;
  const std::int64_t rows = std::clamp<std::int64_t>(std::llround(best), 1, tiles.m);
  const std::int64_t bands = ceil_div(tiles.m, rows);
  return static_cast<int>(ceil_div(tiles.m, bands));
}

LaunchedKernel kernel_of(int kernel, Arch arch) {
  if (kernel < 0) return launched(helper_of(kernel), arch);
  const KernelConfig& config = kernel_variants[static_cast<std::size_t>(kernel)];
  const bool has_large_clusters = facts_of(config.family).most_cluster_splits(config) > 1;
  return {kernel_name(config), largest_shape(config), config.cluster.size(), has_large_clusters};
}

void add_product(const Problem& given, const Provenance& given_from, const Values& base,
                 const KernelConfig& config, const Choice& choice, const ProductContext& context,
                 Part& part) {
  static_assert(std::is_trivially_copyable_v<ResidueParams>);
  static_assert(sizeof(ResidueParams) <= 4096, "kernels of every architecture take 4096 bytes");
  const Problem problem = seen_by(config, given);
  const bool is_transposed = sees_transposed(config, given);
  const Provenance from = is_transposed ? given_from.transposed() : given_from;
  const KernelShape shape = kernel_shape(config, choice.tile_n, problem.d.type, b_major(problem));
  const std::int64_t allowed = allowed_clusters(config, context);
  if (allowed < 1)
    throw Error(BWGEMM_STATUS_NOT_SUPPORTED,
                text("no cluster of ", kernel_name(config).view(),
                     " fits the multiprocessors that the call may use"));
  ResidueParams params;
  const std::size_t bytes = params_bytes(config);
  // Padding too: equal parts are then equal bytes.
  std::memset(static_cast<void*>(&params), 0, bytes);
  Linker linker(part, base, &params);
  const TileCounts tiles = cluster_tiles(problem, config, shape.tile_n);
  fill_common(problem, config, choice, shape, tiles, params, linker);
  fill_splits(problem, config, choice, tiles.total(), params);
  functions_of(config).fill(
      {problem, config, shape, tiles, is_transposed, from, context.facts.l2_bytes, params, linker});
  const std::int64_t units = work_units(tiles, choice);
  Step step{choice.variant, static_cast<int>(grid_ctas(config, units, allowed)),
            config.cluster.size(), shape.threads, shape.smem_bytes};
  const std::int64_t k =
      params.whole_tiles > 0 ? problem.k : ceil_div(problem.k, std::int64_t{choice.splits});
  const NextStart chosen = next_start(choice, {step.grid, context.facts.sm_count, k});
  step.is_short = chosen == NextStart::when_loaded;
  params.next_start = context.lets_next_start ? NextStart::when_multiplied : chosen;
  // Clusters that had to wait for others would take longer than sums in memory.
  if (choice.reduction == SplitReduction::cluster && step.grid == units &&
      context.resident_split_clusters >= tiles.total()) {
    params.reduces_in_cluster = true;
    step.cluster = choice.splits;
  }
  if (choice.splits > 1 && !params.reduces_in_cluster)
    link_scratch(base, context.copied_bytes, params, linker);
  step.overlap = Overlap::wherever_it_fits;  // behind copies
  part.add(step, &params, bytes);
}

}  // namespace bwgemm
