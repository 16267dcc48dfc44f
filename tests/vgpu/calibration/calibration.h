// SPDX-License-Identifier: Apache-2.0
// Asks a device how it behaves where documentation is silent, prints one line per answer, and
// compares them with committed facts. See README.md. Each program has its own questions.
#pragma once

#include <vector>

#include "vgpu/calibration/question.h"

namespace bwgemm::calibration {

// Of the program.
std::vector<int> all_questions();
std::vector<Case> cases_of(int question);

// The program's main. Returns its exit status.
int calibrate(int count, char** arguments);

}  // namespace bwgemm::calibration
