// SPDX-License-Identifier: Apache-2.0
// Judging every variant and taking the best.
#include "select/select.h"

#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "rules/copies.h"
#include "select/algos.h"
#include "select/shortlist.h"

namespace bwgemm {
namespace {

Choice choice_of(const Problem& given, const DeviceFacts& usable,
                 std::span<const KernelConfig> variants, const SelectOptions& options,
                 const Candidate& candidate) {
  const KernelConfig& config = variants[static_cast<std::size_t>(candidate.variant)];
  const Problem part = part_of(given, candidate.division, 0);
  const Problem problem = seen_by(config, with_copies(part, copies_of(part, candidate.operands)));
  Choice choice = candidate;
  if (options.has_pick_for(given))
    choice.raster = options.pick->raster;
  else if (facts_of(config.family).has_rasters)
    choice.raster = options.forced.raster.value_or(Raster::grouped);
  choice.split_tiles = split_tiles(problem, usable, config, candidate.tile_n, candidate.splits);
  choice.raster_group = raster_group(problem, usable, config, candidate.tile_n);
  return choice;
}

// Callers know the column-order product, whose letters the reasons do not use.
constexpr std::string_view row_order_letters =
    " (C is taken in row order: A and B, m and n are those of the call exchanged)";

[[noreturn]] void throw_cannot_serve(const KernelConfig& config, bool is_picked,
                                     const char* reason) {
  throw Error(BWGEMM_STATUS_NOT_SUPPORTED,
              text(is_picked ? "the algo, " : "the forced kernel ", kernel_name(config).view(),
                   is_picked ? ", cannot serve: " : " cannot serve: ", reason, row_order_letters));
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

// The share of an earlier variant's time that a later variant may need at most to be chosen
// instead. Nothing about sm100 was measured: smaller differences say nothing there.
double needed_part(Arch arch) {
  return arch == Arch::sm100 ? 0.97 : 1;
}

// The best variant for one source.
std::optional<Candidate> best_variant(const Source& source, const DeviceFacts& usable,
                                      std::span<const KernelConfig> variants,
                                      const SelectOptions& options) {
  const PreFilter filter(source.problem, usable);
  std::optional<Candidate> best;
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    const KernelConfig& config = variants[variant];
    if (!filter.may_serve(config)) continue;
    const Candidate candidate = judged(source, usable, config, options);
    if (candidate.rejected != nullptr ||
        (best && candidate.predicted_us >= needed_part(config.arch) * best->predicted_us))
      continue;
    best = candidate;
    best->variant = static_cast<int>(variant);
  }
  return best;
}

}  // namespace

Choice select(const Problem& problem, const DeviceFacts& facts,
              std::span<const KernelConfig> variants, const SelectOptions& options) {
  const DeviceFacts usable = limited(facts, options);
  std::optional<Candidate> best = decided(problem, usable, variants, options);
  if (!best)
    if (const Shortlist shortlist(problem, usable, variants, options); !shortlist.empty())
      best = shortlist.candidates().front();
  if (best && best->rejected != nullptr)
    throw_cannot_serve(variants[static_cast<std::size_t>(best->variant)],
                       options.has_pick_for(problem), best->rejected);
  if (!best)
    for (const Source& source : Sources(problem, usable, options)) {
      const std::optional<Candidate> of_source = best_variant(source, usable, variants, options);
      if (of_source && (!best || of_source->weighed_us() < best->weighed_us())) best = of_source;
    }
  if (!best) throw_nothing_serves(problem, usable, variants, options);
  return choice_of(problem, usable, variants, options, *best);
}

std::size_t arrival_count(const KernelConfig& config, const Choice& choice) {
  return static_cast<std::size_t>(choice.split_tiles * config.cluster.size() *
                                  facts_of(config.family).arrivals_per_tile(config));
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
