// SPDX-License-Identifier: Apache-2.0
// ceiling: the rates that no product can exceed on this GPU, measured by kernels that do one thing.
#pragma once

#include <string>
#include <vector>

#include "gpu.h"
#include "sensors.h"

namespace bwgemm::bench {

struct Ceiling {
  std::string name;  // such as tensor_2x256: two warpgroups of 64 x 256
  std::string unit;
  double burst = 0;      // the first milliseconds after a pause
  double sustained = 0;  // under continuous load
  Sensors::Reading burst_reading, sustained_reading;
};

// Prints a line each.
std::vector<Ceiling> measure_ceilings(const Gpu& gpu, const Sensors& sensors);

std::string ceiling_csv(const std::vector<Ceiling>& ceilings);

}  // namespace bwgemm::bench
