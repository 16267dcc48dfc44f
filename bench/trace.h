// SPDX-License-Identifier: Apache-2.0
// trace: runs the traced build of the kernel that the library would launch for a problem, with the
// launch and the parameters that the library gives it.
#pragma once

#include <string>

#include "gpu.h"
#include "problem.h"
#include "sensors.h"
#include "timeline.h"

namespace bwgemm::bench {

struct Traced {
  std::string kernel;
  std::vector<TraceTrack> tracks;
  TraceShares shares;
};

// On at most `sm_count` multiprocessors (0: all), after `warm_ms` of load by the same call. Throws
// std::runtime_error; where the kernel has no traced build, with the way to make one.
Traced run_traced(const Gpu& gpu, const Sensors& sensors, const BenchProblem& problem, int sm_count,
                  double warm_ms);

}  // namespace bwgemm::bench
