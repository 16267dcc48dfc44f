// SPDX-License-Identifier: Apache-2.0
// Trace: a role's record of what it does when. Its calls are nothing, except in kernels that the
// benchmark compiles with BWGEMM_TRACE: these include traced.h in front, which has another Trace.
#pragma once

#include "device/params.h"
#include "device/ptx/attributes.h"
#include "device/trace_events.h"

#ifndef BWGEMM_TRACE

namespace bwgemm {

class Trace {
 public:
  BWGEMM_DEVICE Trace(const KernelParams&, TraceRole, int, bool) {}
  BWGEMM_DEVICE void operator()(TraceEvent, std::uint32_t = 0) const {}
  BWGEMM_DEVICE void when_there(std::uint32_t, TraceEvent, std::uint32_t) const {}
};

}  // namespace bwgemm

#endif
