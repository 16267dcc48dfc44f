// SPDX-License-Identifier: Apache-2.0
// The Trace of traced kernels, which are launched with TracedParams: it writes stamps.
#pragma once

#include "device/ptx/timer.h"
#include "device/trace.h"
#include "device/trace_stamps.h"

namespace bwgemm {

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

}  // namespace bwgemm
