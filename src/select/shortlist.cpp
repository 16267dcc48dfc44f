// SPDX-License-Identifier: Apache-2.0
#include "select/shortlist.h"

#include <algorithm>
#include <utility>

namespace bwgemm {

bool Shortlist::has_room_for(double weighed_us) const {
  if (count_ == 0) return true;
  return weighed_us < furthest_corrected * candidates_.front().weighed_us() &&
         (count_ < most_corrected || weighed_us < candidates_.back().weighed_us());
}

void Shortlist::add(const Candidate& candidate) {
  if (count_ == most_corrected) --count_;
  std::size_t place = count_++;
  for (; place > 0 && candidates_[place - 1].weighed_us() > candidate.weighed_us(); --place)
    candidates_[place] = candidates_[place - 1];
  candidates_[place] = candidate;
}

Shortlist::Shortlist(const Problem& problem, const DeviceFacts& usable,
                     std::span<const KernelConfig> variants, const SelectOptions& options) {
  const bool is_free = !options.forced.any() && !options.has_pick_for(problem);
  const bool was_measured = problem.epilogue.gate == Gate::none && !problem.scale_only();
  if (!is_free || !is_corrected(usable) || !was_measured) return;
  const Sources sources(problem, usable, options);
  for (const Source& source : sources) {
    const PreFilter filter(source.problem, usable);
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      const KernelConfig& config = variants[variant];
      if (!filter.may_serve(config) || row_rejects(source, usable, config, options) != nullptr)
        continue;
      for_each_split(source, usable, config, options, config.tile.n, [&](const Candidate& part) {
        const double whole_us = source.whole_us(part.predicted_us);
        if (!has_room_for(weighed_us(whole_us, source.operands))) return;  // most go here
        Candidate candidate = of_source(part, source);
        candidate.variant = static_cast<int>(variant);
        add(candidate);
      });
    }
  }
  while (count_ > 0 && candidates_[count_ - 1].weighed_us() >=
                           furthest_corrected * candidates_.front().weighed_us())
    --count_;
  // Nor were divided products.
  const bool is_whole = std::ranges::none_of(
      candidates(), [](const Candidate& one) { return one.division.parts > 1; });
  is_by_times_ = count_ > 1 && is_whole;
  if (is_by_times_) put_in_order(sources, usable, variants);
}

bool Shortlist::has_compared(const Candidate& recipe) const {
  return is_by_times_ && std::ranges::any_of(candidates(), [&](const Candidate& one) {
           return one.variant == recipe.variant && one.splits == recipe.splits &&
                  one.operands == recipe.operands;
         });
}

void Shortlist::put_in_order(const Sources& sources, const DeviceFacts& usable,
                             std::span<const KernelConfig> variants) {
  double least_us = candidates_.front().predicted_us;
  for (const Candidate& one : candidates()) least_us = std::min(least_us, one.predicted_us);
  std::array<CorrectionFeatures, most_corrected> features{};
  for (std::size_t i = 0; i < count_; ++i) {
    const Candidate& one = candidates_[i];
    const auto source = std::ranges::find(sources, one.operands, &Source::operands);
    const KernelConfig& config = variants[static_cast<std::size_t>(one.variant)];
    features[i] = correction_features_of(
        {source->seen_by(config), config, one.tile_n, one.splits, one.predicted_us}, usable,
        least_us);
  }
  CorrectionFactors corrected = correction_factors(features);
  for (std::size_t i = 0; i < count_; ++i) corrected[i] *= candidates_[i].weighed_us();
  for (std::size_t i = 1; i < count_; ++i)
    for (std::size_t j = i; j > 0 && corrected[j] < corrected[j - 1]; --j) {
      std::swap(corrected[j], corrected[j - 1]);
      std::swap(candidates_[j], candidates_[j - 1]);
    }
}

}  // namespace bwgemm
