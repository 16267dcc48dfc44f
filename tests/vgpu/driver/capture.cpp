// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/capture.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "vgpu/driver/driver.h"

namespace bwgemm::vgpu::driver {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

void leave(Stream& stream) {
  stream.capture = nullptr;
  stream.tail.clear();
}

// The capture is over: no stream takes part in it any more.
void dissolve(const std::shared_ptr<Capture>& capture) {
  for (Stream* stream : capture->streams) leave(*stream);
  capture->streams.clear();
  std::erase(Driver::get().captures, capture);
}

// True if every node leads to the origin's end.
bool is_joined(const Capture& capture) {
  std::vector<const Node*> open(capture.origin->tail.begin(), capture.origin->tail.end());
  std::unordered_set<const Node*> reached;
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (reached.insert(node).second)
      open.insert(open.end(), node->after.begin(), node->after.end());
  }
  return reached.size() == capture.graph->nodes.size();
}

bool forbids_unsafe_calls(const Capture& capture) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id())
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

// Invalidates all captures that match, and fails if there is any.
template <class Predicate>
void invalidate_if(CUresult result, const Predicate& matches) {
  bool is_any = false;
  for (const auto& capture : Driver::get().captures) {
    if (!matches(*capture)) continue;
    capture->is_valid = false;
    is_any = true;
  }
  require(!is_any, result);
}

bool has_blocking_stream_of(const Capture& capture, const Context& context) {
  return std::any_of(capture.streams.begin(), capture.streams.end(), [&](const Stream* stream) {
    return stream->context == &context && stream->is_blocking();
  });
}

}  // namespace

void begin_capture(Stream& stream, CUstreamCaptureMode mode) {
  forbid_implicit_dependency(stream);
  require(stream.kind != Stream::Kind::legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  require(stream.capture == nullptr, CUDA_ERROR_ILLEGAL_STATE);
  Driver& driver = Driver::get();
  auto capture = std::make_shared<Capture>();
  capture->origin = &stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ++driver.last_id;
  capture->graph = std::make_shared<Graph>();
  capture->streams = {&stream};
  stream.capture = capture;
  driver.captures.push_back(capture);
}

std::shared_ptr<Graph> end_capture(Stream& stream) {
  forbid_implicit_dependency(stream);
  const std::shared_ptr<Capture> capture = stream.capture;
  require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  if (capture->origin != &stream) invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  const bool is_right_thread = capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
                               capture->thread == std::this_thread::get_id();
  const bool is_complete = is_joined(*capture);
  dissolve(capture);
  require(capture->is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  require(is_right_thread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  require(is_complete, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  return capture->graph;
}

void abandon_capture(Stream& stream) {
  if (stream.capture == nullptr) return;
  const std::shared_ptr<Capture> capture = stream.capture;
  capture->is_valid = false;
  if (capture->origin == &stream) return dissolve(capture);
  std::erase(capture->streams, &stream);
  leave(stream);
}

void join_capture(Stream& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<Node*>& nodes) {
  if (stream.kind == Stream::Kind::legacy) invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  if (stream.capture != nullptr && stream.capture != capture) {
    stream.capture->is_valid = false;
    invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  require(capture->is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (stream.capture == nullptr) {
    stream.capture = capture;
    capture->streams.push_back(&stream);
  }
  for (Node* node : nodes)
    if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end())
      stream.tail.push_back(node);
}

void add_to_capture(Stream& stream, CUgraphNodeType type, Work work) {
  Capture& capture = *stream.capture;
  require(capture.is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  stream.tail = {&capture.graph->add(type, std::move(work), stream.tail)};
}

void invalidate(Capture& capture, CUresult result) {
  capture.is_valid = false;
  fail(result);
}

void forbid_during_capture() {
  invalidate_if(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, forbids_unsafe_calls);
}

void forbid_captured(Stream& stream) {
  if (stream.capture != nullptr) invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void forbid_captured(const Context& context) {
  invalidate_if(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&](const Capture& capture) {
    return std::any_of(capture.streams.begin(), capture.streams.end(),
                       [&](const Stream* stream) { return stream->context == &context; });
  });
}

void forbid_implicit_dependency(const Stream& stream) {
  if (stream.kind != Stream::Kind::legacy) return;
  invalidate_if(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, [&](const Capture& capture) {
    return has_blocking_stream_of(capture, *stream.context);
  });
}

CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

}  // namespace bwgemm::vgpu::driver
