// SPDX-License-Identifier: Apache-2.0
#include "gpu/row_problems.h"

#include <algorithm>
#include <cmath>

#include "kernels/rows.h"
#include "kernels/shape.h"

namespace bwgemm::test {
namespace {

constexpr int unit = 8;     // elements that always fill 16 bytes
constexpr int several = 3;  // tiles of one cluster

// Away from the multiple of a unit that it is next to: one less than a tile stays less.
std::int64_t whole_units(std::int64_t size) {
  const std::int64_t over = size % unit;
  if (over == 0) return size;
  return over <= unit / 2 || size < unit ? size + unit - over : size - over;
}

// A row's own measures, of the problem as the kernel sees it.
struct Measures {
  std::int64_t m, n, k;  // tile of one CTA
  std::int64_t cluster_m, cluster_n;
  std::int64_t ring;  // k of all stages, or of what is staged at a time
};

Measures measures(const KernelConfig& row, std::int64_t runtime_n) {
  const int tile_n = row.tile.n != 0 ? row.tile.n : static_cast<int>(runtime_n);
  const KernelShape shape = kernel_shape(row, tile_n, inputs(row.input).front());
  const std::int64_t k = row.tile.k;
  const std::int64_t staged = row.family == Family::dot ? dot::activation_positions(row, row.tile.m)
                                                        : k * (shape.stages > 0 ? shape.stages : 4);
  return {row.tile.m,
          tile_n,
          k,
          std::max(shape.cluster_tile_m, row.tile.m),
          std::max(shape.cluster_tile_n, tile_n),
          staged};
}

std::vector<std::int64_t> runtime_tiles(const KernelConfig& row) {
  if (row.tile.n != 0) return {row.tile.n};
  return {32, 64};  // output in half and in whole rows of a staging buffer
}

// Elements that an access to A, B and C may have at most, where the row leaves that to the launch.
struct Widths {
  int a, b, c;
};

std::vector<Widths> widths(Memory memory) {
  if (memory == Memory::any) return {{unit, unit, unit}, {1, 2, 4}, {4, 1, 2}, {2, 4, 1}};
  return {{unit, unit, unit}};
}

// What brings `rows` to a leading dimension that is `width` beyond a multiple of a unit.
std::int64_t extra(std::int64_t rows, int width) {
  return (width % unit + unit - rows % unit) % unit;
}

// The operands as the row asks for them, and no better aligned than for accesses of these widths.
void lay_out(GemmCase& gemm, Memory memory, const Widths& width) {
  if (memory == Memory::units) gemm.m = whole_units(gemm.m);
  gemm.lda_extra = extra(gemm.transa == BWGEMM_OP_N ? gemm.m : gemm.k, width.a);
  gemm.ldb_extra = extra(gemm.transb == BWGEMM_OP_N ? gemm.k : gemm.n, width.b);
  gemm.ldc_extra = extra(gemm.m, width.c);
  gemm.a_displacement = width.a % unit;
  gemm.b_displacement = width.b % unit;
  gemm.c_displacement = width.c % unit;
}

void add_scalars(RowProblem& problem, float alpha, float beta) {
  problem.gemm.alpha = alpha;
  problem.gemm.beta = beta;
  problem.gemm.fill_c = beta == 0 ? Fill::poison : Fill::normal;
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
  const std::int64_t over_n = is_runtime_n            ? of.n - 1
                              : memory == Memory::any ? unit * of.n
                                                      : of.cluster_n + 15;
  const std::int64_t half_way = 2 * of.k + 71;
  switch (i % 4) {
    case 0: return gemm_of(row, over_m, over_n, of.ring + 39, a, b);
    case 1:
      return is_runtime_n ? gemm_of(row, several * of.cluster_m - 1, of.n - 1, half_way, a, b)
                          : gemm_of(row, of.m - 1, several * of.cluster_n - 1, half_way, a, b);
    case 2: {
      GemmCase gemm = gemm_of(row, of.m / 2 + 7, of.n / 2 + 7, of.k - 1, a, b);
      gemm.batch = several;
      gemm.repeat_b = true;
      return gemm;
    }
    default: return gemm_of(row, over_m, over_n, 1, a, b);
  }
}

struct Bands {
  GemmCase gemm;
  int clusters;
};

// Tiles in two bands of rows that are walked together (kernels/raster.h), at least two rows each,
// in several batches: on so many clusters that first tiles lie in the second batch, and on so few
// that every cluster offers buffers of later tiles after it has stored the first one. select()
// makes bands as high as balances the operands of one wave.
Bands several_bands(const KernelConfig& row) {
  const Measures of = measures(row, 256);
  const double ratio = static_cast<double>(of.cluster_n) / static_cast<double>(of.cluster_m);
  const auto rows = static_cast<std::int64_t>(ratio < 1.5 ? 4 : std::ceil(2 * ratio) + 1);
  const auto columns = static_cast<std::int64_t>(ratio < 0.5 ? std::ceil(1 / ratio) : 2);
  const bool has_few_slices = of.n <= 64 || row.output == Output::columns;
  const auto [a, b] = direction(row, 3);
  GemmCase gemm = gemm_of(row, rows * of.cluster_m, columns * of.cluster_n, of.k, a, b);
  gemm.batch = has_few_slices ? 3 : 2;
  return {gemm, static_cast<int>(rows * columns) + 1};
}

}  // namespace

std::vector<Major> majors(Major declared) {
  if (declared != Major::any) return {declared};
  return {Major::k, Major::mn};
}

std::vector<Dtype> inputs(Input declared) {
  switch (declared) {
    case Input::bf16: return {Dtype::bf16};
    case Input::f16: return {Dtype::f16};
    case Input::any16: return {Dtype::bf16, Dtype::f16};
  }
  return {};
}

bool same_class(const KernelConfig& row, const KernelConfig& other) {
  KernelConfig alike = row;
  alike.tile = other.tile;
  alike.stages = other.stages;
  alike.ctas_per_sm = other.ctas_per_sm;
  if (row.input != Input::any16 && other.input != Input::any16) alike.input = other.input;
  // A tile or a ring that the launch chooses is other code.
  return alike == other && (row.tile.n == 0) == (other.tile.n == 0) &&
         (row.stages == 0) == (other.stages == 0);
}

bool is_representative(const KernelConfig& row) {
  const auto work = [](const KernelConfig& of) {
    return std::int64_t{of.tile.m} * of.tile.n * of.cluster.size() * (of.stages + 4);
  };
  const KernelConfig* least = &row;
  for (const KernelConfig& other : kernel_rows)
    if (same_class(row, other) && work(other) < work(*least)) least = &other;
  for (const KernelConfig& other : kernel_rows)  // the first of equals
    if (same_class(row, other) && work(other) == work(*least)) return other == row;
  return false;
}

GemmCase gemm_of(const KernelConfig& row, std::int64_t m, std::int64_t n, std::int64_t k, Major a,
                 Major b) {
  GemmCase gemm;
  gemm.k = k;
  m = std::max<std::int64_t>(m, 1), n = std::max<std::int64_t>(n, 1);
  if (row.family == Family::dot) m = std::min({m, n, std::int64_t{row.tile.m}});
  if (row.output == Output::columns) {  // C as the caller has it
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
    lay_out(gemm, memory, width);
    return problems.emplace_back(RowProblem{gemm});
  };
  std::size_t i = 0;
  for (const Dtype input : inputs(row.input))
    for (const Widths& width : widths(memory))
      for (const std::int64_t tile_n : runtime_tiles(row))
        for (const bool to_f32 : {false, true})
          for (const float beta : {0.0f, -0.5f}) {
            RowProblem& problem =
                add(several_tiles(row, memory, measures(row, tile_n), i++), input, to_f32, width);
            // Where addresses matter, first tiles elsewhere than in the corner too.
            problem.clusters = memory == Memory::any && i % 4 == 0 ? 0 : 1;
            problem.device_scalars = to_f32 != (beta != 0);
            add_scalars(problem, 2, beta);
          }
  const Widths aligned{unit, unit, unit};
  const Measures of = measures(row, runtime_tiles(row).front());
  for (const Dtype input : inputs(row.input))
    for (const bool to_f32 : {false, true}) {
      const float beta = to_f32 && input == inputs(row.input).front() ? 0.0f : -0.5f;
      const auto [a, b] = direction(row, to_f32 ? 1 : 2);
      // No product, which the kernel finds out.
      GemmCase scaled = gemm_of(row, of.cluster_m + 15, of.cluster_n + 15, of.k, a, b);
      scaled.batch = 2;
      RowProblem& scale = add(scaled, input, to_f32, aligned);
      scale.clusters = 1;
      scale.device_scalars = true;
      add_scalars(scale, 0, beta);

      RowProblem& split = add(gemm_of(row, of.m - 1, of.n, 4 * forced_splits * of.k - 8, a, b),
                              input, to_f32, aligned);
      split.splits_k = true;
      add_scalars(split, 2, beta);
    }
  for (const float beta : {0.0f, -0.5f}) {
    const auto [gemm, clusters] = several_bands(row);
    RowProblem& problem = add(gemm, inputs(row.input).back(), true, aligned);
    problem.clusters = clusters;
    add_scalars(problem, 2, beta);
  }
  return problems;
}

std::vector<RowProblem> edge_problems(const KernelConfig& row, Memory memory) {
  const Measures of = measures(row, 256);
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
    const std::vector<Dtype> types = inputs(row.input);
    const std::vector<Widths> all = widths(memory);
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
    problems.push_back(problem);
  }
  return problems;
}

std::vector<RowProblem> large_problems(const KernelConfig& row, Memory memory) {
  const Measures of = measures(row, 256);
  std::vector<RowProblem> problems;
  for (const Major a : majors(row.a))
    for (const Major b : majors(row.b)) {
      GemmCase gemm =
          gemm_of(row, 10 * of.cluster_m + 40, 14 * of.cluster_n + 288, 3 * of.ring + 40, a, b);
      gemm.input = gemm.output = inputs(row.input).front();
      lay_out(gemm, memory, {unit, unit, unit});
      problems.push_back({gemm});
    }
  return problems;
}

std::vector<RowProblem> small_problems(const KernelConfig& row, Memory memory) {
  const Measures of = measures(row, 256);
  GemmCase tile =
      gemm_of(row, of.m + 1, of.n + 1, of.k + 1, majors(row.a).front(), majors(row.b).front());
  tile.input = inputs(row.input).front();
  GemmCase batch =
      gemm_of(row, 40, 72, 2 * of.ring + 8, majors(row.a).back(), majors(row.b).back());
  batch.input = inputs(row.input).back();
  batch.batch = 2;
  std::vector<RowProblem> problems;
  for (GemmCase gemm : {tile, batch}) {
    lay_out(gemm, memory, {2, 2, 2});
    problems.push_back({gemm});
  }
  return problems;
}

}  // namespace bwgemm::test
