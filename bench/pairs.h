// SPDX-License-Identifier: Apache-2.0
// time_in_pairs: series replayed in turn, and the median of paired ratios.
#pragma once

#include "gpu.h"
#include "sensors.h"
#include "series.h"

namespace bwgemm::bench {

struct Spread {
  double median = 0, low = 0, high = 0;  // quartiles
};

struct Paired {
  double bwgemm_us = 0, first_us = 0, best_us = 0;  // medians per call
  Spread over_first, over_best;  // the others' time over ours: above 1 we are faster
  Sensors::Reading warm, end;    // under our kernel: after warming up, after the last sample
};

// `first` and `best` may be null; without `best`, `first` stands for it. Replays ours for `warm_ms`
// first.
Paired time_in_pairs(const Gpu& gpu, const Sensors& sensors, int pairs, double warm_ms,
                     const Series& ours, const Series* first, const Series* best);

// Clock and power while the series is replayed.
Sensors::Reading under_load(const Gpu& gpu, const Sensors& sensors, const Series& series);

}  // namespace bwgemm::bench
