// SPDX-License-Identifier: Apache-2.0
// User objects: who keeps one alive, and when its destructor runs. The expectations are those of
// CUDA's documentation.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "vgpu/driver/conformance/captures.h"

namespace bwgemm::vgpu::driver::test {
namespace {

// The destructors that have run: on the thread whose call ended the last reference (H100, driver
// 580.159), or on one of the driver.
class Ended {
 public:
  void add(const void* object) {
    const std::lock_guard lock(mutex_);
    objects_.push_back(object);
    changed_.notify_all();
  }
  void wait_for(const void* object) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has(object); });
  }
  bool contains(const void* object) {
    const std::lock_guard lock(mutex_);
    return has(object);
  }

 private:
  bool has(const void* object) const {
    return std::find(objects_.begin(), objects_.end(), object) != objects_.end();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const void*> objects_;
};

struct Resource {
  Ended* ended;
};

void CUDA_CB end_resource(void* data) {
  auto* resource = static_cast<Resource*>(data);
  resource->ended->add(resource);
}

class UserObjects : public CaptureTest {
 protected:
  static CUuserObject object_of(Resource& resource, unsigned references = 1) {
    CUuserObject object = nullptr;
    EXPECT_OK(CU(cuUserObjectCreate)(&object, &resource, end_resource, references,
                                     CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    return object;
  }
  static CUgraph graph() {
    CUgraph graph = nullptr;
    EXPECT_OK(CU(cuGraphCreate)(&graph, 0));
    return graph;
  }
  // A graph that holds the one reference to the resource.
  static CUgraph graph_with(Resource& resource) {
    const CUgraph holder = graph();
    give(holder, resource);
    return holder;
  }
  static void give(CUgraph holder, Resource& resource) {
    EXPECT_OK(
        CU(cuGraphRetainUserObject)(holder, object_of(resource), 1, CU_GRAPH_USER_OBJECT_MOVE));
  }
  static CUgraph graph_under_capture(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph captured = nullptr;
    EXPECT_OK(
        CU(cuStreamGetCaptureInfo)(stream, &status, nullptr, &captured, nullptr, nullptr, nullptr));
    EXPECT_NE(captured, nullptr);
    return captured;
  }
  // Destructors run one behind the other: if this one was due, it would have run.
  void expect_alive(Resource& resource) {
    Resource& later = later_.emplace_back(Resource{&ended_});
    EXPECT_OK(CU(cuUserObjectRelease)(object_of(later), 1));
    ended_.wait_for(&later);
    EXPECT_FALSE(ended_.contains(&resource));
  }

  Ended ended_;
  Resource resource_{&ended_};
  std::deque<Resource> later_;
};

TEST_F(UserObjects, EndWithTheLastReference) {
  const CUuserObject object = object_of(resource_, 2);
  EXPECT_OK(CU(cuUserObjectRetain)(object, 3));
  EXPECT_OK(CU(cuUserObjectRelease)(object, 4));
  expect_alive(resource_);
  EXPECT_OK(CU(cuUserObjectRelease)(object, 1));
  ended_.wait_for(&resource_);
}

TEST_F(UserObjects, AGraphSharesOne) {
  const CUuserObject object = object_of(resource_);
  const CUgraph holder = graph();
  EXPECT_OK(CU(cuGraphRetainUserObject)(holder, object, 1, 0));
  EXPECT_OK(CU(cuGraphDestroy)(holder));
  expect_alive(resource_);
  EXPECT_OK(CU(cuUserObjectRelease)(object, 1));
  ended_.wait_for(&resource_);
}

TEST_F(UserObjects, AGraphTakesOneOver) {
  const CUgraph holder = graph_with(resource_);
  expect_alive(resource_);
  EXPECT_OK(CU(cuGraphDestroy)(holder));
  ended_.wait_for(&resource_);
}

TEST_F(UserObjects, AGraphGivesOneBack) {
  const CUuserObject object = object_of(resource_);
  const CUgraph holder = graph();
  EXPECT_OK(CU(cuGraphRetainUserObject)(holder, object, 2, 0));
  EXPECT_OK(CU(cuUserObjectRelease)(object, 1));
  EXPECT_OK(CU(cuGraphReleaseUserObject)(holder, object, 1));
  expect_alive(resource_);
  EXPECT_OK(CU(cuGraphReleaseUserObject)(holder, object, 1));
  ended_.wait_for(&resource_);
  EXPECT_OK(CU(cuGraphDestroy)(holder));
}

TEST_F(UserObjects, ClonesAndExecutableGraphsHoldTheirOwn) {
  const CUgraph holder = graph_with(resource_);
  CUgraph clone = nullptr;
  EXPECT_OK(CU(cuGraphClone)(&clone, holder));
  const CUgraphExec exec = instantiated(holder);
  const CUgraphExec other = instantiated(clone);
  EXPECT_OK(CU(cuGraphDestroy)(holder));
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  expect_alive(resource_);
  EXPECT_OK(CU(cuGraphDestroy)(clone));
  expect_alive(resource_);
  EXPECT_OK(CU(cuGraphExecDestroy)(other));
  ended_.wait_for(&resource_);
}

TEST_F(UserObjects, WhatACloneHoldsIsItsOwn) {
  const CUuserObject object = object_of(resource_, 2);
  const CUgraph holder = graph();
  EXPECT_OK(CU(cuGraphRetainUserObject)(holder, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  const CUgraphExec exec = instantiated(holder);
  EXPECT_OK(CU(cuGraphReleaseUserObject)(holder, object, 1));
  EXPECT_OK(CU(cuUserObjectRelease)(object, 1));
  expect_alive(resource_);
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  ended_.wait_for(&resource_);
  EXPECT_OK(CU(cuGraphDestroy)(holder));
}

TEST_F(UserObjects, EndOnceTheLaunchOfADestroyedGraphIsOver) {
  const CUstream own = stream();
  const CUgraph holder = graph_with(resource_);
  const CUgraphExec exec = instantiated(holder);
  EXPECT_OK(CU(cuGraphLaunch)(exec, own));
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphDestroy)(holder));
  EXPECT_OK(CU(cuStreamSynchronize)(own));
  ended_.wait_for(&resource_);
}

TEST_F(UserObjects, AGraphUnderCaptureHoldsOne) {
  const CUstream own = stream();
  begin(own);
  const CUgraph captured = graph_under_capture(own);
  give(captured, resource_);
  EXPECT_TRUE(is_capturing(own)) << "that does no harm";
  EXPECT_EQ(end(own), captured);
  const CUgraphExec exec = instantiated(captured);
  EXPECT_OK(CU(cuGraphDestroy)(captured));
  expect_alive(resource_);
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  ended_.wait_for(&resource_);
}

TEST_F(UserObjects, EndWithACaptureThatIsLost) {
  const CUstream own = stream();
  begin(own);
  give(graph_under_capture(own), resource_);
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuStreamSynchronize)(own));
  expect_lost(own);
  ended_.wait_for(&resource_);
}

TEST_F(UserObjects, AGraphIsNotLaunchedIntoACapture) {
  const CUstream own = stream();
  const CUgraph inner = graph_with(resource_);
  const CUgraphExec exec = instantiated(inner);
  EXPECT_OK(CU(cuGraphDestroy)(inner));
  begin(own);
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuGraphLaunch)(exec, own));
  expect_lost(own);
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  ended_.wait_for(&resource_);
}

TEST_F(UserObjects, BadArguments) {
  constexpr unsigned flag = CU_USER_OBJECT_NO_DESTRUCTOR_SYNC;
  CUuserObject object = nullptr;
  EXPECT_INVALID_VALUE(CU(cuUserObjectCreate)(nullptr, &resource_, end_resource, 1, flag));
  EXPECT_INVALID_VALUE(CU(cuUserObjectCreate)(&object, &resource_, nullptr, 1, flag));
  EXPECT_INVALID_VALUE(CU(cuUserObjectCreate)(&object, &resource_, end_resource, 0, flag));
  EXPECT_INVALID_VALUE(CU(cuUserObjectCreate)(&object, &resource_, end_resource, 1, 0));
  object = object_of(resource_);
  const CUgraph holder = graph();
  for (const unsigned count : {0u, 0x80000000u}) {
    EXPECT_INVALID_VALUE(CU(cuUserObjectRetain)(object, count));
    EXPECT_INVALID_VALUE(CU(cuUserObjectRelease)(object, count));
    EXPECT_INVALID_VALUE(CU(cuGraphRetainUserObject)(holder, object, count, 0));
    EXPECT_INVALID_VALUE(CU(cuGraphReleaseUserObject)(holder, object, count));
  }
  EXPECT_INVALID_VALUE(CU(cuUserObjectRetain)(nullptr, 1));
  EXPECT_INVALID_VALUE(CU(cuUserObjectRelease)(nullptr, 1));
  EXPECT_INVALID_VALUE(CU(cuGraphRetainUserObject)(nullptr, object, 1, 0));
  EXPECT_INVALID_VALUE(CU(cuGraphRetainUserObject)(holder, nullptr, 1, 0));
  EXPECT_INVALID_VALUE(CU(cuGraphRetainUserObject)(holder, object, 1, 0x10));
  EXPECT_INVALID_VALUE(CU(cuGraphReleaseUserObject)(nullptr, object, 1));
  EXPECT_INVALID_VALUE(CU(cuGraphReleaseUserObject)(holder, nullptr, 1));
  EXPECT_OK(CU(cuGraphDestroy)(holder));
  EXPECT_OK(CU(cuUserObjectRelease)(object, 1));
  ended_.wait_for(&resource_);
}

}  // namespace
}  // namespace bwgemm::vgpu::driver::test
