// SPDX-License-Identifier: Apache-2.0
// ladder_times: checks the steps of the ladder, and times them in turn with what bwgemm chooses and
// cuBLASLt's first result.
#pragma once

#include <string>
#include <vector>

#include "gpu.h"
#include "measure.h"
#include "sensors.h"

namespace bwgemm::bench {

struct LadderOptions {
  int size = 4096;      // m, n and k of what is timed
  bool compare = true;  // with cuBLASLt
  MeasureOptions measure;
};

struct LadderRow {
  std::string name, technique, kernel;
  std::string check = "not run";  // "ok" or what is wrong
  double us = 0, tflops = 0;      // 0: not timed
  Sensors::Reading reading;       // under its load
};

// Prints a line each. On a virtual GPU nothing is timed.
std::vector<LadderRow> climb(const Gpu& gpu, const Sensors& sensors, const LadderOptions& options);

bool all_good(const std::vector<LadderRow>& rows);
std::string ladder_csv(const std::vector<LadderRow>& rows, int size);

}  // namespace bwgemm::bench
