// SPDX-License-Identifier: Apache-2.0
// The test double of libcuda: graphs, and user objects that they keep alive.
#include <thread>
#include <utility>

#include "support/fake_libcuda.h"

namespace bwgemm::test {
namespace {

FakeGraph* graph_of(FakeDriver& fake, CUgraph handle) {
  auto* wanted = reinterpret_cast<FakeGraph*>(handle);
  for (const auto& graph : fake.graphs)
    if (graph.get() == wanted && graph->is_alive) return wanted;
  for (const auto* list : {&fake.streams, &fake.legacy_streams})
    for (const auto& stream : *list)
      if (stream->capture != nullptr && stream->capture->graph.get() == wanted) return wanted;
  return nullptr;
}

FakeUserObject* object_of(FakeDriver& fake, CUuserObject handle) {
  for (const auto& object : fake.user_objects)
    if (reinterpret_cast<CUuserObject>(object.get()) == handle) return object.get();
  return nullptr;
}

void end_if_unused(FakeUserObject& object) {
  if (object.is_alive()) return;
  FakeDriver& fake = FakeDriver::get();
  fake.ended.push_back(object);
  std::erase_if(fake.user_objects, [&](const auto& one) { return one.get() == &object; });
}

CUresult misused(FakeDriver& fake, const char* what) {
  fake.misused(what);
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult destroy(FakeGraph* graph) {
  graph->is_alive = false;
  graph->references.clear();
  return CUDA_SUCCESS;
}

}  // namespace

void FakeReferences::add(const FakeReferences& other) {
  for (const auto& [object, count] : other.counts_) add(*object, count);
}

bool FakeReferences::add(FakeUserObject& object, long count) {
  const auto held = counts_.try_emplace(&object, 0).first;
  const bool is_enough = held->second + count >= 0;
  if (is_enough) {
    held->second += count;
    object.of_graphs += count;
  }
  if (held->second == 0) counts_.erase(held);
  end_if_unused(object);
  return is_enough;
}

void FakeReferences::clear() {
  const std::map<FakeUserObject*, long> released = std::exchange(counts_, {});
  for (const auto& [object, count] : released) {
    object->of_graphs -= count;
    end_if_unused(*object);
  }
}

void FakeDriver::run_destructors() {
  std::vector<FakeUserObject> due;
  {
    const std::lock_guard lock(mutex);
    due.swap(ended);
  }
  std::thread([&] {
    runs_destructor = true;
    for (const FakeUserObject& object : due) object.destroy(object.data);
  }).join();
}

}  // namespace bwgemm::test

using namespace bwgemm::test;

// ---- graphs -------------------------------------------------------------------------------------

FAKE_CUDA_ENTRY CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                     unsigned long long) {
  const FakeDriver::Call call("cuGraphInstantiate");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  const auto* source = reinterpret_cast<FakeGraph*>(graph);
  fake.graphs.push_back(
      std::make_unique<FakeGraph>(FakeGraph{source->work, source->references, true}));
  *exec = reinterpret_cast<CUgraphExec>(fake.graphs.back().get());
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  const FakeDriver::Call call("cuGraphLaunch");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  const auto* graph = reinterpret_cast<FakeGraph*>(exec);
  const CUresult result = fake.enqueue(handle, "cuGraphLaunch", [graph] {
    for (const auto& work : graph->work) work();
  });
  if (result != CUDA_SUCCESS) return result;
  const FakeStream* stream = fake.stream(handle, "cuGraphLaunch");
  if (stream->capture != nullptr) stream->capture->graph->references.add(graph->references);
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuGraphExecDestroy(CUgraphExec exec) {
  const FakeDriver::Call call("cuGraphExecDestroy");
  destroy(reinterpret_cast<FakeGraph*>(exec));
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuGraphDestroy(CUgraph graph) {
  const FakeDriver::Call call("cuGraphDestroy");
  destroy(reinterpret_cast<FakeGraph*>(graph));
  return call.fault();
}

// ---- user objects -------------------------------------------------------------------------------

FAKE_CUDA_ENTRY CUresult cuUserObjectCreate(CUuserObject* object, void* data, CUhostFn destroy,
                                            unsigned references, unsigned flags) {
  const FakeDriver::Call call("cuUserObjectCreate");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  if (references == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return misused(fake, "cuUserObjectCreate with what is no count or no flag");
  fake.user_objects.push_back(
      std::make_unique<FakeUserObject>(FakeUserObject{destroy, data, long{references}}));
  *object = reinterpret_cast<CUuserObject>(fake.user_objects.back().get());
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuUserObjectRetain(CUuserObject handle, unsigned count) {
  const FakeDriver::Call call("cuUserObjectRetain");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  FakeUserObject* object = object_of(fake, handle);
  if (object == nullptr || count == 0) return misused(fake, "cuUserObjectRetain of no object");
  object->of_program += count;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuUserObjectRelease(CUuserObject handle, unsigned count) {
  const FakeDriver::Call call("cuUserObjectRelease");
  FakeDriver& fake = FakeDriver::get();
  FakeUserObject* object = object_of(fake, handle);
  if (object == nullptr || count == 0 || object->of_program < count)
    return misused(fake, "cuUserObjectRelease of more than the program holds");
  object->of_program -= count;
  end_if_unused(*object);
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject held, unsigned count,
                                                 unsigned flags) {
  const FakeDriver::Call call("cuGraphRetainUserObject");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  FakeGraph* graph = graph_of(fake, handle);
  FakeUserObject* object = object_of(fake, held);
  const bool moves = flags == CU_GRAPH_USER_OBJECT_MOVE;
  if (graph == nullptr || object == nullptr || count == 0 || (flags != 0 && !moves) ||
      (moves && object->of_program < count))
    return misused(fake, "cuGraphRetainUserObject of what is not there");
  graph->references.add(*object, count);
  if (moves) object->of_program -= count;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject held,
                                                  unsigned count) {
  const FakeDriver::Call call("cuGraphReleaseUserObject");
  FakeDriver& fake = FakeDriver::get();
  FakeGraph* graph = graph_of(fake, handle);
  FakeUserObject* object = object_of(fake, held);
  if (graph == nullptr || object == nullptr || count == 0 ||
      !graph->references.add(*object, -long{count}))
    return misused(fake, "cuGraphReleaseUserObject of what the graph does not hold");
  return call.fault();
}
