// SPDX-License-Identifier: Apache-2.0
// A map starts at the 16-byte boundary at or before its class's first element. If the element is
// not at the boundary, TMA loads from the next one on.
#include "families/sm90/residue_operands.h"

#include <algorithm>
#include <cstring>

#include "core/tiling.h"
#include "device/layout.h"
#include "families/sm90/layout.h"
#include "program/tensor_map.h"
#include "rules/cost_terms.h"

namespace bwgemm::sm90 {
namespace {

constexpr int chunk_elements = swizzle_row_bytes / 2;

// Lines of 2-byte elements, as many as the operand has of m, n or k.
struct Lines {
  std::int64_t count, length;
};

std::uintptr_t line_address(const Matrix& matrix, std::int64_t line) {
  return reinterpret_cast<std::uintptr_t>(matrix.data) +
         static_cast<std::uintptr_t>(line * matrix.ld * size_bytes(matrix.type));
}

// `lines_per_box` of each class.
void fill_classes(const Matrix& matrix, const Lines& of_batch, std::int64_t batch,
                  int lines_per_box, Argument argument, ResidueOperand& operand, Linker& linker) {
  const std::int64_t behind_first = (batch - 1) * operand.batch_lines;
  const Lines lines{behind_first + of_batch.count, of_batch.length};
  const std::int64_t map_batch = operand.batch_lines != 0 ? 1 : batch;
  operand.by_class = true;
  for (int i = 0; i < residue_classes; ++i) {
    // A class without lines loads zeros: behind the only element of its map.
    const bool is_empty = i >= lines.count;
    const std::uintptr_t address = line_address(matrix, is_empty ? 0 : i);
    const std::uintptr_t before = address % unit_bytes;
    const auto elements_before = static_cast<std::int64_t>(before) / 2;
    Matrix of_class = matrix;
    of_class.data = reinterpret_cast<const void*>(address - before);
    of_class.ld = residue_classes * matrix.ld;
    const std::int64_t length = is_empty ? 1 : elements_before + lines.length;
    const std::int64_t count = is_empty ? 1 : ceil_div(lines.count - i, residue_classes);
    linker.map(
        operand.maps[i],
        tensor_map_key(of_class, {length, count, map_batch}, {chunk_elements, lines_per_box}),
        argument);
    operand.heads[i] =
        static_cast<std::uint8_t>(is_empty ? 1 : (unit_elements - elements_before) % unit_elements);
    operand.shifted |= operand.heads[i] != 0;
  }
}

void fill_operand(const Matrix& matrix, Major major, std::int64_t mn, const Problem& problem,
                  int tile_mn, bool k_by_class, Argument argument, ResidueOperand& operand,
                  Linker& linker) {
  const bool is_k_major = major == Major::k;
  const Lines lines = is_k_major ? Lines{mn, problem.k} : Lines{problem.k, mn};
  const int tile_lines = is_k_major ? tile_mn : k_block;
  if (is_k_major ? !starts_at_units(matrix) : k_by_class) {
    operand.batch_lines =
        static_cast<std::int32_t>(lines_between_batches(matrix, major, problem.batch));
    fill_classes(matrix, lines, problem.batch, tile_lines / residue_classes, argument, operand,
                 linker);
    return;
  }
  const MapBox box{chunk_elements, is_k_major ? tile_lines / residue_boxes : tile_lines};
  linker.map(operand.maps[0],
             tensor_map_key(matrix, {lines.length, lines.count, problem.batch}, box), argument);
}

// A tensor map for each class of lines that start equally far from 16 bytes, in all batches.
const char* residues_reject(const Matrix& matrix, Major major, std::int64_t lines,
                            std::int64_t batch, const MatrixTexts& texts) {
  const std::int64_t limit = tma_stride_limit_bytes / size_bytes(matrix.type);
  if (matrix.ld >= limit / residue_classes) return texts.ld_limit;
  if (batch == 1 || matrix.batch_stride == 0) return nullptr;
  if (matrix.batch_stride >= limit) return texts.batch_stride_limit;
  if (matrix.batch_stride % unit_elements != 0) {
    const std::int64_t apart = lines_between_batches(matrix, major, batch);
    return apart != 0 && apart <= (index_limit - lines - residue_classes) / batch
               ? nullptr
               : texts.batch_stride;
  }
  return matrix.batch_stride * size_bytes(matrix.type) < lines ? texts.batch_overlap : nullptr;
}

// Elements of D by ordinary stores; fitted as moving_block_us() was.
constexpr double stored_elements_per_us = 2.8e3;

}  // namespace

std::int64_t lines_between_batches(const Matrix& matrix, Major major, std::int64_t batch) {
  const bool is_apart = batch > 1 && matrix.batch_stride % unit_elements != 0;
  if (!is_apart || major != Major::k || matrix.batch_stride % matrix.ld != 0) return 0;
  return matrix.batch_stride / matrix.ld;
}

bool takes_k_by_class(const Problem& problem, const KernelConfig& config) {
  return has_residues(config) && ((config.a == Major::mn && !starts_at_units(problem.a)) ||
                                  (config.b == Major::mn && !starts_at_units(problem.b)));
}

void fill_residues(const Problem& problem, const KernelConfig& config, const Provenance& from,
                   ResidueParams& params, Linker& linker) {
  std::memset(static_cast<void*>(&params.residues_a), 0,
              sizeof(ResidueParams) - sizeof(MappedParams));
  // One order of k for both operands.
  const bool k_by_class = takes_k_by_class(problem, config);
  fill_operand(problem.a, config.a, problem.m, problem, config.tile.m, k_by_class, from.a,
               params.residues_a, linker);
  fill_operand(problem.b, config.b, problem.n, problem, config.tile.n, k_by_class, from.b,
               params.residues_b, linker);
  if (params.residues_a.batch_lines != 0) params.a_batch_step = 0;
  if (params.residues_b.batch_lines != 0) params.b_batch_step = 0;
}

const char* residues_reject(const Problem& problem, const Texts& texts) {
  if (const char* reason =
          residues_reject(problem.a, a_major(problem), lines_of_a(problem), problem.batch, texts.a))
    return reason;
  return residues_reject(problem.b, b_major(problem), lines_of_b(problem), problem.batch, texts.b);
}

double moving_block_us(const Problem& problem, const KernelConfig& config) {
  constexpr double lines_at_once = 128;
  const double columns = config.tile.n / lines_at_once;
  const double products = 0.07 + 0.37 * columns;
  const bool by_class = takes_k_by_class(problem, config);
  double moves = 0;
  const auto add = [&](const Matrix& matrix, Major major, double lines) {
    const bool is_in_place = is_wide(matrix);
    if (major == Major::k)
      moves += by_class ? 0.39 * lines : is_in_place ? 0 : 0.23 * lines;
    else
      moves += is_in_place ? 0 : 0.30 * lines;
  };
  add(problem.a, config.a, config.tile.m / lines_at_once);
  add(problem.b, config.b, columns);
  if (moves == 0) return products;
  const bool loads_all_by_class = config.a == Major::mn && config.b == Major::mn;
  if (loads_all_by_class) moves += 0.09 + 0.15 * columns;
  return std::max(products + 0.16, 0.64 + moves);
}

double scattered_us(const Problem& problem, const KernelConfig& config) {
  constexpr int segment = 64;
  const std::int64_t columns =
      std::min<std::int64_t>(config.tile.n, ceil_div(problem.n, segment) * segment);
  return static_cast<double>(config.tile.m * columns) / stored_elements_per_us;
}

// Threads load their heads, and each class has its own map.
double first_moves_us(const Problem& problem) {
  return is_wide(problem.a) && is_wide(problem.b) ? 0 : 2.5;
}

}  // namespace bwgemm::sm90
