// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/stream.h"

#include "vgpu/driver/driver.h"

namespace bwgemm::vgpu::driver {
namespace {

thread_local bool null_is_per_thread = false;

// Distinct for every thread that ever ran, unlike its id. Under the driver's lock.
unsigned long long thread_ordinal() {
  static unsigned long long last = 0;
  thread_local const unsigned long long mine = ++last;
  return mine;
}

Stream& per_thread_stream(Context& context) {
  auto& stream = context.per_thread[thread_ordinal()];
  if (stream == nullptr)
    stream = std::make_unique<Stream>(context, Stream::Kind::per_thread, 0u, 0);
  return *stream;
}

// What the legacy stream waits for, and what waits for it.
void add_legacy_order(const Stream& stream, std::vector<Ticket>& after) {
  const Context& context = *stream.context;
  if (stream.is_blocking()) after.push_back(context.legacy->last);
  if (stream.kind != Stream::Kind::legacy) return;
  for (const auto& [thread, other] : context.per_thread) after.push_back(other->last);
  Driver::get().streams.for_each([&](const Stream& other) {
    if (other.context == &context && other.is_blocking()) after.push_back(other.last);
  });
}

}  // namespace

Stream::Stream(Context& of, Kind kind_of, unsigned flags_of, int priority_of)
    : context(&of),
      kind(kind_of),
      flags(flags_of),
      priority(priority_of),
      id(++Driver::get().last_id) {}

PerThreadDefaultStream::PerThreadDefaultStream() {
  null_is_per_thread = true;
}

PerThreadDefaultStream::~PerThreadDefaultStream() {
  null_is_per_thread = false;
}

Stream& stream_of(CUstream handle) {
  const bool is_null = handle == nullptr;
  if (handle == CU_STREAM_PER_THREAD || (is_null && null_is_per_thread))
    return per_thread_stream(current_context());
  if (is_null || handle == CU_STREAM_LEGACY) return *current_context().legacy;
  return Driver::get().streams.get(handle);
}

Ticket submit_unordered(Stream& stream, Work work, const std::vector<Ticket>& after) {
  return Driver::get().scheduler.submit(*stream.context, std::move(work), after);
}

Ticket submit(Stream& stream, Work work, std::vector<Ticket> after) {
  after.push_back(stream.last);
  add_legacy_order(stream, after);
  stream.last = submit_unordered(stream, std::move(work), after);
  return stream.last;
}

void enqueue(Stream& stream, CUgraphNodeType type, Work work) {
  forbid_implicit_dependency(stream);
  if (stream.capture != nullptr)
    add_to_capture(stream, type, std::move(work));
  else
    submit(stream, std::move(work));
}

void synchronize(Stream& stream) {
  Scheduler& scheduler = Driver::get().scheduler;
  std::vector<Ticket> after{stream.last};
  if (stream.kind == Stream::Kind::legacy) add_legacy_order(stream, after);
  for (const Ticket& ticket : after) scheduler.finish(ticket);
  require(stream.context->error == CUDA_SUCCESS, stream.context->error);
}

void record(Event& event, Stream& stream) {
  require(event.context == stream.context, CUDA_ERROR_INVALID_HANDLE);
  forbid_implicit_dependency(stream);
  const bool is_captured = stream.capture != nullptr;
  if (is_captured) require(stream.capture->is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  event.is_recorded = true;
  event.was_captured = is_captured;
  event.capture = stream.capture;
  event.nodes = stream.tail;
  event.ticket = is_captured ? nullptr : submit(stream, nullptr);
}

void wait(Stream& stream, Event& event) {
  if (!event.is_recorded) return;
  forbid_implicit_dependency(stream);
  if (event.was_captured) {
    const std::shared_ptr<Capture> capture = event.capture.lock();
    require_value(capture != nullptr);  // it ended: the event stands for nothing now
    join_capture(stream, capture, event.nodes);
    return;
  }
  if (stream.capture != nullptr) {
    require(stream.capture->is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  }
  submit(stream, nullptr, {event.ticket});
}

}  // namespace bwgemm::vgpu::driver
