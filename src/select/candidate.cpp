// SPDX-License-Identifier: Apache-2.0
// Judging a variant: whether it can serve, and which widths of tile, splits and operands take it
// the least time.
#include "select/candidate.h"

#include <algorithm>
#include <limits>

#include "rules/copies.h"
#include "rules/rejects.h"

namespace bwgemm {
namespace {

// Variants that only show a technique.
const char* only_when_forced(const KernelConfig& config, const SelectOptions& options) {
  if (!facts_of(config.family).shows_technique(config) || options.forced.has_kernel() ||
      options.pick)
    return nullptr;
  return "shows a technique: only when forced";
}

const char* target_rejects(const KernelConfig& config, const DeviceFacts& usable) {
  const bool may_use_all = usable.ctas_per_sm != 1;  // as limited() says
  if (may_use_all || config.choices.schedule == Schedule::persistent) return nullptr;
  return "its clusters spread over all multiprocessors, but the call may not";
}

const char* row_rejects(const Problem& given, const Problem& seen, const DeviceFacts& usable,
                        const KernelConfig& config, const SelectOptions& options) {
  if (const char* reason = rejects(given, seen, usable, config)) return reason;
  if (const char* reason = target_rejects(config, usable)) return reason;
  if (options.batch_invariant)
    if (const char* reason = batch_invariance_rejects(given, config)) return reason;
  return only_when_forced(config, options);
}

// The most splits of so many tiles that can be the CTAs of clusters; 1: none can.
int most_in_cluster(const KernelConfig& config, const DeviceFacts& facts, std::int64_t tiles) {
  int ctas = facts_of(config.family).most_cluster_splits(config);
  while (ctas > 1 && clusters_that_fit(facts, ctas) < tiles) --ctas;
  return ctas;
}

}  // namespace

// Transposing exchanges operands and the orders of both: what lies along k still does.
PreFilter::PreFilter(const Problem& given, const DeviceFacts& facts)
    : given_(given),
      arch_(facts.arch()),
      a_{a_major(given),
         fits_map(given.a, a_major(given) == Major::k ? given.m : given.k, given.batch)},
      b_{b_major(given),
         fits_map(given.b, b_major(given) == Major::k ? given.n : given.k, given.batch)} {}

DeviceFacts limited(const DeviceFacts& facts, const SelectOptions& options) {
  DeviceFacts usable = facts;
  usable.sm_count = usable_sms(facts, options.sm_count_target);
  if (usable.sm_count < facts.sm_count) usable.ctas_per_sm = 1;
  return usable;
}

const char* batch_invariance_rejects(const Problem& problem, const KernelConfig& config) {
  return functions_of(config).batch_invariance_rejects(seen_by(config, problem), config);
}

const char* row_rejects(const Source& source, const DeviceFacts& usable, const KernelConfig& config,
                        const SelectOptions& options) {
  const char* const reason =
      row_rejects(source.problem, source.seen_by(config), usable, config, options);
  if (reason != nullptr || source.division.parts == 1) return reason;
  return row_rejects(source.last, seen_by(config, source.last), usable, config, options);
}

std::int64_t split_tiles(const Problem& problem, const DeviceFacts& facts,
                         const KernelConfig& config, int tile_n, int splits) {
  return split_tiles(cluster_tiles(problem, config, tile_n).total(),
                     resident_clusters(facts, config), splits, split_limits(problem, config));
}

Splits splits_to_try(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                     std::size_t workspace_bytes, int forced, int tile_n) {
  Splits splits;
  const ClusterTile tile = cluster_tile(config, tile_n);
  const std::int64_t steps = k_steps(problem, config);
  const SplitLimits limits = split_limits(problem, config);
  if (steps == 0 || tile.n == 0 || !limits.can_split) return splits;
  const std::int64_t cut = split_tiles(problem, facts, config, tile_n, 2);
  if (cut == 0) return splits;
  const std::size_t partial_bytes = sizeof(float) * static_cast<std::size_t>(tile.m) *
                                    static_cast<std::size_t>(tile.n) *
                                    static_cast<std::size_t>(cut);
  const std::int64_t most =
      std::min({resident_clusters(facts, config) / cut, steps / limits.least_steps,
                static_cast<std::int64_t>(workspace_bytes / partial_bytes)});
  const auto normalized = [&](std::int64_t wanted) {
    return static_cast<int>(ceil_div(steps, ceil_div(steps, wanted)));  // none is empty
  };
  const std::int64_t most_steps = std::numeric_limits<std::int32_t>::max() / config.tile.k;
  if (forced > 0) {
    // Splits are counted in 32 bits; what is not split has no such limit.
    const std::int64_t least = ceil_div(steps, most_steps);
    const std::int64_t wanted =
        std::min(std::max<std::int64_t>(forced, least), std::max<std::int64_t>(most, 1));
    splits.number[0] = forced == 1 || wanted < least ? 1 : normalized(wanted);
    return splits;
  }
  // Halves of the most, down to two: what lies between them is never much better than both.
  const auto half = [](std::int64_t number) { return number == 3 ? 2 : number / 2; };
  constexpr int most_halves = Splits::capacity - 1;
  for (std::int64_t wanted = most; wanted > 1 && splits.count < most_halves;
       wanted = half(wanted)) {
    if (ceil_div(steps, wanted) > most_steps) break;
    splits.add(normalized(wanted));
  }
  splits.halves = splits.count;
  // Up to here 1 comes first, and then the most and its halves.
  const bool leaves_half_idle = 2 * cut <= resident_clusters(facts, config);
  if (leaves_half_idle)
    std::rotate(splits.number, splits.number + 1, splits.number + splits.halves);
  else
    std::reverse(splits.number + 1, splits.number + splits.halves);
  if (cut != cluster_tiles(problem, config, tile_n).total()) return splits;
  const std::int64_t in_cluster = std::min<std::int64_t>(most, most_in_cluster(config, facts, cut));
  if (in_cluster > 1 && ceil_div(steps, in_cluster) <= most_steps)
    splits.add(normalized(in_cluster));
  return splits;
}

bool can_reduce_in_cluster(const Problem& problem, const DeviceFacts& facts,
                           const KernelConfig& config, int tile_n, int splits) {
  if (splits < 2 || splits > facts_of(config.family).most_cluster_splits(config)) return false;
  const std::int64_t tiles = cluster_tiles(problem, config, tile_n).total();
  return tiles <= clusters_that_fit(facts, splits);
}

Candidate with_sums(const Problem& seen, const DeviceFacts& usable, const KernelConfig& config,
                    const SelectOptions& options, int tile_n, int splits,
                    const WithoutSplits& known) {
  const auto us = [&](SplitReduction reduction) {
    return predicted_us(seen, usable, config, tile_n, splits, reduction, known);
  };
  Candidate made;
  made.tile_n = tile_n, made.splits = splits;
  made.reduction = SplitReduction::workspace;
  made.predicted_us = us(SplitReduction::workspace);
  if (!options.forced.allows(SplitReduction::cluster) ||
      !can_reduce_in_cluster(seen, usable, config, tile_n, splits))
    return made;
  const double in_cluster_us = us(SplitReduction::cluster);
  const bool is_slower = in_cluster_us >= made.predicted_us;
  if (is_slower && options.forced.allows(SplitReduction::workspace)) return made;
  made.reduction = SplitReduction::cluster;
  made.predicted_us = in_cluster_us;
  return made;
}

Sources::Sources(const Problem& problem, const DeviceFacts& usable, const SelectOptions& options) {
  const bool may_copy = !options.forced.has_kernel() || options.forced.operands;
  if (options.forced.allows(Operands::in_place)) add(in_place(problem, options));
  if (may_copy && copies_of(problem).any()) add_copied(problem, usable, options);
  if (count_ == 0) add(in_place(problem, options));
}

Candidate judged(const Source& source, const DeviceFacts& usable, const KernelConfig& config,
                 const SelectOptions& options) {
  Candidate best;
  best.tile_n = config.tile.n;
  best.rejected = row_rejects(source, usable, config, options);
  if (best.rejected != nullptr) return best;
  const Problem& problem = source.seen_by(config);
  best.predicted_us = std::numeric_limits<double>::infinity();
  // Forced splits go before what has none, where a width of tile can have them.
  const auto is_better = [&](const Candidate& candidate) {
    const bool is_split = candidate.splits > 1;
    if (options.forced.splits > 1 && is_split != (best.splits > 1)) return is_split;
    return candidate.predicted_us < best.predicted_us;
  };
  const auto consider = [&](int tile_n) {
    for_each_split(source, usable, config, options, tile_n, [&](const Candidate& candidate) {
      if (is_better(candidate)) best = candidate;
    });
  };
  const int forced = config.tile.n == 0 ? options.forced.tile_n : 0;
  // A width that a kernel cannot take is refused only where that kernel is forced, too.
  bool is_fixed = forced > 0 && options.forced.has_kernel();
  if (forced > 0)
    for_each_tile_n(config, problem, [&](int tile_n) { is_fixed |= forced == tile_n; });
  const std::int64_t resident = resident_clusters(usable, config);
  for_each_tile_n(config, problem, [&](int tile_n) {
    if (is_fixed ? forced == tile_n
                 : functions_of(config).may_tile_n_be_best(problem, config, resident, tile_n))
      consider(tile_n);
  });
  if (best.predicted_us == std::numeric_limits<double>::infinity()) {
    const char* const reason =
        forced > 0 ? functions_of(config).tile_n_rejects(config, problem, forced) : nullptr;
    best.rejected = reason != nullptr ? reason : "no tile_n is legal for the direction of B";
  }
  return of_source(best, source);
}

}  // namespace bwgemm
