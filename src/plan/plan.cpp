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
#include "kernels/fusing.h"
#include "kernels/layout.h"
#include "plan/fused.h"
#include "plan/residue_maps.h"

namespace bwgemm {
namespace {

std::int32_t narrow(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

// Kernels step through batches of operands by maps or strides.
std::int32_t batch_step(const Matrix& matrix, std::int64_t batch) {
  return batch > 1 && matrix.batch_stride != 0 ? 1 : 0;
}

void fill_common(const Problem& problem, const KernelConfig& config, const Choice& choice,
                 const KernelShape& shape, KernelParams& params) {
  const TileCounts tiles = cluster_tiles(problem, config, shape.tile_n);
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
  params.m = problem.m;
  params.n = problem.n;
  params.k = problem.scale_only() ? 0 : problem.k;
  params.input_type = problem.a.type;
  params.d_type = problem.d.type;
  params.a_major = a_major(problem);
  params.b_major = b_major(problem);
  params.is_pointer_array = problem.is_pointer_array;
}

bool has_c_apart(const Problem& problem) {
  return problem.reads_c() && problem.c != problem.d;
}

// An operand of the product, loaded in boxes of columns along its rows: of `k_major_rows` rows
// where it is K-major, of a block of k where it is MN-major.
TensorMapKey operand_key(const Matrix& matrix, Major major, std::int64_t rows,
                         const Problem& problem, const KernelShape& shape, int k_major_rows,
                         Promotion promotion) {
  if (major == Major::k)
    return tensor_map_key(matrix, {problem.k, rows, problem.batch},
                          {shape.operand_box_columns, k_major_rows}, shape.map_rank, promotion);
  return tensor_map_key(matrix, {rows, problem.k, problem.batch},
                        {shape.operand_box_columns, k_block}, shape.map_rank, promotion);
}

// Of an operand whose every element so many tiles read. What streams by once, and what would be
// fetched for two lines at a time, comes faster without (bench/log/2026-11-22.md).
Promotion promotion_for(const Matrix& matrix, std::int64_t readers) {
  return readers == 1 || straddles(matrix) ? Promotion::none : Promotion::l2_256b;
}

// Extent and box of C and D, contiguous direction first.
struct OutputMap {
  MapExtent extent;
  MapBox box;
};

OutputMap output_map(const Problem& problem, const KernelConfig& config, const KernelShape& shape) {
  const bool has_gate = problem.epilogue.gate != Gate::none;
  if (config.output != Output::columns) {
    const bool is_narrower = has_gate && uses_tensor_memory(config);
    const int columns = is_narrower
                            ? sm100::staging_columns(shape.tile_n / 2, size_bytes(problem.d.type))
                            : shape.d_box_columns;
    return {{d_columns(problem), problem.m, problem.batch}, {columns, shape.d_box_rows}};
  }
  return {{d_rows(problem), problem.n, problem.batch},
          {has_gate ? sm90::gated_slice_rows : shape.d_box_columns, shape.d_box_rows}};
}

// One CTA alone loads the x and the y of a stacked gate apart.
int b_box_rows(const Problem& problem, const KernelConfig& config, const KernelShape& shape) {
  const bool is_apart = config.family == Family::single && problem.epilogue.gate == Gate::stacked;
  return is_apart ? shape.b_box_rows / 2 : shape.b_box_rows;
}

constexpr std::size_t along_rows = 1;  // of the box of a K-major operand

// The rows of an operand that are left where its boxes end, if kernels load them by a map of their
// own: MN-major operands are cut along k, and boxes of gates are of groups.
std::uint32_t rest_rows(const KernelConfig& config, const TensorMapKey& key, Major major,
                        std::int64_t rows) {
  if (config.family != Family::cooperative || major != Major::k || key.rank != matrix_map_rank)
    return 0;
  return static_cast<std::uint32_t>(rows % std::int64_t{key.box[along_rows]});
}

// The map of an operand, and again with a box for the rows that are left; without such rows both
// are the same. Both change or, if one cannot be made, none.
void get_maps(const TensorMapKey& key, std::uint32_t rest, TensorMapCache& maps, TensorMap& map,
              TensorMap& rest_map) {
  if (key.rank == 0) return;
  const TensorMap whole = maps.get(key);
  if (rest == 0) {
    rest_map = whole;
  } else {
    TensorMapKey rest_key = key;
    rest_key.box[along_rows] = rest;
    rest_map = maps.get(rest_key);
  }
  map = whole;
}

// Whether D passes through L2: of half of L2 a reader to come may hope to find much. The kernel
// that sums D comes at once.
bool streams_by(const Problem& problem, std::int64_t l2_bytes) {
  if (problem.sums.of == Summed::d) return false;
  const std::int64_t bytes =
      problem.batch * d_rows(problem) * d_columns(problem) * size_bytes(problem.d.type);
  return bytes > l2_bytes / 2;
}

void fill_maps(const Problem& problem, const KernelConfig& config, const KernelShape& shape,
               std::int64_t l2_bytes, TensorMapCache& maps, KernelParams& params, Origin& origin) {
  const TileCounts tiles = cluster_tiles(problem, config, shape.tile_n);
  const bool reorders = problem.epilogue.gate != Gate::none && !uses_tensor_memory(config);
  const auto key = [&](const Matrix& matrix, Major major, std::int64_t lines, int box_rows,
                       std::int64_t readers, bool along_d) {
    const Promotion promotion = promotion_for(matrix, readers);
    return reorders && along_d
               ? gated_key(problem, matrix, shape, box_rows, promotion)
               : operand_key(matrix, major, lines, problem, shape, box_rows, promotion);
  };
  const bool in_columns = config.output == Output::columns;
  if (!is_loaded_by_threads(config, problem.a, problem.batch)) {
    origin.a = key(problem.a, a_major(problem), problem.m, shape.a_box_rows, tiles.n, in_columns);
    origin.a_rest = rest_rows(config, origin.a, a_major(problem), problem.m);
    get_maps(origin.a, origin.a_rest, maps, params.a_map, params.a_rest_map);
  }
  if (!is_loaded_by_threads(config, problem.b, problem.batch)) {
    origin.b = key(problem.b, b_major(problem), problem.n, b_box_rows(problem, config, shape),
                   tiles.m, !in_columns);
    origin.b_rest = rest_rows(config, origin.b, b_major(problem), problem.n);
    get_maps(origin.b, origin.b_rest, maps, params.b_map, params.b_rest_map);
  }
  if (config.output == Output::scattered) return;
  params.stores = stores_of(problem, config);
  if (params.stores != Stores::by_map) {
    params.d = strided(problem.d, true, problem.batch);  // outer: from line to line
    return;
  }
  const OutputMap output = output_map(problem, config, shape);
  const auto output_key = [&](const Matrix& matrix) {
    return tensor_map_key(matrix, output.extent, output.box, shape.map_rank);
  };
  origin.d = output_key(problem.d);
  params.d_map = maps.get(origin.d);
  params.d_streams_by = streams_by(problem, l2_bytes);
  const bool has_map = has_c_apart(problem) && stages_c(problem, config);
  params.c_map = has_map ? maps.get(output_key(problem.c)) : params.d_map;
}

// Arrays of pointers to A and B that need not exist.
bool reads_no_arrays(const Problem& problem) {
  return problem.is_pointer_array && problem.scale_only();
}

void fill_strided(const Problem& problem, KernelParams& params) {
  params.a = strided(problem.a, a_major(problem) == Major::k, problem.batch);
  params.b = strided(problem.b, b_major(problem) == Major::k, problem.batch);
  params.d = strided(problem.d, problem.d.order == Order::row, problem.batch);
  if (problem.reads_c())
    params.c = strided(problem.c, problem.c.order == Order::row, problem.batch);
  if (!problem.is_pointer_array) return;
  // Pointers are read even where nothing is that they point to; the caller's may then be none.
  if (reads_no_arrays(problem)) params.a.data = params.b.data = params.d.data;
  for (StridedMatrix* matrix : {&params.a, &params.b, &params.c, &params.d})
    matrix->batch_stride = 0;  // the kernel takes each batch from its pointer
}

void fill_splits(const Problem& problem, const KernelConfig& config, const Choice& choice,
                 std::int64_t tiles, const Scratch& scratch, KernelParams& params) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();  // undivided k: any size
  params.splits = choice.splits;
  params.whole_tiles = static_cast<std::uint32_t>(tiles - choice.sliced_tiles);
  params.sliced_tiles_reciprocal = reciprocal(static_cast<std::uint32_t>(choice.sliced_tiles));
  params.k_per_split =
      narrow(std::min(ceil_div(k_steps(problem, config), choice.splits) * config.tile.k, limit));
  if (choice.splits == 1) return;
  params.partials = scratch.partials;
  params.arrivals = scratch.arrivals;
}

// A matrix that the kernel is not to touch stays null.
void move_matrix(StridedMatrix& matrix, const void* to) {
  if (matrix.data != nullptr) matrix.data = to;
}

// Clusters that may be launched: those that fit, in the share of the device that the call has.
std::int64_t allowed_clusters(const KernelConfig& config, const PlanContext& context) {
  const int limit = usable_sms(context.facts, context.sm_limit);
  // Fewer CTAs than SMs never share one.
  const int per_sm = limit < context.facts.sm_count ? 1 : config.ctas_per_sm;
  return std::min<std::int64_t>(context.resident_clusters, per_sm * limit / config.cluster.size());
}

}  // namespace

Plan& Plan::operator=(const Plan& other) {
  static_assert(std::is_trivially_copyable_v<ResidueParams>);
  static_assert(sizeof(ResidueParams) <= 4096, "kernels of every architecture take 4096 bytes");
  if (this == &other) return *this;
  row = other.row;
  shape = other.shape;
  grid = other.grid;
  cluster = other.cluster;
  params_bytes = other.params_bytes;
  // With padding, so that copies are equal bytes too.
  std::memcpy(static_cast<void*>(&params), &other.params, params_bytes);
  return *this;
}

Plan make_plan(const Problem& given, const KernelConfig& config, const Choice& choice,
               const PlanContext& context, Origin* origin) {
  const Problem problem = seen_by(config, given);
  Origin unused;
  Origin& from = origin != nullptr ? *origin : unused;
  from = {.addresses = {problem.a.data, problem.b.data, problem.d.data},
          .is_transposed = sees_transposed(config, given),
          .is_movable = !has_residues(config) && !has_c_apart(problem) && !reads_no_arrays(problem),
          .a = {},
          .b = {},
          .d = {},
          .a_rest = 0,
          .b_rest = 0};
  Plan plan;
  plan.row = choice.row;
  plan.shape = kernel_shape(config, choice.tile_n, problem.d.type, b_major(problem));
  plan.cluster = config.cluster.size();
  plan.params_bytes = has_residues(config) ? sizeof(ResidueParams) : sizeof(KernelParams);
  // Padding too: equal plans are then equal bytes.
  std::memset(static_cast<void*>(&plan.params), 0, sizeof(KernelParams));
  fill_common(problem, config, choice, plan.shape, plan.params);
  const TileCounts tiles = cluster_tiles(problem, config, plan.shape.tile_n);
  fill_splits(problem, config, choice, tiles.total(), context.scratch, plan.params);
  if (config.output == Output::scattered || leaves_rest(problem, config, choice.tile_n))
    fill_strided(problem, plan.params);
  fill_fused(problem, config, from.is_transposed, plan.params);
  if (has_residues(config))
    fill_residues(problem, config, *context.maps, plan.params);
  else if (!is_unmapped(config))
    fill_maps(problem, config, plan.shape, context.facts.l2_bytes, *context.maps, plan.params,
              from);

  const std::int64_t allowed = allowed_clusters(config, context);
  if (allowed < 1)
    throw Error(BWGEMM_STATUS_NOT_SUPPORTED,
                text("no cluster of ", kernel_name(config).view(),
                     " fits the multiprocessors that the call may use"));
  const std::int64_t units = work_units(tiles, choice);
  plan.grid = static_cast<int>(grid_ctas(config, units, allowed));
  // Clusters that had to wait for others would take longer than sums in memory.
  if (choice.sums == SliceSums::cluster && plan.grid == units &&
      context.resident_slice_clusters >= tiles.total()) {
    plan.params.sums_in_cluster = true;
    plan.cluster = choice.splits;
  }
  return plan;
}

// Each operand's address is noted after it has been moved.
bool move_plan(Plan& plan, Origin& origin, const Addresses& given, TensorMapCache& maps) {
  const Addresses to = origin.is_transposed ? Addresses{given.b, given.a, given.d} : given;
  Addresses& at = origin.addresses;
  if (at == to) return true;
  if (!origin.is_movable) return false;
  KernelParams& params = plan.params;
  if (at.a != to.a) {
    origin.a.address = reinterpret_cast<std::uintptr_t>(to.a);
    get_maps(origin.a, origin.a_rest, maps, params.a_map, params.a_rest_map);
    move_matrix(params.a, to.a);
    at.a = to.a;
  }
  if (at.b != to.b) {
    origin.b.address = reinterpret_cast<std::uintptr_t>(to.b);
    get_maps(origin.b, origin.b_rest, maps, params.b_map, params.b_rest_map);
    move_matrix(params.b, to.b);
    at.b = to.b;
  }
  if (at.d != to.d) {
    origin.d.address = reinterpret_cast<std::uintptr_t>(to.d);
    if (origin.d.rank != 0) params.c_map = params.d_map = maps.get(origin.d);
    move_matrix(params.c, to.d);
    move_matrix(params.d, to.d);
    at.d = to.d;
  }
  return true;
}

}  // namespace bwgemm
