// SPDX-License-Identifier: Apache-2.0
#include "gpu/line_problems.h"

#include "families/sm90/parts.h"

namespace bwgemm::test {
namespace {

// To the next multiple of 16 bytes.
std::int64_t to_unit(std::int64_t elements) {
  constexpr std::int64_t unit = 8;
  return (unit - elements % unit) % unit;
}

// What problems of lines and of pieces have in common. `extent`: of D's lines; what is fused takes
// pairs, and so an even one.
RowProblem output_problem(const GemmCase& product, Dtype input, Dtype output, int extent,
                          int displacement, Splits splits) {
  RowProblem problem{product};
  GemmCase& gemm = problem.gemm;
  const bool is_split = splits != Splits::none;
  gemm.batch = is_split ? 1 : 2;
  gemm.input = input;
  gemm.output = output;
  gemm.fill = Fill::integers;
  gemm.fill_c = Fill::poison;
  gemm.seed = static_cast<std::uint64_t>(extent);
  gemm.alpha = 2;
  gemm.lda_extra = to_unit(gemm.transa == BWGEMM_OP_N ? gemm.m : gemm.k);
  gemm.ldb_extra = to_unit(gemm.transb == BWGEMM_OP_N ? gemm.k : gemm.n);
  gemm.c_displacement = displacement;
  problem.clusters = is_split ? 0 : 1;
  problem.splits = splits;
  if (!is_split && extent % 2 == 0) {
    problem.fusing.emplace();
    problem.fusing->activation = BWGEMM_ACTIVATION_RELU;
    problem.fusing->column_scale = true;
  }
  return problem;
}

constexpr int lines_behind = 13;  // the first tile, in the other direction

// The fewest blocks of k that the splits need.
int least_blocks(const KernelConfig& row, Splits splits) {
  return splits == Splits::none ? 1 : 4 * forced_splits(row, splits);
}

struct LineLayout {
  int extra, displacement;  // of C's leading dimension beyond units, and of its first element
  int left;                 // elements of its lines behind the first tile
  int k_blocks = 0;         // 0: as few as there may be
  Dtype input = Dtype::bf16;
};

// Up to the first number, consumers may store lines themselves. From the second on they do not.
constexpr int short_k_blocks = 8, long_k_blocks = 9;

RowProblem problem_of(const KernelConfig& row, const LineLayout& layout, bool to_f32,
                      Splits splits) {
  const bool in_columns = row.swaps_ab;
  const std::int64_t k =
      row.tile.k * (layout.k_blocks != 0 ? layout.k_blocks : least_blocks(row, splits));
  RowProblem problem = output_problem(
      gemm_of(row, row.tile.m + (in_columns ? layout.left : lines_behind),
              row.tile.n + (in_columns ? lines_behind : layout.left), k, row.a, row.b),
      layout.input, to_f32 ? Dtype::f32 : layout.input, layout.left, layout.displacement, splits);
  problem.gemm.ldc_extra = to_unit(problem.gemm.m) + layout.extra;
  return problem;
}

// Rows of D without gaps, of fewer columns than a tile: words or halves of words, and pieces that
// begin and end inside of units. The last piece has some of a warp's rows.
struct PieceLayout {
  int columns, displacement;  // of D, and of its first element
  Dtype input = Dtype::bf16;
};

RowProblem piece_problem(const KernelConfig& row, const PieceLayout& layout, Splits splits) {
  return output_problem(gemm_of(row, row.tile.m + lines_behind, layout.columns,
                                row.tile.k * least_blocks(row, splits), row.a, row.b),
                        layout.input, layout.input, layout.columns, layout.displacement, splits);
}

void add_piece_problems(const KernelConfig& row, std::vector<RowProblem>& problems) {
  const int columns = row.tile.n - 2;  // as many as pieces may have
  const PieceLayout words{columns, 0}, halves{columns, 1, Dtype::f16}, odd{columns - 1, 6},
      few{3, 7};
  for (const PieceLayout& layout : {words, halves, odd, few})
    problems.push_back(piece_problem(row, layout, Splits::none));
  if (!row.ping_pong) problems.push_back(piece_problem(row, odd, Splits::in_memory));
  if (sm90::parts_of(row).can_reduce_in_cluster())
    problems.push_back(piece_problem(row, words, Splits::in_cluster));
}

}  // namespace

std::vector<RowProblem> line_problems(const KernelConfig& row) {
  std::vector<RowProblem> problems;
  const sm90::Parts parts = sm90::parts_of(row);
  if (parts.stores_pieces()) add_piece_problems(row, problems);
  if (!parts.stores_lines && !parts.stores_from_registers) return problems;
  constexpr LineLayout in_turn{1, 1, 5}, alike{2, 1, 14}, ends{0, 0, 1, 0, Dtype::f16};
  for (const bool to_f32 : {false, true}) {
    for (const LineLayout& layout : {in_turn, alike, ends})
      problems.push_back(problem_of(row, layout, to_f32, Splits::none));
    if (parts.stores_from_staging) {
      std::vector<LineLayout> all_by_role{in_turn, ends};
      if (row.ping_pong) all_by_role.push_back(alike);  // others have it with splits
      for (LineLayout& by_role : all_by_role) {
        by_role.k_blocks = long_k_blocks;
        problems.push_back(problem_of(row, by_role, to_f32, Splits::none));
      }
      LineLayout split = in_turn;
      split.k_blocks = short_k_blocks;
      if (!row.ping_pong) problems.push_back(problem_of(row, split, to_f32, Splits::in_memory));
    }
    // Splits hand over the same lines.
    if (!row.ping_pong)
      problems.push_back(problem_of(row, to_f32 ? in_turn : alike, to_f32, Splits::in_memory));
    if (parts.can_reduce_in_cluster())
      problems.push_back(problem_of(row, to_f32 ? alike : in_turn, to_f32, Splits::in_cluster));
  }
  return problems;
}

}  // namespace bwgemm::test
