// SPDX-License-Identifier: Apache-2.0
#include "families/sm100/facts.h"
#include "families/sm100/functions.h"
#include "rules/output_path.h"

namespace bwgemm::sm100 {
namespace {

const char* operands_reject(const Problem& problem, const KernelConfig& config,
                            const Texts& texts) {
  const auto reason_of = [&](const Matrix& matrix, std::int64_t outer, const MatrixTexts& of) {
    return is_loaded_by_threads(config, matrix, problem.batch)
               ? nullptr
               : tma_rejects(matrix, outer, problem.batch, of);
  };
  if (const char* reason = reason_of(problem.a, lines_of_a(problem), texts.a)) return reason;
  return reason_of(problem.b, lines_of_b(problem), texts.b);
}

// The halves of a stacked gate are loaded apart.
const char* gate_rejects(const Problem& problem, const KernelConfig& config) {
  if (problem.epilogue.gate == Gate::none) return nullptr;
  if (!can_gate(config)) return "has no gate: D's columns are rows of its tile";
  const bool begins_inside =
      problem.epilogue.gate == Gate::stacked && b_major(problem) == Major::mn &&
      problem.n / 2 * size_bytes(problem.b.type) % tma_alignment_bytes != 0 &&
      !is_loaded_by_threads(config, problem.b, problem.batch);
  return begins_inside ? "the second half of a row of B does not start at 16 bytes" : nullptr;
}

// The narrowest run-time tile makes the most tiles.
const char* tiles_reject(const Problem& problem, const KernelConfig& config, const Texts& texts) {
  const int widest = max_tile_n(config) * config.cluster.n;
  const int narrowest = columns_at_once(config) * config.cluster.n;
  const int tile_m = cluster_tile(config, narrowest).m;
  if (const char* reason = size_rejects(problem, config, tile_m, widest, texts)) return reason;
  if (const char* reason = tile_rejects(problem, tile_m, narrowest)) return reason;
  const bool is_too_much_for_grid =
      config.choices.schedule != Schedule::persistent &&
      tile_counts(problem, tile_m, narrowest).total() > index_limit / config.cluster.size();
  return is_too_much_for_grid ? "more CTAs than a grid has" : nullptr;
}

}  // namespace

const char* rejects(const Problem& problem, const KernelConfig& config, const Texts& texts) {
  if (const char* reason = order_rejects(problem, config)) return reason;
  if (problem.is_pointer_array) return "takes no arrays of pointers";
  if (const char* reason = gate_rejects(problem, config)) return reason;
  if (const char* reason = fused_matrices_reject(problem, config)) return reason;
  if (config.choices.map_rank == 2 && problem.batch > 1)
    return "its tensor maps have two dimensions: no batches";
  if (const char* reason = tiles_reject(problem, config, texts)) return reason;
  if (const char* reason = operands_reject(problem, config, texts)) return reason;
  return config.store == Store::tma ? output_map_rejects(problem, config) : nullptr;
}

}  // namespace bwgemm::sm100
