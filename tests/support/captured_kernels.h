// SPDX-License-Identifier: Apache-2.0
// What a captured graph would launch, as the driver tells it.
#pragma once

#include <string>
#include <vector>

#include "support/driver.h"

namespace bwgemm::test {

struct CapturedKernel {
  std::string name;
  int ctas;
};

struct CapturedKernels {
  std::vector<CapturedKernel> kernels;  // in any order
  bool is_chain;         // each but the first comes behind another one, and there is nothing else
  bool may_run_at_once;  // some may begin before the one in front of them ends
};

// Expects nothing but kernels in the graph.
CapturedKernels captured_kernels(CUgraph graph);

}  // namespace bwgemm::test
