// SPDX-License-Identifier: Apache-2.0
// Filling KernelParams for each family. Narrowing to 32 bits is safe here: select's rejects() has
// refused what does not fit.
#include "plan/plan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "core/text.h"
#include "core/tiling.h"
#include "kernels/layout.h"
#include "plan/residue_maps.h"

namespace bwgemm {
namespace {

std::int32_t narrow(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

bool steps_through_batch(const Matrix& matrix, std::int64_t batch) {
  return batch > 1 && matrix.batch_stride != 0;
}

void fill_common(const Problem& problem, const KernelConfig& config, const Choice& choice,
                 const KernelShape& shape, KernelParams& params) {
  const TileCounts tiles = cluster_tiles(problem, config, shape);
  params.tiles_m = narrow(tiles.m);
  params.tiles_n = narrow(tiles.n);
  params.batch = narrow(tiles.batch);
  params.raster_group = choice.raster_group;
  params.k_blocks = narrow(k_steps(problem, config));
  params.a_batch_step = steps_through_batch(problem.a, problem.batch) ? 1 : 0;
  params.b_batch_step = steps_through_batch(problem.b, problem.batch) ? 1 : 0;
  params.tile_n = shape.tile_n;
  params.stages = shape.stages;
  // Member by member: assigning a Scalar may copy its padding.
  params.alpha.value = problem.alpha.value;
  params.alpha.device = problem.alpha.device;
  params.beta.value = problem.beta.value;
  params.beta.device = problem.beta.device;
  params.m = problem.m;
  params.n = problem.n;
  params.k = problem.scale_only() ? 0 : problem.k;
  params.input_type = problem.a.type;
  params.d_type = problem.d.type;
  params.a_major = a_major(problem);
  params.b_major = b_major(problem);
}

// An operand of the product. A K-major one is loaded in boxes of `k_major_rows` rows, an MN-major
// one in chunks of 64 elements along its rows.
TensorMapKey operand_key(const Matrix& matrix, Major major, std::int64_t rows,
                         const Problem& problem, int k_major_rows) {
  constexpr int swizzled_elements = swizzle_row_bytes / 2;
  if (major == Major::k)
    return tensor_map_key(matrix, {problem.k, rows, problem.batch},
                          {swizzled_elements, k_major_rows});
  return tensor_map_key(matrix, {rows, problem.k, problem.batch}, {swizzled_elements, k_block});
}

// Extent and box of C and D, contiguous direction first.
struct OutputMap {
  MapExtent extent;
  MapBox box;
};

OutputMap output_map(const Problem& problem, const KernelConfig& config, const KernelShape& shape) {
  const MapBox box{shape.d_box_columns, shape.d_box_rows};
  if (config.output == Output::columns) return {{problem.m, problem.n, problem.batch}, box};
  return {{problem.n, problem.m, problem.batch}, box};
}

void fill_maps(const Problem& problem, const KernelConfig& config, const KernelShape& shape,
               TensorMapCache& maps, KernelParams& params) {
  params.a_map =
      maps.get(operand_key(problem.a, a_major(problem), problem.m, problem, shape.a_box_rows));
  params.b_map =
      maps.get(operand_key(problem.b, b_major(problem), problem.n, problem, shape.b_box_rows));
  const OutputMap output = output_map(problem, config, shape);
  params.d_map = maps.get(tensor_map_key(problem.d, output.extent, output.box));
  const bool c_apart = problem.reads_c() && problem.c != problem.d;
  params.c_map =
      c_apart ? maps.get(tensor_map_key(problem.c, output.extent, output.box)) : params.d_map;
}

// An operand as the kernels without maps address it: inner is k for A and B, n for C and D.
StridedMatrix strided(const Matrix& matrix, bool inner_is_contiguous, std::int64_t batch) {
  return {matrix.data, inner_is_contiguous ? matrix.ld : 1, inner_is_contiguous ? 1 : matrix.ld,
          steps_through_batch(matrix, batch) ? matrix.batch_stride : 0};
}

void fill_strided(const Problem& problem, KernelParams& params) {
  params.a = strided(problem.a, a_major(problem) == Major::k, problem.batch);
  params.b = strided(problem.b, b_major(problem) == Major::k, problem.batch);
  params.d = strided(problem.d, problem.d.order == Order::row, problem.batch);
  if (problem.reads_c())
    params.c = strided(problem.c, problem.c.order == Order::row, problem.batch);
}

void fill_splits(const Problem& problem, const KernelConfig& config, const Choice& choice,
                 const Scratch& scratch, KernelParams& params) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();  // undivided k: any size
  params.splits = choice.splits;
  params.k_per_split =
      narrow(std::min(ceil_div(k_steps(problem, config), choice.splits) * config.tile.k, limit));
  if (choice.splits == 1) return;
  params.partials = scratch.partials;
  params.arrivals = scratch.arrivals;
}

// Clusters that may be launched: those that fit, in the share of the device that the call has.
std::int64_t allowed_clusters(const KernelConfig& config, const PlanContext& context) {
  const int limit = usable_sms(context.facts, context.sm_limit);
  // Fewer CTAs than SMs never share one.
  const int per_sm = limit < context.facts.sm_count ? 1 : config.ctas_per_sm;
  return std::min<std::int64_t>(context.resident_clusters, per_sm * limit / config.cluster.size());
}

}  // namespace

Plan make_plan(const Problem& given, const KernelConfig& config, const Choice& choice,
               const PlanContext& context) {
  static_assert(std::is_trivially_copyable_v<ResidueParams>);
  const Problem problem = seen_by(config, given);
  Plan plan;
  plan.row = choice.row;
  plan.shape = kernel_shape(config, choice.tile_n, problem.d.type);
  plan.cluster = config.cluster.size();
  // Padding too: equal plans are then equal bytes.
  std::memset(static_cast<void*>(&plan.params), 0, sizeof(KernelParams));
  fill_common(problem, config, choice, plan.shape, plan.params);
  fill_splits(problem, config, choice, context.scratch, plan.params);
  if (config.family == Family::direct || config.family == Family::dot) {
    fill_strided(problem, plan.params);
  } else if (config.output == Output::scattered) {
    fill_strided(problem, plan.params);
    fill_residues(problem, config, *context.maps, plan.params);
  } else {
    fill_maps(problem, config, plan.shape, *context.maps, plan.params);
  }

  const std::int64_t allowed = allowed_clusters(config, context);
  if (allowed < 1)
    throw Error(BWGEMM_STATUS_NOT_SUPPORTED,
                text("no cluster of ", kernel_name(config).view(),
                     " fits the multiprocessors that the call may use"));
  const TileCounts tiles = cluster_tiles(problem, config, plan.shape);
  plan.grid = static_cast<int>(grid_ctas(tiles.total() * choice.splits, allowed, plan.cluster));
  return plan;
}

}  // namespace bwgemm
