// SPDX-License-Identifier: Apache-2.0
// What costs of all families have in common. See cost.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/problem.h"
#include "select/arch_costs.h"

namespace bwgemm {

// For each element of the product.
inline double output_bytes_per_element(const Problem& problem) {
  const Matrix& aux = problem.epilogue.aux;
  const double of_d = problem.epilogue.gate == Gate::none ? 1 : 0.5;
  return of_d * size_bytes(problem.d.type) + (problem.reads_c() ? size_bytes(problem.c.type) : 0) +
         (aux.data != nullptr ? size_bytes(aux.type) : 0);
}

// Whether an operand can be read 16 bytes at a time.
inline bool is_wide(const Matrix& matrix) {
  constexpr std::int64_t wide = 16;
  const std::int64_t wide_elements = wide / size_bytes(matrix.type);  // strides may be any number
  return reinterpret_cast<std::uintptr_t>(matrix.data) % wide == 0 &&
         matrix.ld % wide_elements == 0 && matrix.batch_stride % wide_elements == 0;
}

// Each hides most of the other, until they are equal.
inline double together_us(const ArchCosts& costs, double compute, double memory) {
  const double shorter = std::min(compute, memory), longer = std::max(compute, memory);
  const double share = shorter / longer;
  return longer + costs.unhidden * shorter * share * std::sqrt(share);
}

}  // namespace bwgemm
