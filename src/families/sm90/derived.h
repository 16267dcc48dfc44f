// SPDX-License-Identifier: Apache-2.0
// Derived: what follows from the config of a Hopper kernel alone, for selection, which asks for
// many kernels at each call. The compiler computes it for the rows of the table.
#pragma once

#include "families/sm90/parts.h"

namespace bwgemm::sm90 {

struct Derived {
  Warpgroups groups;
  StagedBoxes boxes;
  Parts parts;
  int staging_depth;
};
Derived derived(const KernelConfig& config);

}  // namespace bwgemm::sm90
