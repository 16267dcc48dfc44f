// SPDX-License-Identifier: Apache-2.0
// tune: what BWGEMM_TUNE_ON does in front of a call of a kind that the handle meets for the first
// time. A kind is a problem_class().
#pragma once

#include "api/handle.h"

namespace bwgemm {

// Measures, if the tune mode, the call and the stream's captures allow it, and has the handle
// remember what was fastest, or what is predicted if the measurement fails or is not worth it.
// Throws nothing that concerns the measurement. Returns whether what the
// handle now chooses for the call stands: false if a later call may measure. The handle's context
// is current.
bool tune(Handle& handle, const Problem& problem, const CallSettings& call);

}  // namespace bwgemm
