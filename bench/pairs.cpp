// SPDX-License-Identifier: Apache-2.0
#include "pairs.h"

#include <algorithm>
#include <vector>

namespace bwgemm::bench {
namespace {

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.25), at(0.75)};
}

}  // namespace

Sensors::Reading under_load(const Gpu& gpu, const Sensors& sensors, const Series& series) {
  Sensors::Reading reading;
  gpu.milliseconds([&] {
    series.graph.launch();
    reading = sensors.read();
  });
  return reading;
}

// Alternates the order within each pair, so that neither side always runs first.
Paired time_in_pairs(const Gpu& gpu, const Sensors& sensors, int pairs, double warm_ms,
                     const Series& ours, const Series* first, const Series* best) {
  Paired result;
  for (double ms = 0; ms < warm_ms;) ms += ours.microseconds(gpu) * ours.calls * 1e-3;
  result.warm = under_load(gpu, sensors, ours);
  std::vector<double> our_us, first_us, best_us, over_first, over_best;
  for (int pair = 0; pair < pairs; ++pair) {
    double mine = 0, lt = 0, top = 0;
    const auto run_ours = [&] { mine = ours.microseconds(gpu); };
    const auto run_theirs = [&] {
      if (first) lt = first->microseconds(gpu);
      top = best ? best->microseconds(gpu) : lt;
    };
    if (pair % 2 == 0) {
      run_ours();
      run_theirs();
    } else {
      run_theirs();
      run_ours();
    }
    our_us.push_back(mine);
    first_us.push_back(lt);
    best_us.push_back(top);
    over_first.push_back(lt / mine);
    over_best.push_back(top / mine);
  }
  result.bwgemm_us = spread(our_us).median;
  result.first_us = spread(first_us).median;
  result.best_us = spread(best_us).median;
  result.over_first = spread(over_first);
  result.over_best = spread(over_best);
  result.end = under_load(gpu, sensors, ours);
  return result;
}

}  // namespace bwgemm::bench
