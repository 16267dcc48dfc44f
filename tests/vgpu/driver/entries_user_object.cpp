// SPDX-License-Identifier: Apache-2.0
// Entry points: user objects, and the references to them that graphs hold.
#include <limits>

#include "vgpu/driver/driver.h"

using namespace bwgemm::vgpu::driver;

namespace {

void require_count(unsigned count) {
  require_value(count > 0 && count <= unsigned{std::numeric_limits<int>::max()});
}

UserObject& object_of(const Driver& driver, CUuserObject handle) {
  return driver.user_objects.get(handle, CUDA_ERROR_INVALID_VALUE);
}

// Takes references of the program's that it must hold; the object may be gone afterwards.
void release(UserObject& object, unsigned count) {
  require_value(object.of_program >= count);
  object.of_program -= count;
  end_if_unused(object);
}

// A graph that the program has, or one under capture.
Graph& graph_of(const Driver& driver, CUgraph handle) {
  for (const auto& capture : driver.captures)
    if (Graphs::handle_of(*capture->graph) == handle) return *capture->graph;
  return driver.graphs.get(handle, CUDA_ERROR_INVALID_VALUE);
}

}  // namespace

CUresult cuUserObjectCreate(CUuserObject* object, void* data, CUhostFn destroy, unsigned references,
                            unsigned flags) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(object != nullptr && destroy != nullptr &&
                  flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    require_count(references);
    driver.destructors.begin();
    *object = driver.user_objects.add(
        std::make_shared<UserObject>(UserObject{{destroy, data}, references, 0}));
  });
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
  return call(Needs::driver, [&](Driver& driver) {
    require_count(count);
    object_of(driver, object).of_program += count;
  });
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  return call(Needs::driver, [&](Driver& driver) {
    require_count(count);
    release(object_of(driver, object), count);
  });
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject handle, unsigned count,
                                 unsigned flags) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value((flags & ~unsigned{CU_GRAPH_USER_OBJECT_MOVE}) == 0);
    require_count(count);
    Graph& holder = graph_of(driver, graph);
    UserObject& object = object_of(driver, handle);
    const bool moves = (flags & CU_GRAPH_USER_OBJECT_MOVE) != 0;
    require_value(!moves || object.of_program >= count);
    holder.references.add(object, count);
    if (moves) release(object, count);
  });
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count) {
  return call(Needs::driver, [&](Driver& driver) {
    require_count(count);
    graph_of(driver, graph).references.remove(object_of(driver, object), count);
  });
}
