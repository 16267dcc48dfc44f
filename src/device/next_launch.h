// SPDX-License-Identifier: Apache-2.0
// When the kernel behind this one in the stream may start (programmatic dependent launch).
#pragma once

#include "device/params.h"
#include "device/ptx/sync.h"

namespace bwgemm {

// A thread of each CTA calls this when the CTA has nothing left to load.
BWGEMM_DEVICE void let_next_start(const KernelParams& params) {
  if (params.lets_next_start) ptx::griddepcontrol_launch_dependents();
}

}  // namespace bwgemm
