// SPDX-License-Identifier: Apache-2.0
#include "gpu/row_problems.h"

#include <algorithm>
#include <cmath>

#include "families/facts.h"
#include "gpu/line_problems.h"
#include "gpu/row_classes.h"
#include "gpu/row_measures.h"

namespace bwgemm::test {
namespace {

constexpr int several = 3;  // tiles of one cluster

// Away from the multiple of a unit that it is next to: one less than a tile stays less.
std::int64_t whole_units(std::int64_t size) {
  const std::int64_t over = size % unit;
  if (over == 0) return size;
  return over <= unit / 2 || size < unit ? size + unit - over : size - over;
}

void add_scalars(RowProblem& problem, float alpha, float beta) {
  problem.gemm.alpha = alpha;
  problem.gemm.beta = beta;
  problem.gemm.fill_c = beta == 0 ? Fill::poison : Fill::normal;
}

// What a row cannot do is not asked of it: batches, a C to read, or fewer multiprocessors.
RowProblem within(const KernelConfig& row, RowProblem problem) {
  if (!sm90::parts_of(row).takes_matrices) {
    add_scalars(problem, problem.gemm.alpha, 0);
    if (problem.device_scalars) problem.fusing.emplace();  // nothing: a call that may have no beta
  }
  if (row.choices.map_rank == 2 || row.load == Load::units) {
    problem.gemm.batch = 1;
    problem.gemm.repeat_a = problem.gemm.repeat_b = false;
  }
  if (row.choices.schedule != Schedule::persistent) problem.clusters = 0;
  return problem;
}

// Elements that an access to A, B and C may have at most, where the row leaves that to the launch.
struct Widths {
  int a, b, c;
  bool displaced = false;  // the same lines, but classes and odd addresses are exchanged
};
constexpr Widths in_units{unit, unit, unit};

// Rows that move operands to where they belong: none of them, each, both. Odd widths have lines of
// all residue classes.
std::vector<Widths> widths(const KernelConfig& row, Memory memory) {
  if (moves_lines(row)) return {in_units, {1, unit, 3}, {unit, 3, 1}, {5, 7, 5}};
  if (row.load == Load::units)  // kernels see A and B exchanged
    return {in_units, {1, unit, 4}, {4, unit, 1}, {2, unit, 2}};
  if (has_loose_rows(row)) {  // kernels see A and B exchanged
    const int c = memory == Memory::operand_lines ? 1 : unit;
    return {in_units, {unit, 1, c}, {unit, 6, unit}, {unit, 3, c}};
  }
  if (memory == Memory::any)
    return {in_units, {1, 2, 4}, {4, 1, 2}, {2, 4, 1}, {unit, 1, 2}, {2, unit, 4}};
  if (memory == Memory::operand_lines) return {in_units, {unit, unit, 1}};
  return {in_units};
}

// What brings `rows` to a leading dimension that is `width` beyond a multiple of a unit.
std::int64_t extra(std::int64_t rows, int width) {
  return (width % unit + unit - rows % unit) % unit;
}

// Of an operand's first element, less than a unit.
int displacement(int width, int more) {
  return width == unit ? 0 : (width + more) % unit;
}

// The operands as the row asks for them, and no better aligned than for accesses of these widths.
void lay_out(GemmCase& gemm, Memory memory, const Widths& width) {
  if (memory == Memory::units) gemm.m = whole_units(gemm.m);
  gemm.lda_extra = extra(gemm.transa == BWGEMM_OP_N ? gemm.m : gemm.k, width.a);
  gemm.ldb_extra = extra(gemm.transb == BWGEMM_OP_N ? gemm.k : gemm.n, width.b);
  gemm.ldc_extra = extra(gemm.m, width.c);
  gemm.a_displacement = displacement(width.a, width.displaced ? unit / 2 : 0);
  gemm.b_displacement = displacement(width.b, width.displaced ? unit / 2 : 0);
  gemm.c_displacement = displacement(width.c, width.displaced ? 1 : 0);
}

// Fused epilogues ask anew where their tile lies, but in rows that store by elements; and kernels
// that prefetch scales ask before the products.
void fuse(const KernelConfig& row, RowProblem& problem) {
  if (row.store == Store::elements && !uses_tensor_memory(row)) return;
  problem.fusing.emplace();
  problem.fusing->activation = BWGEMM_ACTIVATION_RELU;
  problem.fusing->column_scale = true;
}

struct Direction {
  Major a, b;
};

// The i-th pair; each operand's majors meet all values of what changes with i more slowly.
Direction direction(const KernelConfig& row, std::size_t i) {
  const std::vector<Major> a = majors(row.a), b = majors(row.b);
  return {a[i % a.size()], b[(i / 2 + i / 8) % b.size()]};
}

// The i-th way to give every CTA of one cluster several tiles, with another depth each time, ends
// of k in the middle of everything among them. A tile that the launch chooses is as narrow as n;
// where any address is taken, so many columns that they are dealt out by their alignment.
GemmCase several_tiles(const KernelConfig& row, Memory memory, const Measures& of, std::size_t i) {
  const auto [a, b] = direction(row, i / 2);
  const bool is_runtime_n = row.tile.n == 0;
  const std::int64_t over_m = of.cluster_m + 15;
  const std::int64_t quarter = of.n / 4;  // the last tile ends in another one each time
  const std::int64_t over_n = is_runtime_n            ? of.n - 1
                              : moves_lines(row)      ? of.n + i / 4 % 4 * quarter + 15
                              : memory == Memory::any ? unit * of.n
                                                      : of.cluster_n + 15;
  const std::int64_t half_way = 2 * of.k + 71;
  switch ((i + i / 8) % 4) {
    case 0: return gemm_of(row, over_m, over_n, of.ring + 39, a, b);
    case 1:
      return is_runtime_n ? gemm_of(row, several * of.cluster_m - 1, of.n - 1, half_way, a, b)
                          : gemm_of(row, of.m - 1, several * of.cluster_n - 1, half_way, a, b);
    case 2: {
      GemmCase gemm = gemm_of(row, of.m / 2 + 7, of.n / 2 + 7, of.k - 1, a, b);
      gemm.batch = several;
      (has_loose_rows(row) ? gemm.repeat_a : gemm.repeat_b) = true;  // not the one that is moved
      return gemm;
    }
    default: return gemm_of(row, over_m, over_n, 1, a, b);
  }
}

// Several tiles, in several batches: on so many clusters that first tiles lie in the second batch,
// and on so few that every cluster offers buffers of later tiles after it has stored the first one.
RowProblem in_batches(const KernelConfig& row, int rows, std::int64_t columns, int clusters) {
  const Measures of = measures(row, widest(row));
  const bool has_few_boxes = of.n <= 64 || row.swaps_ab;
  const auto [a, b] = direction(row, 3);
  // Less a unit: what is unaligned becomes wider than said.
  const std::int64_t over_n = columns * of.cluster_n - (moves_lines(row) ? unit : 0);
  const bool has_few_tiles = 2 * rows * columns < 5 * clusters;  // a cluster, in one batch
  const int batch = has_few_boxes && has_few_tiles ? 3 : 2;
  const bool has_batches = row.choices.map_rank != 2;  // else as many tiles in one
  GemmCase gemm =
      gemm_of(row, rows * of.cluster_m, has_batches ? over_n : batch * over_n, of.k, a, b);
  if (has_batches) gemm.batch = batch;
  return {gemm, clusters};
}

// More clusters than one batch has tiles; outputs are taller than wide.
RowProblem several_batches(const KernelConfig& row) {
  const double ratio = width_over_height(row);
  auto rows = static_cast<int>(ratio < 1.5 ? 4 : std::ceil(2 * ratio) + 1);
  auto columns = static_cast<int>(ratio < 0.5 ? std::ceil(1 / ratio) : 2);
  if (const int most = most_clusters(row); rows * columns >= most) {
    if (ratio >= 1.5) rows = static_cast<int>(std::ceil(ratio)) + 1;
    columns = std::max(1, (most - 1) / rows);
  }
  return in_batches(row, rows, columns, rows * columns + 1);
}

// Two bands of several rows (device/raster.h): no taller than wide, since those of tall outputs
// are one tile high, more columns than a wave has, and first tiles in the second column of a band.
RowProblem several_bands(const KernelConfig& row) {
  const double ratio = width_over_height(row);
  const int wave = 2 + static_cast<int>(std::ceil(std::max(2.25 / ratio, ratio)));
  const int rows = 1 + static_cast<int>(std::lround(std::sqrt(wave * ratio)));
  return in_batches(row, rows, std::max(2, static_cast<int>(std::ceil(rows / ratio))), wave);
}

// A row of tensor memory has code of its own for each width of a tile's boxes of output, with and
// without C, where k is split, and for each order of tiles. Tiles as narrow as one box are cheap;
// among those of four, buffers are offered again within a tile. Of other rows: nothing.
std::vector<RowProblem> orders_and_splits(const KernelConfig& row) {
  std::vector<RowProblem> problems;
  if (!uses_tensor_memory(row)) return problems;
  const std::int64_t narrow = runtime_tiles(row).front(), wide = runtime_tiles(row).back();
  for (const Dtype input : inputs(row.mma))
    for (const bool to_f32 : {false, true}) {
      auto add = [&](std::int64_t tile_n, int rows, int columns, int k_blocks,
                     Major b = Major::k) -> RowProblem& {
        const Measures of = measures(row, tile_n);
        RowProblem& problem = problems.emplace_back(
            RowProblem{gemm_of(row, rows * of.cluster_m - unit, columns * of.cluster_n,
                               k_blocks * of.k - unit, Major::mn, b)});
        problem.gemm.input = input;
        problem.gemm.output = to_f32 ? Dtype::f32 : input;
        problem.tile_n = forced_tile(row, tile_n, b);
        if (k_blocks > 1) problem.splits = Splits::in_memory;
        add_scalars(problem, 2, to_f32 && input == inputs(row.mma).front() ? 0.0f : -0.5f);
        return problem;
      };
      // Second, third and fourth tiles of clusters at all kinds of places on the curve.
      RowProblem& curve = add(narrow, 3, 12, 1);
      curve.raster = Raster::hilbert;
      curve.clusters = 9;
      // Tiles of no whole boxes, whose last columns threads store, some of them outside of D:
      // each width with a type of C, with and without C, one of them with as many splits of k as
      // are added at a time, and once more where the kernel finds out that there is no product.
      const std::int64_t first = narrow + sm100::tile_n_step + (to_f32 ? narrow : 0);
      if (forced_tile(row, first, Major::k) != 0 && stores_rows_by_tma(row)) {
        for (std::int64_t tile_n = first; tile_n < widest(row); tile_n += 2 * narrow) {
          RowProblem& problem = add(tile_n, 1, 2, tile_n == first ? 16 : 1);
          problem.gemm.m -= unit;
          if (tile_n / 64 % 2 == 0) add_scalars(problem, 2, 0);
        }
        RowProblem& no_product = add(first, 1, 1, 1);
        add_scalars(no_product, 0, 2);
        no_product.device_scalars = true;
      }
      // Whole tiles, and the last wave's in two splits: of two clusters, or of a B200's 74.
      const int columns = row.choices.schedule == Schedule::persistent ? 1 : 15;
      add(narrow, 5, columns, 8).clusters = 2;
      add(narrow, 1, 1,
          4 * forced_splits(row, Splits::in_memory));  // a tile in so many, each as short as may be
      // As many columns as a thread holds of the only accumulators, in boxes of each width.
      for (const std::int64_t tile_n : {widest(row), widest(row) - narrow})
        for (const float beta : {0.0f, -0.5f})
          if (row.choices.accumulators == 1) add_scalars(add(tile_n, 1, 1, 1), 2, beta);
      if (to_f32) {
        // Bands of two rows; half as many tiles as a B200 has clusters of the largest size, 34.
        add(std::min(2 * wide, widest(row)), 2, 8, 8);
        continue;
      }
      // Several boxes of an N-major B, the last of which is used in part.
      if (const int tile_n = forced_tile(row, widest(row) - narrow, Major::mn); tile_n != 0)
        add(tile_n, 1, 2, 2, Major::mn).splits = Splits::none;
      const int wave = wave_of_two_rows(row, narrow);
      add(narrow, 2, wave + 2, 1).clusters = wave;
      add(narrow, 3, 3, 8).raster = Raster::hilbert;
      add(wide, 2, 1, 16).gemm.batch = 2;  // bands of one
    }
  return problems;
}

}  // namespace

std::vector<Major> majors(Major declared) {
  if (declared != Major::any) return {declared};
  return {Major::k, Major::mn};
}

std::vector<Dtype> inputs(MmaKind declared) {
  std::vector<Dtype> types;
  for (const MmaTypes& pair : facts_of(declared).types) types.push_back(pair.a);
  return types;
}

int forced_splits(const KernelConfig& row, Splits splits) {
  constexpr int several_splits = 9, in_flight = 96;  // sums of one thread, see sm90/split.h
  if (splits == Splits::none) return 0;
  if (splits == Splits::in_cluster)
    return std::min(facts_of(row.family).most_cluster_splits(row), 3);
  if (row.family == Family::dot)
    return 25;  // one more than in flight of a lone thread, see dot/output.h
  if (row.family != Family::cooperative) return several_splits;
  return std::max(several_splits, in_flight / sm90::warpgroups_of(row).accumulators + 1);
}

GemmCase gemm_of(const KernelConfig& row, std::int64_t m, std::int64_t n, std::int64_t k, Major a,
                 Major b) {
  GemmCase gemm;
  gemm.k = k;
  m = std::max<std::int64_t>(m, 1), n = std::max<std::int64_t>(n, 1);
  if (row.load == Load::units) {  // B is one slab, k a number of units
    n = std::min<std::int64_t>(n, row.tile.n);
    gemm.k = std::min<std::int64_t>((k + unit - 1) / unit * unit, stationary::slab_depth);
  }
  if (row.family == Family::dot) m = std::min({m, n, std::int64_t{row.tile.m}});
  if (row.swaps_ab) {  // C as the caller has it
    gemm.m = m, gemm.n = n;
    gemm.transa = a == Major::k ? BWGEMM_OP_T : BWGEMM_OP_N;
    gemm.transb = b == Major::k ? BWGEMM_OP_N : BWGEMM_OP_T;
  } else {  // its transpose, whose operands are exchanged
    gemm.m = n, gemm.n = m;
    gemm.transa = b == Major::k ? BWGEMM_OP_T : BWGEMM_OP_N;
    gemm.transb = a == Major::k ? BWGEMM_OP_N : BWGEMM_OP_T;
  }
  return gemm;
}

std::vector<RowProblem> covering_problems(const KernelConfig& row, Memory memory) {
  std::vector<RowProblem> problems;
  auto add = [&](GemmCase gemm, Dtype input, bool to_f32, const Widths& width) -> RowProblem& {
    gemm.input = input;
    gemm.output = to_f32 ? Dtype::f32 : input;
    gemm.fill = Fill::integers;
    gemm.seed = problems.size() + 1;
    // No access crosses the end of a column of C.
    if (memory == Memory::any)
      gemm.m = std::max<std::int64_t>(gemm.m / unit, 1) * unit + width.c % unit;
    if (row.load == Load::units && gemm.m > row.tile.n) gemm.m -= unit;
    lay_out(gemm, memory, width);
    return problems.emplace_back(RowProblem{gemm});
  };
  std::size_t i = 0;
  for (const Dtype input : inputs(row.mma))
    for (Widths width : widths(row, memory))
      for (const std::int64_t tile_n : runtime_tiles(row))
        for (const bool to_f32 : {false, true})
          for (const float beta : {0.0f, -0.5f}) {
            width.displaced = (moves_lines(row) || has_loose_rows(row)) && i % 2 != 0;
            RowProblem& problem =
                add(several_tiles(row, memory, measures(row, tile_n), i++), input, to_f32, width);
            problem.tile_n = forced_tile(row, tile_n, direction(row, (i - 1) / 2).b);
            // Where addresses matter, first tiles elsewhere than in the corner too.
            const bool on_all = memory == Memory::any && !moves_lines(row) && i % 4 == 0;
            problem.clusters = on_all ? 0 : 1;
            problem.device_scalars = to_f32 != (beta != 0);
            add_scalars(problem, 2, beta);
          }
  const Measures of = measures(row, runtime_tiles(row).front());
  if (row.family == Family::stationary && row.load == Load::threads)
    for (std::int64_t k = unit - 1; k < stationary::slab_depth; k += stationary::step_depth)
      for (const std::int64_t m : {2, 10})  // A ends inside of a unit, in either row of a lane
        add(gemm_of(row, m, unit, k, Major::k, Major::k), inputs(row.mma).front(), false, in_units);
  // Whether threads bring what is unaligned to where it belongs.
  const bool is_moved = moves_lines(row) || has_loose_rows(row);
  const Widths moved = widths(row, memory).back();
  for (const Dtype input : inputs(row.mma))
    for (const bool to_f32 : {false, true}) {
      const float beta = to_f32 && input == inputs(row.mma).front() ? 0.0f : -0.5f;
      const auto [a, b] = direction(row, to_f32 ? 1 : 2);
      // No product, which the kernel finds out.
      GemmCase scaled = gemm_of(row, of.cluster_m + 15, of.cluster_n + 15, of.k, a, b);
      scaled.batch = 2;
      const Widths& width = is_moved && to_f32 ? moved : in_units;
      RowProblem& scale = add(scaled, input, to_f32, width);
      scale.clusters = 1;
      scale.device_scalars = true;
      add_scalars(scale, 0, beta);

      if (uses_tensor_memory(row)) continue;
      RowProblem& split = add(gemm_of(row, of.m - unit, of.n,
                                      4 * forced_splits(row, Splits::in_memory) * of.k - 8, a, b),
                              input, to_f32, width);
      split.splits = Splits::in_memory;
      add_scalars(split, 2, beta);
      if (to_f32) fuse(row, split);
      if (row.family == Family::cooperative && !row.ping_pong) {
        // Whole tiles, the last wave's in splits.
        const std::int64_t one_tile = of.n - (moves_lines(row) ? unit : 0);  // as it becomes wider
        const auto of_tail = gemm_of(row, 3 * of.cluster_m - unit, one_tile, 8 * of.k - unit, a, b);
        RowProblem& tail = add(of_tail, input, to_f32, width);
        tail.splits = Splits::in_memory;
        tail.clusters = 2;
        add_scalars(tail, 2, beta);
      }
      if (facts_of(row.family).most_cluster_splits(row) == 1) continue;
      // Splits that leave the ring's last slots empty, and longer ones.
      const int splits = forced_splits(row, Splits::in_cluster);
      const int depth = splits * (to_f32 ? row.stages + 1 : 4);
      RowProblem& clusters = add(gemm_of(row, of.cluster_m + unit, of.n, depth * of.k - unit, a, b),
                                 input, to_f32, width);
      clusters.splits = Splits::in_cluster;
      add_scalars(clusters, 2, beta);
    }
  for (const Raster raster : {Raster::grouped, Raster::snake})
    for (const float beta : {0.0f, -0.5f}) {
      if (raster != Raster::grouped && !uses_tensor_memory(row)) continue;
      for (const RowProblem& tiles : {several_batches(row), several_bands(row)}) {
        if (tiles.clusters > most_clusters(row)) continue;  // no card has bands of several rows
        RowProblem& problem =
            add(tiles.gemm, inputs(row.mma).back(), true, is_moved && beta != 0 ? moved : in_units);
        problem.clusters = tiles.clusters;
        problem.tile_n = forced_tile(row, widest(row), direction(row, 3).b);
        problem.raster = raster;
        add_scalars(problem, 2, beta);
        if (beta != 0) fuse(row, problem);
        RowProblem other = problem;
        if (beta == 0 && sm90::parts_of(row).stores_lines) {  // another walk over the tiles
          ++other.gemm.ldc_extra;
          problems.push_back(other);
        } else if (beta != 0 && row.ping_pong) {  // scales are prefetched in each main loop
          other.gemm.input = inputs(row.mma).front();
          problems.push_back(other);
        }
      }
    }
  for (const RowProblem& wanted : orders_and_splits(row)) {
    const bool to_f32 = wanted.gemm.output == Dtype::f32;
    RowProblem& problem =
        add(wanted.gemm, wanted.gemm.input, to_f32, is_moved && to_f32 ? moved : in_units);
    const GemmCase gemm = problem.gemm;
    problem = wanted;
    problem.gemm = gemm;
    if (gemm.input != inputs(row.mma).front() || gemm.output != gemm.input) continue;
    RowProblem fused = problem;  // with a writer of its own
    if (row.tile.n == 0 && sm100::leaves_rest(row, fused.tile_n))
      continue;  // fused_problems() has some
    fuse(row, fused);
    problems.push_back(fused);
  }
  if (sm90::parts_of(row).stores_from_registers) {
    // Where beta may turn out to be zero D leaves through staging buffers, too.
    for (RowProblem problem : std::vector(problems)) {
      if (problem.gemm.beta != 0 || problem.device_scalars) continue;
      problem.device_scalars = true, problem.fusing.reset();
      problems.push_back(problem);
    }
  }
  for (const RowProblem& lines : line_problems(row)) problems.push_back(lines);
  // So many tiles for a cluster that it moves one while it loads another, or that both of its
  // warpgroups have several.
  for (const float beta : {0.0f, -0.5f}) {
    if (!row.ping_pong && (!is_moved || beta != 0)) continue;
    GemmCase gemm = several_batches(row).gemm;
    gemm.batch = 3;
    RowProblem& problem = add(gemm, inputs(row.mma).back(), false, is_moved ? moved : in_units);
    problem.clusters = 3;
    add_scalars(problem, 2, beta);
  }
  for (RowProblem& problem : problems) problem = within(row, problem);
  return problems;
}

std::vector<RowProblem> edge_problems(const KernelConfig& row, Memory memory) {
  const Measures of = measures(row, widest(row));
  const std::int64_t depths[] = {
      1,       8,           of.k - 1,        of.k,       of.k + 1, of.ring - 8,
      of.ring, of.ring + 1, 2 * of.ring + 8, 3 * of.ring};
  struct Size {
    std::int64_t m, n;
  };
  std::vector<Size> sizes;
  for (const std::int64_t m : {std::int64_t{1}, of.m - 1, of.m, of.m + 1})
    for (const std::int64_t n : {std::int64_t{1}, of.n - 1, of.n, of.n + 1})
      sizes.push_back({m, n});
  sizes.push_back({of.cluster_m + of.m / 2, of.n});
  sizes.push_back({of.m, of.cluster_n + of.n / 2});
  sizes.push_back({2 * of.cluster_m + 8, 96});
  sizes.push_back({33, 2 * of.cluster_n + 40});

  std::vector<RowProblem> problems;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto [a, b] = direction(row, i);
    const std::vector<Dtype> types = inputs(row.mma);
    const std::vector<Widths> all = widths(row, memory);
    RowProblem problem{gemm_of(row, sizes[i].m, sizes[i].n,
                               depths[(3 * i + i / std::size(depths)) % std::size(depths)], a, b)};
    GemmCase& gemm = problem.gemm;
    gemm.input = types[(i / 4) % types.size()];
    gemm.output = (i + i / 8) % 2 != 0 ? Dtype::f32 : gemm.input;
    gemm.seed = i + 1;
    if (i % 5 == 4) {
      gemm.batch = 3;
      gemm.stride_extra = 64;
      gemm.repeat_a = i % 2 != 0;
      gemm.repeat_b = i % 3 == 0;
    }
    lay_out(gemm, memory, all[i % all.size()]);
    add_scalars(problem, -0.5f, (i / 2) % 2 != 0 ? 1.0f : 0.0f);
    if (row.tile.n == 0) {  // all tiles in turn, legal or not
      constexpr auto step = static_cast<std::size_t>(sm100::tile_n_step);
      const auto tile_n = static_cast<std::int64_t>(step * (1 + 3 * i % (widest(row) / step)));
      problem.tile_n = forced_tile(row, tile_n, b);
      problem.raster = static_cast<Raster>(i % 3);
    }
    problems.push_back(within(row, problem));
  }
  return problems;
}

std::vector<RowProblem> large_problems(const KernelConfig& row, Memory memory) {
  const Measures of = measures(row, widest(row));
  std::vector<RowProblem> problems;
  for (const Major a : majors(row.a))
    for (const Major b : majors(row.b)) {
      GemmCase gemm =
          gemm_of(row, 10 * of.cluster_m + 40, 14 * of.cluster_n + 288, 3 * of.ring + 40, a, b);
      const std::vector<Dtype> types = inputs(row.mma);
      gemm.input = gemm.output = types[problems.size() % types.size()];
      lay_out(gemm, memory, {unit, unit, unit});
      problems.push_back({gemm});
    }
  return problems;
}

std::vector<RowProblem> small_problems(const KernelConfig& row, Memory memory) {
  const Measures of = measures(row, widest(row));
  GemmCase tile =
      gemm_of(row, of.m + 1, of.n + 1, of.k + 1, majors(row.a).front(), majors(row.b).front());
  tile.input = inputs(row.mma).front();
  GemmCase batch =
      gemm_of(row, 40, 72, 2 * of.ring + 8, majors(row.a).back(), majors(row.b).back());
  batch.input = inputs(row.mma).back();
  batch.batch = 2;
  std::vector<RowProblem> problems;
  for (GemmCase gemm : {tile, batch}) {
    lay_out(gemm, memory, memory == Memory::any ? Widths{2, 2, 2} : widths(row, memory).back());
    problems.push_back(within(row, {gemm}));
  }
  return problems;
}

}  // namespace bwgemm::test
