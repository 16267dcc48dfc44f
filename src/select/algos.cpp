// SPDX-License-Identifier: Apache-2.0
#include "select/algos.h"

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/text.h"
#include "families/facts.h"
#include "families/variants.h"
#include "rules/copies.h"
#include "select/shortlist.h"

namespace bwgemm {
namespace {

// Bits of an algo value, from the least; above them is the mark that no value of cuBLAS has.
constexpr int tile_n_bits = 11, operands_bits = 2, splits_bits = 16, raster_bits = 2,
              variant_bits = 11;
constexpr int table_bits = 20;
constexpr int operands_at = tile_n_bits, splits_at = operands_at + operands_bits;
constexpr int raster_at = splits_at + splits_bits;
constexpr int variant_at = raster_at + raster_bits, table_at = variant_at + variant_bits;
constexpr int mark_at = table_at + table_bits;
static_assert(mark_at == 62);
static_assert(kernel_variants.size() <= std::size_t{1} << variant_bits);

constexpr std::uint64_t table_mark() {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a over the places of fields and all names
  for (const int at : {operands_at, splits_at, raster_at, variant_at, table_at})
    hash = (hash ^ static_cast<std::uint64_t>(at)) * 0x100000001b3;
  for (const KernelConfig& variant : kernel_variants) {
    const KernelName name = kernel_name(variant);
    for (const char c : name.view()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ '\n') * 0x100000001b3;
  }
  return (hash ^ hash >> 40) & ((std::uint64_t{1} << table_bits) - 1);
}
constexpr std::uint64_t mark = (std::uint64_t{1} << mark_at) | (table_mark() << table_at);

constexpr int field(std::uint64_t value, int at, int bits) {
  return static_cast<int>(value >> at & ((std::uint64_t{1} << bits) - 1));
}

// A single row or column of tiles has one order.
bool has_several_orders(const Problem& seen, const KernelConfig& config, int tile_n) {
  if (!facts_of(config.family).has_rasters) return false;
  const TileCounts tiles = cluster_tiles(seen, config, tile_n);
  return tiles.m > 1 && tiles.n > 1;
}

// All recipes of one variant that can serve.
void add_variant(const Source& source, const DeviceFacts& usable,
                 std::span<const KernelConfig> variants, int variant, const SelectOptions& options,
                 std::vector<Algo>& all) {
  const KernelConfig& config = variants[static_cast<std::size_t>(variant)];
  if (row_rejects(source, usable, config, options) != nullptr) return;
  const Problem& problem = source.seen_by(config);
  const bool adds_alike = batch_invariance_rejects(source.problem, config) == nullptr;
  const std::size_t copied = options.workspace_bytes - source.workspace_bytes;
  for_each_tile_n(config, problem, [&](int tile_n) {
    const Splits splits = splits_to_try(problem, usable, config, source.workspace_bytes,
                                        allowed_splits(source, options), tile_n);
    const WithoutSplits known = without_splits(problem, config, tile_n);
    for (int i = 0; i < splits.count; ++i) {
      const int number = splits.number[i];
      const double us = source.whole_us(
          with_sums(problem, usable, config, options, tile_n, number, known).predicted_us);
      const std::int64_t cut = split_tiles(problem, usable, config, tile_n, number);
      const Choice choice{{variant, tile_n, number}, cut, 0, us, {}};
      const std::size_t bytes = copied + workspace_bytes(source.problem, config, choice);
      const bool is_invariant = adds_alike && number == 1;
      const auto add = [&](Raster raster) {
        all.push_back(
            {{variant, tile_n, number, raster, source.operands}, us, bytes, is_invariant});
      };
      add(Raster::grouped);
      if (!has_several_orders(problem, config, tile_n)) continue;
      add(Raster::snake);
      add(Raster::hilbert);
    }
  });
}

// Whatever the order of tiles is.
bool is_of(const Recipe& recipe, const Candidate& candidate) {
  return recipe.variant == candidate.variant && recipe.tile_n == candidate.tile_n &&
         recipe.splits == candidate.splits && recipe.operands == candidate.operands;
}

}  // namespace

std::int64_t packed(const Recipe& recipe) {
  const auto shifted = [](auto value, int at) { return static_cast<std::uint64_t>(value) << at; };
  return static_cast<std::int64_t>(
      mark | shifted(recipe.variant, variant_at) | shifted(recipe.raster, raster_at) |
      shifted(recipe.splits, splits_at) | shifted(recipe.operands, operands_at) |
      shifted(recipe.tile_n, 0));
}

std::optional<Recipe> unpacked(std::int64_t algo) {
  const auto value = static_cast<std::uint64_t>(algo);
  if (value >> table_at != mark >> table_at) return std::nullopt;
  const int raster = field(value, raster_at, raster_bits);
  const Recipe recipe{field(value, variant_at, variant_bits), field(value, 0, tile_n_bits),
                      field(value, splits_at, splits_bits), static_cast<Raster>(raster),
                      static_cast<Operands>(field(value, operands_at, operands_bits))};
  const bool is_known = static_cast<std::size_t>(recipe.variant) < kernel_variants.size() &&
                        raster <= static_cast<int>(Raster::hilbert) && recipe.splits >= 1;
  return is_known ? std::optional(recipe) : std::nullopt;
}

std::vector<Algo> algos(const Problem& problem, const DeviceFacts& facts,
                        std::span<const KernelConfig> variants, const SelectOptions& given) {
  SelectOptions options = given;
  options.pick.reset();
  options.forced = {.reduction = given.forced.reduction};
  const DeviceFacts usable = limited(facts, options);
  std::vector<Algo> all;
  const Sources sources(problem, usable, options);
  for (std::size_t variant = 0; variant < variants.size(); ++variant)
    for (const Source& source : sources)
      add_variant(source, usable, variants, static_cast<int>(variant), options, all);
  std::stable_sort(all.begin(), all.end(), [](const Algo& one, const Algo& other) {
    return one.predicted_us < other.predicted_us;
  });
  auto next = all.begin();
  const Shortlist shortlist(problem, usable, variants, options);
  for (const Candidate& first : shortlist.candidates())
    next = std::stable_partition(next, all.end(),
                                 [&](const Algo& algo) { return is_of(algo.recipe, first); });
  return all;
}

Candidate picked(const Problem& given, const DeviceFacts& usable,
                 std::span<const KernelConfig> variants, const SelectOptions& options) {
  const Recipe& pick = *options.pick;
  const KernelConfig& config = variants[static_cast<std::size_t>(pick.variant)];
  Candidate candidate;
  candidate.variant = pick.variant;
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
  else if (pick.raster != Raster::grouped && !facts_of(config.family).has_rasters)
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
  candidate.variant = pick.variant;
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

std::optional<Candidate> decided(const Problem& problem, const DeviceFacts& usable,
                                 std::span<const KernelConfig> variants,
                                 const SelectOptions& options) {
  if (options.has_pick_for(problem)) return picked(problem, usable, variants, options);
  if (!options.forced.has_kernel()) return std::nullopt;
  const int variant = forced_variant(variants, options.forced.kernel);
  Candidate candidate =
      judged(problem, usable, variants[static_cast<std::size_t>(variant)], options);
  candidate.variant = variant;
  return candidate;
}

bool can_serve(const Problem& problem, const DeviceFacts& facts,
               std::span<const KernelConfig> variants, const SelectOptions& options) {
  const DeviceFacts usable = limited(facts, options);
  if (const std::optional<Candidate> candidate = decided(problem, usable, variants, options))
    return candidate->rejected == nullptr;
  return std::any_of(variants.begin(), variants.end(), [&](const KernelConfig& config) {
    return judged(problem, usable, config, options).rejected == nullptr;
  });
}

}  // namespace bwgemm
