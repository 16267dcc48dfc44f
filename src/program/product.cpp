// SPDX-License-Identifier: Apache-2.0
// Filling KernelParams for each family. Narrowing to 32 bits is safe here: select's rejects() has
// refused what does not fit.
#include "program/product.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "core/text.h"
#include "core/tiling.h"
#include "kernels/layout.h"
#include "kernels/output_path.h"
#include "program/fused.h"
#include "program/residue_maps.h"

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
                 const KernelShape& shape, KernelParams& params, Linker& linker) {
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
  linker.scalar(params.alpha, Argument::alpha);
  linker.scalar(params.beta, Argument::beta);
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

// `readers`: the tiles that read each element of the operand. What streams by once, and what would
// be fetched for two lines at a time, comes faster without (bench/log/2026-11-22.md).
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
  if (!config.swaps_ab) {
    const bool is_narrower = has_gate && uses_tensor_memory(config);
    const int columns = is_narrower
                            ? sm100::staging_columns(shape.tile_n / 2, size_bytes(problem.d.type))
                            : shape.d_box_columns;
    return {{d_columns(problem), problem.m, problem.batch}, {columns, shape.d_box_rows}};
  }
  return {{d_rows(problem), problem.n, problem.batch},
          {has_gate ? sm90::gated_box_rows : shape.d_box_columns, shape.d_box_rows}};
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
// are the same.
void link_maps(const TensorMapKey& key, std::uint32_t rest, Argument argument, TensorMap& map,
               TensorMap& rest_map, Linker& linker) {
  linker.map(map, key, argument);
  TensorMapKey rest_key = key;
  if (rest != 0) rest_key.box[along_rows] = rest;
  linker.map(rest_map, rest_key, argument);
}

// Whether D passes through L2: of half of L2 a reader to come may hope to find much. The kernel
// that sums D comes at once.
bool streams_by(const Problem& problem, std::int64_t l2_bytes) {
  if (problem.bias_gradient.of == Summed::d) return false;
  const std::int64_t bytes =
      problem.batch * d_rows(problem) * d_columns(problem) * size_bytes(problem.d.type);
  return bytes > l2_bytes / 2;
}

void fill_maps(const Problem& problem, const KernelConfig& config, const KernelShape& shape,
               std::int64_t l2_bytes, const Provenance& from, KernelParams& params,
               Linker& linker) {
  const TileCounts tiles = cluster_tiles(problem, config, shape.tile_n);
  const bool reorders = problem.epilogue.gate != Gate::none && !uses_tensor_memory(config);
  const auto key = [&](const Matrix& matrix, Major major, std::int64_t lines, int box_rows,
                       std::int64_t readers, bool along_d) {
    const Promotion promotion = promotion_for(matrix, readers);
    return reorders && along_d
               ? gated_key(problem, matrix, shape, box_rows, promotion)
               : operand_key(matrix, major, lines, problem, shape, box_rows, promotion);
  };
  const bool in_columns = config.swaps_ab;
  if (!is_loaded_by_threads(config, problem.a, problem.batch)) {
    const TensorMapKey a =
        key(problem.a, a_major(problem), problem.m, shape.a_box_rows, tiles.n, in_columns);
    link_maps(a, rest_rows(config, a, a_major(problem), problem.m), from.a, params.a_map,
              params.a_rest_map, linker);
  }
  if (!is_loaded_by_threads(config, problem.b, problem.batch)) {
    const TensorMapKey b = key(problem.b, b_major(problem), problem.n,
                               b_box_rows(problem, config, shape), tiles.m, !in_columns);
    link_maps(b, rest_rows(config, b, b_major(problem), problem.n), from.b, params.b_map,
              params.b_rest_map, linker);
  }
  if (config.store == Store::elements) return;
  params.stores = stores_of(problem, config);
  if (params.stores != Stores::by_map) {
    params.d = strided(problem.d, true, problem.batch);  // outer: from line to line
    linker.address(params.d.data, Argument::d);
    return;
  }
  const OutputMap output = output_map(problem, config, shape);
  const auto output_key = [&](const Matrix& matrix) {
    return tensor_map_key(matrix, output.extent, output.box, shape.map_rank);
  };
  params.d_streams_by = streams_by(problem, l2_bytes);
  linker.map(params.d_map, output_key(problem.d), Argument::d);
  const bool has_map = has_c_apart(problem) && stages_c(problem, config);
  linker.map(params.c_map, output_key(has_map ? problem.c : problem.d),
             has_map ? from.c : Argument::d);
}

// Arrays of pointers to A and B that need not exist.
bool reads_no_arrays(const Problem& problem) {
  return problem.is_pointer_array && problem.scale_only();
}

void fill_strided(const Problem& problem, const Provenance& from, KernelParams& params,
                  Linker& linker) {
  params.a = strided(problem.a, a_major(problem) == Major::k, problem.batch);
  params.b = strided(problem.b, b_major(problem) == Major::k, problem.batch);
  params.d = strided(problem.d, problem.d.order == Order::row, problem.batch);
  if (problem.reads_c())
    params.c = strided(problem.c, problem.c.order == Order::row, problem.batch);
  Provenance at = from;
  // Pointers are read even where nothing is that they point to; the caller's may then be none.
  if (reads_no_arrays(problem)) {
    params.a.data = params.b.data = params.d.data;
    at.a = at.b = Argument::d;
  }
  linker.address(params.a.data, at.a);
  linker.address(params.b.data, at.b);
  linker.address(params.c.data, at.c);
  linker.address(params.d.data, Argument::d);
  if (!problem.is_pointer_array) return;
  for (StridedMatrix* matrix : {&params.a, &params.b, &params.c, &params.d})
    matrix->batch_stride = 0;  // the kernel takes each batch from its pointer
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
  const std::size_t bytes = has_residues(config) ? sizeof(ResidueParams) : sizeof(KernelParams);
  // Padding too: equal parts are then equal bytes.
  std::memset(static_cast<void*>(&params), 0, bytes);
  Linker linker(part, base, &params);
  fill_common(problem, config, choice, shape, params, linker);
  const TileCounts tiles = cluster_tiles(problem, config, shape.tile_n);
  fill_splits(problem, config, choice, tiles.total(), params);
  if (config.store == Store::elements || leaves_rest(problem, config, choice.tile_n))
    fill_strided(problem, from, params, linker);
  fill_fused(problem, config, is_transposed, from, params, linker);
  if (has_residues(config))
    fill_residues(problem, config, from, params, linker);
  else if (!is_unmapped(config))
    fill_maps(problem, config, shape, context.facts.l2_bytes, from, params, linker);

  const std::int64_t units = work_units(tiles, choice);
  Step step{choice.variant, static_cast<int>(grid_ctas(config, units, allowed)),
            config.cluster.size(), shape.threads, shape.smem_bytes};
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
