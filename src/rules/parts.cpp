// SPDX-License-Identifier: Apache-2.0
#include "rules/parts.h"

#include <algorithm>

#include "core/tiling.h"

namespace bwgemm {
namespace {

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
