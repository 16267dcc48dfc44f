// SPDX-License-Identifier: Apache-2.0
// Terms of the cost model that families share. See families/cost.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "core/tiling.h"
#include "rules/arch_costs.h"
#include "rules/family.h"

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

// Whether pairs of neighbours lie at multiples of 4 bytes, in every batch.
inline bool lies_in_pairs(const Problem& problem, const Matrix& matrix) {
  constexpr int pair_bytes = 4;
  return begins_at_multiples(matrix, pair_bytes) &&
         (problem.batch == 1 || matrix.batch_stride % 2 == 0);
}

// Each hides most of the other, until they are equal.
inline double together_us(const ArchCosts& costs, double compute, double memory) {
  const double shorter = std::min(compute, memory), longer = std::max(compute, memory);
  const double share = shorter / longer;
  return longer + costs.unhidden * shorter * share * std::sqrt(share);
}

inline double memory_us(const Problem& problem, const DeviceFacts& facts, const ArchCosts& costs) {
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.scale_only() ? 0 : problem.k);
  const auto batch = static_cast<double>(problem.batch);
  const double a_batch = problem.a.batch_stride == 0 ? 1 : batch;
  const double b_batch = problem.b.batch_stride == 0 ? 1 : batch;
  const double bytes = (a_batch * m * k + b_batch * k * n) * size_bytes(problem.a.type) +
                       batch * m * n * output_bytes_per_element(problem);
  return bytes / (costs.memory_bytes_per_us * memory_speed(facts));
}

// All that a kernel takes: compute and memory together, between launch and merge.
inline double total_us(const Prediction& of, const ArchCosts& costs, double launch_us,
                       double compute_us, double merge_us) {
  return launch_us + (of.config.cluster.size() > 1 ? costs.cluster_us : 0) +
         together_us(costs, compute_us, memory_us(of.problem, of.facts, costs)) + merge_us;
}

// The last CTA of a split tile adds the sums that all have left in the workspace.
inline double workspace_merge_us(const ArchCosts& costs, double partial_bytes, int splits,
                                 double partials) {
  return costs.merge_us +
         splits * (costs.merge_split_us + partial_bytes / costs.merge_bytes_per_us) +
         partials * partial_bytes / costs.partials_bytes_per_us;
}

// CTAs that share rows or columns begin together and drift apart as they go. What one asks for long
// after another is no longer in L2, if not all operands are, and a memory that is too slow for it
// holds all of them up.
inline double drifted_us(const Problem& problem, const DeviceFacts& facts, const ArchCosts& costs,
                         double compute_us, double delivered_bytes) {
  const double operand_bytes = static_cast<double>(problem.m + problem.n) *
                               static_cast<double>(problem.k) * size_bytes(problem.a.type);
  const bool fit_l2 = operand_bytes <= static_cast<double>(facts.l2_bytes);
  if (fit_l2 || costs.drift_us == 0) return compute_us;
  const double share = std::min(1.0, compute_us / costs.drift_us);
  return std::max(compute_us,
                  share * delivered_bytes / (costs.memory_bytes_per_us * memory_speed(facts)));
}

}  // namespace bwgemm
