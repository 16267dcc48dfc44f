// SPDX-License-Identifier: Apache-2.0
// FamilyFunctions of the Hopper kernels (rules/family.h) as their files share them, and how D
// leaves such a kernel.
#pragma once

#include "core/tiling.h"
#include "device/params.h"
#include "families/sm90/derived.h"
#include "rules/family.h"
#include "rules/rejects.h"

namespace bwgemm::sm90 {

// In cost.cpp.
double predicted_us(const Prediction& of);
WithoutSplits without_splits(const Problem& problem, const KernelConfig& config, int tile_n);

// All below: for a kernel that can serve the problem, which is as the kernel sees it.

// Whether D is stored line by line: no map takes D, or lines of D end inside of the 16 bytes up to
// which TMA would write. Such a kernel loads no C and knows no gate. A fused epilogue that stores
// rows takes whole pairs of columns.
inline bool stores_lines(const Problem& problem, const KernelConfig& config, const Parts& parts) {
  if (!parts.stores_lines) return false;
  if (problem.reads_c() || problem.epilogue.gate != Gate::none) return false;
  const bool in_columns = config.swaps_ab;
  if (!in_columns && problem.epilogue.any() && problem.n % 2 != 0) return false;
  const std::int64_t length = in_columns ? problem.m : problem.n;
  return length * size_bytes(problem.d.type) % tma_alignment_bytes != 0 ||
         !fits_map(problem.d, in_columns ? problem.n : problem.m, problem.batch);
}

// Whether consumers store D from their registers. Such consumers read no C and no aux, and know no
// gate.
inline bool stores_from_registers(const Problem& problem, const Parts& parts) {
  return parts.stores_from_registers && !problem.reads_c() && problem.epilogue.gate == Gate::none &&
         problem.epilogue.aux.data == nullptr;
}

// How D leaves a kernel that does not store by elements.
inline Stores stores_of(const Problem& problem, const KernelConfig& config, const Parts& parts) {
  if (stores_from_registers(problem, parts)) return Stores::from_registers;
  if (!stores_lines(problem, config, parts)) return Stores::by_map;
  // Where k is longer, products hide the stores of the output role. Timed up to 300; 512 is
  // assumed.
  constexpr std::int64_t short_k = 512;
  const bool has_aux = problem.epilogue.aux.data != nullptr;
  return parts.stores_from_staging && problem.k <= short_k && !has_aux ? Stores::from_staging
                                                                       : Stores::by_lines;
}
inline Stores stores_of(const Problem& problem, const KernelConfig& config) {
  return stores_of(problem, config, derived(config).parts);
}

}  // namespace bwgemm::sm90
