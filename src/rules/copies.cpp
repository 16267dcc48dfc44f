// SPDX-License-Identifier: Apache-2.0
#include "rules/copies.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/tiling.h"
#include "rules/arch_costs.h"
#include "rules/rejects.h"

namespace bwgemm {
namespace {

constexpr std::int64_t copied_unit_elements = 8;  // 16 bytes, of which TMA's strides are multiples
constexpr std::size_t l2_line_bytes = 128;        // which rows of a tile had better not straddle
constexpr std::int64_t counted = std::numeric_limits<std::int32_t>::max();

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return ceil_div(value, unit) * unit;
}

// Lines that begin at whole lines of L2, or else at whole sectors, if that makes them an eighth
// longer at most.
std::int64_t pitch_of(std::int64_t elements) {
  constexpr std::int64_t line = 64, sector = 16;
  for (const std::int64_t unit : {line, sector})
    if (const std::int64_t pitch = rounded_up(elements, unit); pitch - elements <= elements / 8)
      return pitch;
  return rounded_up(elements, copied_unit_elements);
}

bool can_be_counted(const CopiedLines& copied) {
  const std::int64_t units = ceil_div(copied.elements, copied_unit_elements);
  return copied.elements <= counted && copied.lines <= counted / units &&
         copied.batches <= counted / (units * copied.lines);
}

// Nothing if it cannot be copied.
std::optional<CopiedLines> copied_lines(const Matrix& matrix, std::int64_t rows,
                                        std::int64_t columns, std::int64_t batch) {
  const bool in_rows = matrix.order == Order::row;
  const std::int64_t elements = in_rows ? columns : rows;
  CopiedLines copied{elements,
                     in_rows ? rows : columns,
                     matrix.batch_stride == 0 ? 1 : batch,
                     pitch_of(elements),
                     0,
                     0};
  if (elements < copied_unit_elements || !can_be_counted(copied)) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(copied.pitch * copied.lines * copied.batches *
                                              size_bytes(matrix.type));
  copied.bytes = (bytes + l2_line_bytes - 1) / l2_line_bytes * l2_line_bytes;
  return copied;
}

bool can_be_loaded(const Matrix& matrix, std::int64_t rows, std::int64_t columns,
                   std::int64_t batch) {
  return fits_map(matrix, matrix.order == Order::row ? rows : columns, batch);
}

Matrix copied_matrix(Matrix matrix, const CopiedLines& copied, std::uintptr_t workspace) {
  matrix.data = reinterpret_cast<const void*>(workspace + copied.at);
  matrix.ld = copied.pitch;
  matrix.batch_stride = copied.batches > 1 ? copied.pitch * copied.lines : 0;
  return matrix;
}

// Read and written.
double moved_bytes(const CopiedLines& copied) {
  constexpr double element_bytes = 2;
  return 2 * element_bytes * static_cast<double>(copied.elements) *
         static_cast<double>(copied.lines * copied.batches);
}

// Parts begin where most tiles do, and as far from 16 bytes as the whole.
constexpr std::int64_t granule = 256;

bool can_be_divided(const Problem& problem, const Copies& copies) {
  return copies.a.has_value() != copies.b.has_value() && problem.batch == 1 &&
         problem.epilogue.gate == Gate::none && !problem.bias_gradient.any();
}

void advance(const void*& data, Dtype type, std::int64_t elements) {
  if (data == nullptr) return;
  data = reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(data) +
                                       static_cast<std::uintptr_t>(elements * size_bytes(type)));
}

void advance_rows(Matrix& matrix, std::int64_t rows) {
  advance(matrix.data, matrix.type, matrix.order == Order::row ? rows * matrix.ld : rows);
}

void advance_columns(Matrix& matrix, std::int64_t columns) {
  advance(matrix.data, matrix.type, matrix.order == Order::row ? columns : columns * matrix.ld);
}

void advance(Vector& vector, std::int64_t elements) {
  advance(vector.data, vector.type, elements);
}

}  // namespace

Copies copies_of(const Problem& problem, Operands operands) {
  if (operands == Operands::in_place) return {};
  if (problem.is_pointer_array || problem.scale_only() || problem.empty()) return {};
  constexpr int element_bytes = 2;
  if (size_bytes(problem.a.type) != element_bytes || problem.a.type != problem.b.type) return {};
  const std::int64_t m = problem.m, n = problem.n, k = problem.k, batch = problem.batch;
  Copies copies;
  if (!can_be_loaded(problem.a, m, k, batch)) {
    copies.a = copied_lines(problem.a, m, k, batch);
    if (!copies.a) return {};
  }
  if (!can_be_loaded(problem.b, k, n, batch)) {
    copies.b = copied_lines(problem.b, k, n, batch);
    if (!copies.b) return {};
    copies.b->at = copies.a ? copies.a->bytes : 0;
  }
  if (operands == Operands::copied) return copies;
  if (!copies.a || !copies.b) return {};
  if (operands == Operands::copied_a) return {copies.a, std::nullopt};
  copies.b->at = 0;
  return {std::nullopt, copies.b};
}

Problem with_copies(Problem problem, const Copies& copies, std::uintptr_t workspace) {
  if (copies.a) problem.a = copied_matrix(problem.a, *copies.a, workspace);
  if (copies.b) problem.b = copied_matrix(problem.b, *copies.b, workspace);
  return problem;
}

double copying_us(const Copies& copies, const DeviceFacts& facts) {
  const ArchCosts& costs = costs_of(facts.arch());
  double bytes = 0;
  for (const auto* copied : {&copies.a, &copies.b})
    if (*copied) bytes += moved_bytes(**copied);
  return costs.copying_launch_us + bytes / std::min(costs.copied_bytes_per_us * memory_speed(facts),
                                                    facts.sm_count * costs.sm_copied_bytes_per_us);
}

std::optional<Division> division_of(const Problem& problem, Operands operands,
                                    std::size_t workspace_bytes) {
  const Copies whole = copies_of(problem, operands);
  if (!whole.any()) return std::nullopt;
  if (whole.bytes() <= workspace_bytes) return Division{};
  if (!can_be_divided(problem, whole)) return std::nullopt;
  const bool of_n = whole.b.has_value();
  const std::int64_t all = of_n ? problem.n : problem.m;
  if (workspace_bytes == 0) return std::nullopt;
  const auto least = static_cast<std::int64_t>(whole.bytes() / workspace_bytes);
  std::int64_t before = all;
  for (std::int64_t wanted = std::max<std::int64_t>(2, least); wanted <= most_parts; ++wanted) {
    const std::int64_t lines = ceil_div(ceil_div(all, wanted), granule) * granule;
    const Division division{static_cast<int>(ceil_div(all, lines)), of_n, lines};
    if (division.parts == 1 || lines == before) continue;
    before = lines;
    const Copies first = copies_of(part_of(problem, division, 0), operands);
    // Lines along the divided dimension may be too short in the last part to be copied.
    const Copies last = copies_of(part_of(problem, division, division.parts - 1), operands);
    if (first.bytes() <= workspace_bytes && last.any()) return division;
  }
  return std::nullopt;
}

Problem part_of(const Problem& problem, const Division& division, int index) {
  Problem part = problem;
  if (division.parts == 1) return part;
  const std::int64_t from = index * division.lines;
  Epilogue& epilogue = part.epilogue;
  if (division.of_n) {
    part.n = std::min(division.lines, problem.n - from);
    for (Matrix* matrix : {&part.b, &part.c, &part.d, &epilogue.aux})
      advance_columns(*matrix, from);
    advance(epilogue.column_scale, from);
    advance(epilogue.column_bias, from);
  } else {
    part.m = std::min(division.lines, problem.m - from);
    for (Matrix* matrix : {&part.a, &part.c, &part.d, &epilogue.aux}) advance_rows(*matrix, from);
    advance(epilogue.row_scale, from);
    advance(epilogue.row_bias, from);
  }
  return part;
}

}  // namespace bwgemm
