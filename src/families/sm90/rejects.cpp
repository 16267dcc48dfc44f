// SPDX-License-Identifier: Apache-2.0
#include "device/residues.h"
#include "families/sm90/functions.h"
#include "families/sm90/residue_maps.h"
#include "families/sm90/stores.h"
#include "rules/output_path.h"

namespace bwgemm::sm90 {
namespace {

const char* operands_reject(const Problem& problem, const Texts& texts) {
  if (const char* reason = tma_rejects(problem.a, lines_of_a(problem), problem.batch, texts.a))
    return reason;
  return tma_rejects(problem.b, lines_of_b(problem), problem.batch, texts.b);
}

const char* gate_rejects(const Problem& problem, const KernelConfig& config) {
  constexpr std::int64_t group = 16;  // columns: x, then their y
  if (problem.epilogue.gate == Gate::none) return nullptr;
  // Texts name operands and columns as the problem is given: D in rows.
  const bool in_columns = config.swaps_ab;
  const Matrix& operand = in_columns ? problem.a : problem.b;
  if (config.store == Store::elements || (in_columns ? config.a : config.b) != Major::k)
    return "a gate needs columns of B contiguous along k, and D stored by TMA";
  if (contiguous_extent(problem) % group != 0)
    return "with a gate the product must have whole groups of 16 columns";
  if (problem.epilogue.aux.data != nullptr) return "stores no aux of a gate";
  if (!can_gate(config)) return "half of its tile is not made of whole boxes";
  const std::int64_t limit = tma_stride_limit_bytes / size_bytes(operand.type);
  return operand.ld > limit / contiguous_extent(problem) ? "B is too large for the map of a gate"
                                                         : nullptr;
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

const char* residues_reject(const Problem& problem, const Texts& texts) {
  if (const char* reason =
          residues_reject(problem.a, a_major(problem), lines_of_a(problem), problem.batch, texts.a))
    return reason;
  return residues_reject(problem.b, b_major(problem), lines_of_b(problem), problem.batch, texts.b);
}

}  // namespace

const char* rejects(const Problem& problem, const KernelConfig& config, const Texts& texts) {
  if (const char* reason = order_rejects(problem, config)) return reason;
  if (!takes_matrices(config) && (problem.reads_c() || problem.epilogue.aux.data != nullptr))
    return "stores some columns twice, and so takes neither C nor aux";
  if (problem.is_pointer_array) return "takes no arrays of pointers";
  if (const char* reason = gate_rejects(problem, config)) return reason;
  if (const char* reason = fused_matrices_reject(problem, config)) return reason;
  const ClusterTile tile = cluster_tile(config, config.tile.n);
  if (const char* reason = size_rejects(problem, config, tile.m, tile.n, texts)) return reason;
  if (const char* reason = tile_rejects(problem, tile.m, tile.n)) return reason;
  if (has_residues(config)) return residues_reject(problem, texts);
  if (const char* reason = operands_reject(problem, texts)) return reason;
  return stores_of(problem, config) == Stores::by_map ? output_map_rejects(problem, config)
                                                      : nullptr;
}

}  // namespace bwgemm::sm90
