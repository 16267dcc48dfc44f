// SPDX-License-Identifier: Apache-2.0
// The test double of libcuda: events. Time is what launches are said to take.
#include "support/fake_libcuda.h"

#undef cuEventDestroy
#undef cuEventElapsedTime

using namespace bwgemm::test;

namespace {

FakeEvent* event_of(CUevent handle, const char* entry) {
  FakeDriver& fake = FakeDriver::get();
  for (const auto& event : fake.events)
    if (reinterpret_cast<CUevent>(event.get()) == handle && event->is_alive) return event.get();
  fake.misused(std::string(entry) + " with what is no event");
  return nullptr;
}

}  // namespace

FAKE_CUDA_ENTRY void fake_cuda_time_launches(double (*duration)(const FakeLaunch&)) {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  fake.duration = duration;
}

// Work of another library, which launches nothing and takes that long between two events.
FAKE_CUDA_ENTRY CUresult fake_cuda_spend(CUstream stream, double microseconds) {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  return fake.enqueue(stream, "fake_cuda_spend", [=, &fake] { fake.clock += microseconds; });
}

FAKE_CUDA_ENTRY CUresult cuEventCreate(CUevent* event, unsigned) {
  const FakeDriver::Call call("cuEventCreate");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  if (fake.current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  fake.events.push_back(std::make_unique<FakeEvent>(FakeEvent{fake.current()}));
  *event = reinterpret_cast<CUevent>(fake.events.back().get());
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuEventDestroy_v2(CUevent handle) {
  const FakeDriver::Call call("cuEventDestroy");
  FakeEvent* event = event_of(handle, "cuEventDestroy");
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  event->is_alive = false;
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuEventRecord(CUevent handle, CUstream stream) {
  const FakeDriver::Call call("cuEventRecord");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  FakeEvent* event = event_of(handle, "cuEventRecord");
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const FakeStream* into = fake.stream(stream, "cuEventRecord")) event->capture = into->capture;
  return fake.enqueue(stream, "cuEventRecord", [event, &fake] { event->at = fake.clock; });
}

// Work is done in the order of its calls: waiting only makes the stream part of a capture.
FAKE_CUDA_ENTRY CUresult cuStreamWaitEvent(CUstream handle, CUevent awaited, unsigned) {
  const FakeDriver::Call call("cuStreamWaitEvent");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  const FakeEvent* event = event_of(awaited, "cuStreamWaitEvent");
  FakeStream* stream = FakeDriver::get().stream(handle, "cuStreamWaitEvent");
  if (event == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<FakeCapture> capture = event->capture.lock();
  if (stream->capture == nullptr) stream->capture = capture;
  if (stream->capture == capture) return CUDA_SUCCESS;
  stream->capture->is_valid = false;
  if (capture == nullptr) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  capture->is_valid = false;
  return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

FAKE_CUDA_ENTRY CUresult cuEventQuery(CUevent handle) {
  const FakeDriver::Call call("cuEventQuery");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  if (event_of(handle, "cuEventQuery") == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return FakeDriver::get().unsafe_in_capture();
}

FAKE_CUDA_ENTRY CUresult cuEventSynchronize(CUevent handle) {
  const FakeDriver::Call call("cuEventSynchronize");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  if (event_of(handle, "cuEventSynchronize") == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return FakeDriver::get().unsafe_in_capture();
}

FAKE_CUDA_ENTRY CUresult cuEventElapsedTime(float* milliseconds, CUevent first, CUevent last) {
  const FakeDriver::Call call("cuEventElapsedTime");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  const FakeEvent* begin = event_of(first, "cuEventElapsedTime");
  const FakeEvent* end = event_of(last, "cuEventElapsedTime");
  if (begin == nullptr || end == nullptr || begin->at < 0 || end->at < 0)
    return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = static_cast<float>((end->at - begin->at) * 1e-3);
  return CUDA_SUCCESS;
}

// As the driver exports it since CUDA 12.8.
FAKE_CUDA_ENTRY CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent first, CUevent last) {
  return cuEventElapsedTime(milliseconds, first, last);
}
