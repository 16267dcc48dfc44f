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

// Whether rows of D share sectors of memory, and D is so large that the two parts of such a sector
// leave L2 one by one. The parts of a sector of a smaller D meet there (bench/log/2026-11-29.md).
inline bool tears_sectors(const Problem& problem) {
  constexpr std::int64_t sector_bytes = 32, kept_bytes = 8'000'000;
  const std::int64_t row_bytes = problem.n * size_bytes(problem.d.type);
  return row_bytes % sector_bytes != 0 && row_bytes * problem.m * problem.batch >= kept_bytes;
}

// Whether consumers store whole rows of D as pieces of memory: D's rows follow each other without a
// gap, and TMA cannot store them or would tear sectors. A fused epilogue takes whole pairs of
// columns. Rows of 2 bytes, and of about 128, are left out: what the lanes of a warp write at once
// of eight such rows would meet in the same banks of shared memory.
inline bool stores_pieces(const Problem& problem, const KernelConfig& config, const Parts& parts) {
  const Epilogue& epilogue = problem.epilogue;
  if (!parts.stores_pieces() || problem.reads_c() || epilogue.gate != Gate::none ||
      epilogue.aux.data != nullptr)
    return false;
  constexpr std::int64_t element_bytes = 2, unit_bytes = 16, bank_elements = 64;
  if (size_bytes(problem.d.type) != element_bytes || problem.d.ld != problem.n ||
      problem.n > config.tile.n || (epilogue.any() && problem.n % 2 != 0) ||
      (problem.n + 1) % bank_elements <= 2)
    return false;
  // The image begins inside of a unit, and has all of its last unit.
  const std::int64_t row_bytes = element_bytes * problem.n;
  if (piece_rows * row_bytes + 2 * unit_bytes > parts.piece_image_bytes) return false;
  return row_bytes % unit_bytes != 0 || tears_sectors(problem) ||
         !fits_map(problem.d, problem.m, problem.batch);
}

// How D leaves a kernel that does not store by elements.
inline Stores stores_of(const Problem& problem, const KernelConfig& config, const Parts& parts) {
  if (stores_from_registers(problem, parts)) return Stores::from_registers;
  if (stores_pieces(problem, config, parts)) return Stores::in_pieces;
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
