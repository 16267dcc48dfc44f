// SPDX-License-Identifier: Apache-2.0
// The program's other modes than measuring: those that only read files, and the instruments that
// need a GPU.
#pragma once

#include <vector>

#include "options.h"
#include "problem.h"

namespace bwgemm::bench {

bool is_offline(const Options& options);

// Return the exit status; throw std::runtime_error.
int run_offline(const Options& options);
int run_instrument(const Options& options, const std::vector<BenchProblem>& problems);

}  // namespace bwgemm::bench
