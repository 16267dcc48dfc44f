// SPDX-License-Identifier: Apache-2.0
// Entry points: streams and events.
#include <algorithm>
#include <chrono>

#include "vgpu/driver/driver.h"

using namespace bwgemm::vgpu::driver;

namespace {

CUresult create(CUstream* handle, unsigned flags, int priority) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(handle != nullptr && (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0);
    *handle =
        driver.streams.add(std::make_shared<Stream>(current_context(), Stream::Kind::created, flags,
                                                    std::clamp(priority, most_urgent_priority, 0)));
  });
}

// For questions about a stream as such.
template <class Value, class Read>
CUresult ask(CUstream handle, Value* answer, const Read& read) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(answer != nullptr);
    *answer = read(stream_of(handle));
  });
}

// Both waiting for a stream and asking whether it is done are refused while it is being captured.
void check_waitable(Stream& stream) {
  forbid_captured(stream);
  forbid_implicit_dependency(stream);
  forbid_during_capture();
}

// The same for an event.
void check_waitable(Event& event) {
  if (event.was_captured) {
    const std::shared_ptr<Capture> capture = event.capture.lock();
    require_value(capture != nullptr);
    invalidate(*capture, CUDA_ERROR_CAPTURED_EVENT);
  }
  forbid_during_capture();
}

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  return call(Needs::working_context, [&](Driver& driver) {
    const Event& first = driver.events.get(start);
    const Event& second = driver.events.get(end);
    for (const Event* event : {&first, &second}) {
      require(!event->was_captured, CUDA_ERROR_CAPTURED_EVENT);
      require(event->is_recorded && (event->flags & CU_EVENT_DISABLE_TIMING) == 0,
              CUDA_ERROR_INVALID_HANDLE);
    }
    require_value(milliseconds != nullptr);
    require(first.ticket->is_done() && second.ticket->is_done(), CUDA_ERROR_NOT_READY);
    *milliseconds = std::chrono::duration<float, std::milli>(second.ticket->finished_at() -
                                                             first.ticket->finished_at())
                        .count();
  });
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return create(stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return create(stream, flags, priority);
}

// Work that is still in it goes on.
CUresult cuStreamDestroy(CUstream handle) {
  return call(Needs::context, [&](Driver& driver) {
    abandon_capture(driver.streams.get(handle));
    static_cast<void>(driver.streams.take(handle));
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return call(Needs::working_context, [&](Driver& driver) {
    Stream& stream = stream_of(handle);
    check_waitable(stream);
    driver.scheduler.pass_time();
    require(stream.context->error == CUDA_SUCCESS, stream.context->error);
    require(stream.last == nullptr || stream.last->is_done(), CUDA_ERROR_NOT_READY);
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return call(Needs::working_context, [&](Driver&) {
    Stream& stream = stream_of(handle);
    check_waitable(stream);
    synchronize(stream);
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  return call(Needs::working_context, [&](Driver& driver) {
    Event& awaited = driver.events.get(event);
    require_value((flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) == 0);
    wait(stream_of(handle), awaited);
  });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return ask(handle, context, [](Stream& stream) { return stream.context->handle(); });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return ask(handle, id, [](Stream& stream) {
    forbid_captured(stream);
    return stream.id;
  });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return ask(handle, flags, [](Stream& stream) { return stream.flags; });
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return ask(handle, priority, [](Stream& stream) { return stream.priority; });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return ask(handle, device, [](Stream& stream) { return stream.context->ordinal; });
}

CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  return call(Needs::working_context, [&](Driver& driver) {
    constexpr unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    require_value(handle != nullptr && (flags & ~known) == 0);
    auto event = std::make_shared<Event>();
    event->context = &current_context();
    event->flags = flags;
    *handle = driver.events.add(std::move(event));
  });
}

CUresult cuEventDestroy(CUevent handle) {
  return call(Needs::context,
              [&](Driver& driver) { static_cast<void>(driver.events.take(handle)); });
}

CUresult cuEventRecord(CUevent handle, CUstream stream) {
  return call(Needs::working_context,
              [&](Driver& driver) { record(driver.events.get(handle), stream_of(stream)); });
}

CUresult cuEventQuery(CUevent handle) {
  return call(Needs::working_context, [&](Driver& driver) {
    Event& event = driver.events.get(handle);
    check_waitable(event);
    driver.scheduler.pass_time();
    require(event.context->error == CUDA_SUCCESS, event.context->error);
    require(event.ticket == nullptr || event.ticket->is_done(), CUDA_ERROR_NOT_READY);
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return call(Needs::working_context, [&](Driver& driver) {
    Event& event = driver.events.get(handle);
    check_waitable(event);
    driver.scheduler.finish(event.ticket);
    require(event.context->error == CUDA_SUCCESS, event.context->error);
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}

CUresult vgpu_event_elapsed_time_v1(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
