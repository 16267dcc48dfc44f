// SPDX-License-Identifier: Apache-2.0
// Shortlist: the recipes that the cost model finds fastest, in the order that measured times ask
// for (select/correction.h); divided products, which were not measured, in that of predictions.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "select/candidate.h"
#include "select/correction.h"

namespace bwgemm {

// Best first, which need not be in the order of their predicted times.
class Shortlist {
 public:
  // Empty where selection is not free, or where the model is not corrected: other devices, gates,
  // products without a k. `usable` comes from limited().
  Shortlist(const Problem& problem, const DeviceFacts& usable,
            std::span<const KernelConfig> variants, const SelectOptions& options);

  bool empty() const { return count_ == 0; }
  // Whether measured times were asked about the recipe.
  bool has_compared(const Candidate& recipe) const;
  std::span<const Candidate> candidates() const { return {candidates_.data(), count_}; }

 private:
  bool has_room_for(double weighed_us) const;
  void add(const Candidate& candidate);
  void put_in_order(const Sources& sources, const DeviceFacts& usable,
                    std::span<const KernelConfig> variants);

  std::array<Candidate, most_corrected> candidates_;
  std::size_t count_ = 0;
  bool is_by_times_ = false;
};

}  // namespace bwgemm
