// SPDX-License-Identifier: Apache-2.0
// Trace: a role's record of what it does when. Exists only in kernels that the benchmark compiles
// with BWGEMM_TRACE and launches with TracedParams; everywhere else its calls are nothing.
#pragma once

#include "kernels/params.h"
#include "kernels/ptx/attributes.h"
#include "kernels/trace_events.h"

#ifdef BWGEMM_TRACE
#include "kernels/ptx/timer.h"
#endif

namespace bwgemm {

#ifdef BWGEMM_TRACE

class Trace {
 public:
  // `writes`: in one thread of the role.
  BWGEMM_DEVICE Trace(const KernelParams& params, int track, bool writes) {
    const TraceBuffer& buffer = static_cast<const TracedParams&>(params).trace;
    const std::uint64_t first =
        (std::uint64_t{blockIdx.x} * trace_tracks + track) * buffer.stamps_per_track;
    next_ = buffer.stamps + first;
    left_ = writes ? buffer.stamps_per_track : 0;
    (*this)(TraceEvent::begin, ptx::smid());
  }
  BWGEMM_DEVICE ~Trace() { (*this)(TraceEvent::end); }

  BWGEMM_DEVICE void operator()(TraceEvent event, std::uint32_t index = 0) {
    if (left_ == 0) return;
    *next_++ = {ptx::globaltimer(), event, index};
    --left_;
  }

 private:
  TraceStamp* next_;
  std::uint32_t left_;
};

#else

class Trace {
 public:
  BWGEMM_DEVICE Trace(const KernelParams&, int, bool) {}
  BWGEMM_DEVICE void operator()(TraceEvent, std::uint32_t = 0) const {}
};

#endif

}  // namespace bwgemm
