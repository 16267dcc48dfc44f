// SPDX-License-Identifier: Apache-2.0
// The test double of libcuda: capture, graphs and the user objects that they hold.
#include "support/fake_libcuda.h"

using namespace bwgemm::test;

namespace {

FakeGraph* new_graph(FakeDriver& fake, FakeGraph graph) {
  fake.graphs.push_back(std::make_unique<FakeGraph>(std::move(graph)));
  return fake.graphs.back().get();
}

void destroy(FakeGraph& graph) {
  graph.is_alive = false;
  graph.work = {};
  graph.objects.clear();
}

// Null (and noted as misuse) if there is none, or not so many references of the caller.
FakeUserObject* user_object(CUuserObject handle, unsigned references, const char* entry) {
  FakeDriver& fake = FakeDriver::get();
  for (FakeUserObject& object : fake.user_objects)
    if (reinterpret_cast<CUuserObject>(&object) == handle && object.references >= references)
      return &object;
  fake.misused(std::string(entry) + " of what is no user object, or of more references than left");
  return nullptr;
}

void release(FakeUserObject& object, unsigned references) {
  object.references -= references;
  if (object.references > 0) return;
  FakeDriver::get().user_objects.remove_if([&](const auto& one) { return &one == &object; });
}

}  // namespace

FAKE_CUDA_ENTRY CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  if (FakeDriver::is_quick) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  }
  const FakeDriver::Call call("cuStreamIsCapturing");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  const FakeStream* stream = fake.stream(handle, "cuStreamIsCapturing");
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *status = stream->status();
  for (const auto& other : fake.streams)
    if (stream->is_legacy && other->is_blocking && other->context == stream->context &&
        other->status() == CU_STREAM_CAPTURE_STATUS_ACTIVE)
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  return CUDA_SUCCESS;
}

// What the library does not ask for is not told.
FAKE_CUDA_ENTRY CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status,
                                                   cuuint64_t* id, CUgraph* graph,
                                                   const CUgraphNode**, const CUgraphEdgeData**,
                                                   std::size_t*) {
  const FakeDriver::Call call("cuStreamGetCaptureInfo");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  const FakeStream* stream = FakeDriver::get().stream(handle, "cuStreamGetCaptureInfo");
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *status = stream->status();
  if (stream->status() != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  *id = stream->capture->id;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(stream->capture->graph);
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  const FakeDriver::Call call("cuThreadExchangeStreamCaptureMode");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  std::swap(*mode, FakeDriver::get().capture_mode());
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  const FakeDriver::Call call("cuStreamBeginCapture");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  FakeStream* stream = fake.stream(handle, "cuStreamBeginCapture");
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  stream->capture = std::make_shared<FakeCapture>(
      FakeCapture{++fake.last_id, stream, mode, new_graph(fake, {}), std::this_thread::get_id()});
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  const FakeDriver::Call call("cuStreamEndCapture");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  FakeStream* stream = fake.stream(handle, "cuStreamEndCapture");
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<FakeCapture> capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  *graph = nullptr;
  if (capture->origin != stream) {
    capture->is_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  for (const auto* list : {&fake.streams, &fake.legacy_streams})
    for (const auto& other : *list)
      if (other->capture == capture) other->capture = nullptr;
  if (!capture->is_valid) {
    destroy(*capture->graph);
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  *graph = reinterpret_cast<CUgraph>(capture->graph);
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                     unsigned long long) {
  const FakeDriver::Call call("cuGraphInstantiate");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  *exec = reinterpret_cast<CUgraphExec>(
      new_graph(FakeDriver::get(), *reinterpret_cast<FakeGraph*>(graph)));
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  const FakeDriver::Call call("cuGraphLaunch");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return FakeDriver::get().enqueue(stream, "cuGraphLaunch", [exec] {
    for (const auto& work : reinterpret_cast<FakeGraph*>(exec)->work) work();
  });
}

FAKE_CUDA_ENTRY CUresult cuGraphExecDestroy(CUgraphExec exec) {
  const FakeDriver::Call call("cuGraphExecDestroy");
  destroy(*reinterpret_cast<FakeGraph*>(exec));
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuGraphDestroy(CUgraph graph) {
  const FakeDriver::Call call("cuGraphDestroy");
  destroy(*reinterpret_cast<FakeGraph*>(graph));
  return call.fault();
}

// ---- user objects -------------------------------------------------------------------------------

FAKE_CUDA_ENTRY CUresult cuUserObjectCreate(CUuserObject* object, void* data, CUhostFn end,
                                            unsigned references, unsigned flags) {
  const FakeDriver::Call call("cuUserObjectCreate");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  if (references == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return CUDA_ERROR_INVALID_VALUE;
  auto& objects = FakeDriver::get().user_objects;
  objects.push_front({references, std::shared_ptr<void>(data, end)});
  *object = reinterpret_cast<CUuserObject>(&objects.front());
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuUserObjectRelease(CUuserObject handle, unsigned references) {
  const FakeDriver::Call call("cuUserObjectRelease");
  FakeUserObject* object = user_object(handle, references, "cuUserObjectRelease");
  if (object == nullptr) return CUDA_ERROR_INVALID_VALUE;
  release(*object, references);
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject handle,
                                                 unsigned references, unsigned flags) {
  const FakeDriver::Call call("cuGraphRetainUserObject");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeUserObject* object = user_object(handle, references, "cuGraphRetainUserObject");
  if (object == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* const holder = reinterpret_cast<FakeGraph*>(graph);
  if (!holder->is_alive)
    FakeDriver::get().misused("cuGraphRetainUserObject with a graph that is gone");
  holder->objects.push_back(object->data);
  if (flags == CU_GRAPH_USER_OBJECT_MOVE) release(*object, references);
  return CUDA_SUCCESS;
}
