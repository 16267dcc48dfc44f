// SPDX-License-Identifier: Apache-2.0
// Judging every variant and taking the best.
#include "select/select.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "core/tiling.h"
#include "families/facts.h"
#include "families/rejects.h"
#include "select/candidate.h"
#include "select/pre_filter.h"

namespace bwgemm {
namespace {

// A prediction as it counts against those of other sources. In place it counts less: a kernel and a
// place in the workspace more are not worth a little.
double weighed_us(const Candidate& candidate) {
  constexpr double needed_part_of_copies = 0.95;
  const bool is_in_place = candidate.operands == Operands::in_place;
  return is_in_place ? needed_part_of_copies * candidate.predicted_us : candidate.predicted_us;
}

// Nothing if operands cannot be copied so.
std::optional<Source> source_of(const Problem& problem, Operands operands,
                                const DeviceFacts& usable, const SelectOptions& options) {
  if (operands == Operands::in_place)
    return Source{operands, problem, transposed(problem), options.workspace_bytes};
  const auto division = division_of(problem, operands, options.workspace_bytes);
  if (!division) return std::nullopt;
  const Problem part = part_of(problem, *division, 0);
  const Copies copies = copies_of(part, operands);
  const Problem copied = with_copies(part, copies);
  Source source{operands,
                copied,
                transposed(copied),
                options.workspace_bytes - copies.bytes(),
                copying_us(copies, usable),
                *division};
  if (division->parts > 1) {
    const Problem last = part_of(problem, *division, division->parts - 1);
    source.last = with_copies(last, copies_of(last, operands));
  }
  return source;
}

Choice choice_of(const Problem& given, const DeviceFacts& usable,
                 std::span<const KernelConfig> variants, const SelectOptions& options, int variant,
                 const Candidate& candidate) {
  const KernelConfig& config = variants[static_cast<std::size_t>(variant)];
  const Problem part = part_of(given, candidate.division, 0);
  const Problem problem = seen_by(config, with_copies(part, copies_of(part, candidate.operands)));
  Choice choice{candidate};
  choice.variant = variant;
  if (options.has_pick_for(given))
    choice.raster = options.pick->raster;
  else if (has_rasters(config))
    choice.raster = options.forced.raster.value_or(Raster::grouped);
  choice.split_tiles = split_tiles(problem, usable, config, candidate.tile_n, candidate.splits);
  choice.raster_group = raster_group(problem, usable, config, candidate.tile_n);
  choice.predicted_us = candidate.predicted_us;
  choice.division = candidate.division;
  return choice;
}

// Callers know the column-order product, whose letters the reasons do not use.
constexpr std::string_view row_order_letters =
    " (C is taken in row order: A and B, m and n are those of the call exchanged)";

Choice forced_choice(const Problem& problem, const DeviceFacts& usable,
                     std::span<const KernelConfig> variants, const SelectOptions& options) {
  const std::string_view name = options.forced.kernel;
  const int variant = forced_variant(variants, name);
  const Candidate candidate =
      judged(problem, usable, variants[static_cast<std::size_t>(variant)], options);
  if (candidate.rejected != nullptr)
    throw Error(
        BWGEMM_STATUS_NOT_SUPPORTED,
        text("the forced kernel ", name, " cannot serve: ", candidate.rejected, row_order_letters));
  return choice_of(problem, usable, variants, options, variant, candidate);
}

Choice picked_choice(const Problem& problem, const DeviceFacts& usable,
                     std::span<const KernelConfig> variants, const SelectOptions& options) {
  const Candidate candidate = picked(problem, usable, variants, options);
  const int variant = options.pick->variant;
  if (candidate.rejected != nullptr)
    throw Error(BWGEMM_STATUS_NOT_SUPPORTED,
                text("the algo, ", kernel_name(variants[static_cast<std::size_t>(variant)]).view(),
                     ", cannot serve: ", candidate.rejected, row_order_letters));
  return choice_of(problem, usable, variants, options, variant, candidate);
}

[[noreturn]] void throw_nothing_serves(const Problem& problem, const DeviceFacts& usable,
                                       std::span<const KernelConfig> variants,
                                       const SelectOptions& options) {
  std::string message = text("no kernel can serve the call", row_order_letters);
  for (const KernelConfig& config : variants)
    if (const char* reason = judged(problem, usable, config, options).rejected; reason != nullptr)
      message += text("; ", kernel_name(config).view(), ": ", reason);
  throw Error(BWGEMM_STATUS_NOT_SUPPORTED, std::move(message));
}

// Variants that only show a technique.
const char* only_when_forced(const KernelConfig& config, const SelectOptions& options) {
  if (!shows_technique(config) || options.forced.has_kernel() || options.pick) return nullptr;
  return "shows a technique: only when forced";
}

const char* target_rejects(const KernelConfig& config, const DeviceFacts& usable) {
  const bool may_use_all = usable.ctas_per_sm != 1;  // as limited() says
  if (may_use_all || config.choices.schedule == Schedule::persistent) return nullptr;
  return "its clusters spread over all multiprocessors, but the call may not";
}

// The share of an earlier variant's time that a later variant may need at most to be chosen
// instead. Nothing about sm100 was measured: smaller differences say nothing there.
double needed_part(Arch arch) {
  return arch == Arch::sm100 ? 0.97 : 1;
}

const char* row_rejects(const Problem& given, const Problem& seen, const DeviceFacts& usable,
                        const KernelConfig& config, const SelectOptions& options) {
  if (const char* reason = rejects(given, seen, usable, config)) return reason;
  if (const char* reason = target_rejects(config, usable)) return reason;
  if (options.batch_invariant)
    if (const char* reason = batch_invariance_rejects(given, config)) return reason;
  return only_when_forced(config, options);
}

struct BestVariant {
  int variant;
  Candidate candidate;
};

// The best variant for one source.
std::optional<BestVariant> best_variant(const Source& source, const DeviceFacts& usable,
                                        std::span<const KernelConfig> variants,
                                        const SelectOptions& options) {
  const PreFilter filter(source.problem, usable);
  std::optional<BestVariant> best;
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    if (!filter.may_serve(variants[variant])) continue;
    const Candidate candidate = judged(source, usable, variants[variant], options);
    if (candidate.rejected != nullptr) continue;
    if (best && candidate.predicted_us >=
                    needed_part(variants[variant].arch) * best->candidate.predicted_us)
      continue;
    best = {static_cast<int>(variant), candidate};
  }
  return best;
}

}  // namespace

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

Candidate with_sums(const Problem& seen, const DeviceFacts& usable, const KernelConfig& config,
                    const SelectOptions& options, int tile_n, int splits,
                    const WithoutSplits& known) {
  const auto candidate = [&](SplitReduction reduction) {
    Candidate made;
    made.tile_n = tile_n, made.splits = splits, made.reduction = reduction;
    made.predicted_us = predicted_us(seen, usable, config, tile_n, splits, reduction, known);
    return made;
  };
  const Candidate in_memory = candidate(SplitReduction::workspace);
  if (!options.forced.allows(SplitReduction::cluster) ||
      !can_reduce_in_cluster(seen, usable, config, tile_n, splits))
    return in_memory;
  const Candidate in_cluster = candidate(SplitReduction::cluster);
  const bool is_slower = in_cluster.predicted_us >= in_memory.predicted_us;
  return is_slower && options.forced.allows(SplitReduction::workspace) ? in_memory : in_cluster;
}

Sources::Sources(const Problem& problem, const DeviceFacts& usable, const SelectOptions& options) {
  const bool may_copy = !options.forced.has_kernel() || options.forced.operands;
  for (const Operands operands : all_operands) {
    if (operands != Operands::in_place && !may_copy) continue;
    if (!options.forced.allows(operands)) continue;
    if (const auto source = source_of(problem, operands, usable, options)) add(*source);
  }
  if (count_ == 0) add(*source_of(problem, Operands::in_place, usable, options));
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
    const Splits splits = splits_to_try(problem, usable, config, source.workspace_bytes,
                                        allowed_splits(source, options), tile_n);
    const WithoutSplits known = without_splits(problem, config, tile_n);
    for (int i = 0; i < splits.count; ++i) {
      const Candidate candidate =
          with_sums(problem, usable, config, options, tile_n, splits.number[i], known);
      if (is_better(candidate)) best = candidate;
    }
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
  best.predicted_us = source.whole_us(best.predicted_us);
  best.operands = source.operands;
  best.division = source.division;
  return best;
}

Candidate judged(const Problem& problem, const DeviceFacts& usable, const KernelConfig& config,
                 const SelectOptions& options) {
  std::optional<Candidate> best;
  for (const Source& source : Sources(problem, usable, options)) {
    const Candidate candidate = judged(source, usable, config, options);
    const bool is_better =
        best && candidate.rejected == nullptr && weighed_us(candidate) < weighed_us(*best);
    if (!best || best->rejected != nullptr || is_better) best = candidate;
  }
  return *best;
}

Candidate picked(const Problem& given, const DeviceFacts& usable,
                 std::span<const KernelConfig> variants, const SelectOptions& options) {
  const Recipe& pick = *options.pick;
  const KernelConfig& config = variants[static_cast<std::size_t>(pick.variant)];
  Candidate candidate;
  candidate.tile_n = pick.tile_n, candidate.splits = pick.splits;
  const auto source = source_of(given, pick.operands, usable, options);
  if (!source) {
    candidate.rejected =
        copies_of(given, pick.operands).any()
            ? "its copies of operands need more workspace than the call may use"
            : "it copies operands, but none that kernels could not load can be copied";
    return candidate;
  }
  candidate.rejected = row_rejects(*source, usable, config, options);
  if (candidate.rejected != nullptr) return candidate;
  const Problem& problem = source->seen_by(config);
  bool is_tile = false;
  for_each_tile_n(config, problem, [&](int tile_n) { is_tile |= pick.tile_n == tile_n; });
  const auto can_split = [&](std::size_t bytes) {
    return splits_to_try(problem, usable, config, bytes, pick.splits, pick.tile_n).number[0] ==
           pick.splits;
  };
  if (!is_tile)
    candidate.rejected = "its tile_n is not one that the kernel can take";
  else if (pick.raster != Raster::grouped && !has_rasters(config))
    candidate.rejected = "the kernel has but one order of tiles";
  else if (pick.splits != 1 && options.batch_invariant)
    candidate.rejected = "k is split, which is not batch-invariant";
  else if (pick.splits != 1 && source->division.parts > 1)
    candidate.rejected = "k is split, and the product is divided";
  else if (!can_split(SIZE_MAX))
    candidate.rejected = "k cannot be split so: splits would be short, or too many for the device";
  else if (!can_split(source->workspace_bytes))
    candidate.rejected = "its splits of k need more workspace than the call may use";
  else
    candidate = with_sums(problem, usable, config, options, pick.tile_n, pick.splits,
                          without_splits(problem, config, pick.tile_n));
  candidate.operands = source->operands;
  candidate.division = source->division;
  candidate.predicted_us = source->whole_us(candidate.predicted_us);
  return candidate;
}

int forced_variant(std::span<const KernelConfig> variants, std::string_view name) {
  for (std::size_t variant = 0; variant < variants.size(); ++variant)
    if (kernel_name(variants[variant]).view() == name) return static_cast<int>(variant);
  throw Error(BWGEMM_STATUS_INVALID_VALUE, text("no kernel has the forced name \"", name, "\""));
}

Choice select(const Problem& problem, const DeviceFacts& facts,
              std::span<const KernelConfig> variants, const SelectOptions& options) {
  const DeviceFacts usable = limited(facts, options);
  if (options.has_pick_for(problem)) return picked_choice(problem, usable, variants, options);
  if (options.forced.has_kernel()) return forced_choice(problem, usable, variants, options);
  std::optional<BestVariant> best;
  for (const Source& source : Sources(problem, usable, options)) {
    const std::optional<BestVariant> of_source = best_variant(source, usable, variants, options);
    if (of_source && (!best || weighed_us(of_source->candidate) < weighed_us(best->candidate)))
      best = of_source;
  }
  if (!best) throw_nothing_serves(problem, usable, variants, options);
  return choice_of(problem, usable, variants, options, best->variant, best->candidate);
}

bool can_serve(const Problem& problem, const DeviceFacts& facts,
               std::span<const KernelConfig> variants, const SelectOptions& options) {
  const DeviceFacts usable = limited(facts, options);
  const auto serves = [&](const KernelConfig& config) {
    return judged(problem, usable, config, options).rejected == nullptr;
  };
  if (options.has_pick_for(problem))
    return picked(problem, usable, variants, options).rejected == nullptr;
  if (!options.forced.has_kernel()) return std::any_of(variants.begin(), variants.end(), serves);
  return serves(
      variants[static_cast<std::size_t>(forced_variant(variants, options.forced.kernel))]);
}

std::size_t arrival_count(const KernelConfig& config, const Choice& choice) {
  return static_cast<std::size_t>(choice.split_tiles * config.cluster.size() *
                                  arrivals_per_tile(config));
}

Recipe recipe_of(const Choice& choice) {
  Recipe recipe = choice;
  recipe.reduction.reset();
  return recipe;
}

std::size_t workspace_bytes(const Problem& problem, const KernelConfig& config,
                            const Choice& choice) {
  const ClusterTile tile = cluster_tile(config, choice.tile_n);
  return copies_of(part_of(problem, choice.division, 0), choice.operands).bytes() +
         static_cast<std::size_t>(choice.split_tiles * choice.splits) *
             static_cast<std::size_t>(tile.m) * static_cast<std::size_t>(tile.n) * sizeof(float);
}

}  // namespace bwgemm
