// SPDX-License-Identifier: Apache-2.0
// Trace: a role's record of what it does when. Exists only in kernels that the benchmark compiles
// with BWGEMM_TRACE and launches with TracedParams; everywhere else its calls are nothing.
#pragma once

#include "device/params.h"
#include "device/ptx/attributes.h"
#include "device/trace_events.h"

#ifdef BWGEMM_TRACE
#include "device/ptx/timer.h"
#endif

namespace bwgemm {

#ifdef BWGEMM_TRACE

class Trace {
 public:
  // `number`: among the CTA's roles of that kind. `writes`: in one thread of the role.
  BWGEMM_DEVICE Trace(const KernelParams& params, TraceRole role, int number, bool writes) {
    const TraceBuffer& buffer = static_cast<const TracedParams&>(params).trace;
    const std::uint64_t track =
        std::uint64_t{blockIdx.x} * trace_tracks + first_trace_track(role) + number;
    next_ = buffer.stamps + track * buffer.stamps_per_track;
    room_ = buffer.stamps_per_track;
    left_ = writes ? room_ : 0;
    (*this)(TraceEvent::begin, trace_begin(role, ptx::smid()));
  }
  BWGEMM_DEVICE ~Trace() { (*this)(TraceEvent::end); }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  BWGEMM_DEVICE void operator()(TraceEvent event, std::uint32_t index = 0) {
    if (left_ == 0) return;
    *next_++ = {ptx::globaltimer(), event, index};
    --left_;
  }

  // As soon as `loaded`, which a load brings, is there: whether stamps are left seems to depend on
  // it. The buffers have room for more than 32 stamps.
  BWGEMM_DEVICE void when_there(std::uint32_t loaded, TraceEvent event, std::uint32_t index) {
    left_ -= __funnelshift_rc(loaded, 0, room_);
    (*this)(event, index);
  }

 private:
  TraceStamp* next_;
  std::uint32_t left_;
  std::uint32_t room_;
};

#else

class Trace {
 public:
  BWGEMM_DEVICE Trace(const KernelParams&, TraceRole, int, bool) {}
  BWGEMM_DEVICE void operator()(TraceEvent, std::uint32_t = 0) const {}
  BWGEMM_DEVICE void when_there(std::uint32_t, TraceEvent, std::uint32_t) const {}
};

#endif

}  // namespace bwgemm
