// SPDX-License-Identifier: Apache-2.0
// Tuner: times ways to compute a product. The products run in the handle's stream; host and device
// wait for each other once per launch.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "api/handle.h"

namespace bwgemm {

struct TimedRecipe {
  Program program;
  std::vector<double> times;
  Recipe recipe;

  double median() const;
};

// Whether the handle's stream is part of a capture, or cannot be used while another is captured.
bool is_captured(const Handle& handle);

class Tuner {
 public:
  Tuner(Handle& handle, const Problem& problem, const CallSettings& call)
      : handle_(handle), problem_(problem), call_(call), stream_(handle.stream.stream()) {}

  // The size of the memory that is written between launches, so that they find nothing in L2.
  static std::size_t flush_bytes(const DeviceFacts& facts);

  // Whether there are two algos to time, as far as predictions tell.
  bool has_choice() const;

  // Those that can be launched, `first` if it is one and then by prediction. Throws if there is
  // none.
  std::vector<TimedRecipe> candidates(int most, const std::optional<Recipe>& first = {}) const;

  // Every candidate's times, in rounds, behind a launch that is not timed. When launches have taken
  // so long, no other begins, but that two candidates are timed in any case; those without a time
  // are taken out.
  void time(std::vector<TimedRecipe>& candidates, int repetitions,
            double budget_us = std::numeric_limits<double>::infinity()) const;

  void launch(TimedRecipe& candidate) const;
  Program program_of(const Recipe& pick) const;

 private:
  Handle& handle_;
  const Problem problem_;
  const CallSettings call_;
  const CUstream stream_;
};

// The first of those whose medians cannot be told from the least one. The log tells all times.
const TimedRecipe& winner(const std::vector<TimedRecipe>& candidates, double tolerance);

}  // namespace bwgemm
