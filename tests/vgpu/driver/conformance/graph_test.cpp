// SPDX-License-Identifier: Apache-2.0
// Forks and joins of captures through events, and graphs.
#include "vgpu/driver/conformance/captures.h"

namespace bwgemm::vgpu::driver::test {
namespace {

class Forks : public CaptureTest {
 protected:
  void SetUp() override {
    CaptureTest::SetUp();
    if (IsSkipped()) return;
    one_ = stream(), two_ = stream();
    there_ = event(), back_ = event();
    a_ = ints(32, 1), b_ = ints(32, 0);
  }
  // Puts the second stream behind the first, which is under capture.
  void fork() { depend(two_, there_, one_); }
  void join() { depend(one_, back_, two_); }

  CUstream one_ = nullptr, two_ = nullptr;
  CUevent there_ = nullptr, back_ = nullptr;
  CUdeviceptr a_ = 0, b_ = 0;
};

TEST_F(Forks, AndJoins) {
  const CUdeviceptr c = ints(32, 0);
  begin(one_);
  EXPECT_OK(add(a_, a_, 0, one_));  // 2
  fork();
  EXPECT_TRUE(is_capturing(two_));
  EXPECT_OK(add(b_, a_, 1, two_));  // 3
  EXPECT_OK(CU(cuMemsetD32Async)(c, 9, 32, one_));
  join();
  EXPECT_OK(add(a_, b_, 0, one_));  // 5
  EXPECT_OK(add(a_, c, 0, one_));   // 14
  const CUgraph graph = end(one_);
  EXPECT_FALSE(is_capturing(two_));
  EXPECT_EQ(nodes_of(graph), 5u);
  std::size_t edges = 0;
  EXPECT_OK(CU(cuGraphGetEdges)(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 5u);
  EXPECT_EQ(read(a_, 1)[0], 1u) << "nothing ran";

  const CUgraphExec exec = instantiated(graph);
  EXPECT_OK(CU(cuGraphDestroy)(graph));
  EXPECT_OK(CU(cuGraphLaunch)(exec, two_));
  EXPECT_OK(CU(cuStreamSynchronize)(two_));
  EXPECT_EQ(read(a_, 32), std::vector<unsigned>(32, 14));
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
}

TEST_F(Forks, UnjoinedWorkIsAnError) {
  begin(one_);
  fork();
  EXPECT_OK(add(a_, a_, 0, two_));
  CUgraph graph = nullptr;
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, CU(cuStreamEndCapture)(one_, &graph));
  EXPECT_EQ(status_of(one_), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(status_of(two_), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_OK(add(a_, a_, 0, two_));
  EXPECT_EQ(read(a_, 1)[0], 2u);
}

TEST_F(Forks, WithoutWorkNeedNoJoin) {
  begin(one_);
  EXPECT_OK(add(a_, a_, 0, one_));
  fork();
  const CUgraph graph = end(one_);
  EXPECT_EQ(nodes_of(graph), 1u);
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(Forks, EndOnTheStreamOfTheBegin) {
  begin(one_);
  fork();
  CUgraph graph = nullptr;
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, CU(cuStreamEndCapture)(two_, &graph));
  expect_lost(one_);
}

TEST_F(Forks, ACapturedStreamCannotWaitForWorkOutside) {
  EXPECT_OK(CU(cuEventRecord)(there_, two_));
  begin(one_);
  EXPECT_OK(CU(cuStreamWaitEvent)(one_, back_, 0)) << "never recorded";
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CU(cuStreamWaitEvent)(one_, there_, 0));
  expect_lost(one_);
}

TEST_F(Forks, CapturesDoNotMerge) {
  begin(one_);
  begin(two_);
  EXPECT_OK(CU(cuEventRecord)(there_, one_));
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_MERGE, CU(cuStreamWaitEvent)(two_, there_, 0));
  expect_lost(two_);
  expect_lost(one_);
}

TEST_F(Forks, TheLegacyStreamCannotJoin) {
  begin(one_);
  EXPECT_OK(CU(cuEventRecord)(there_, one_));
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CU(cuStreamWaitEvent)(nullptr, there_, 0));
  expect_lost(one_);
}

TEST_F(Forks, CapturedEventsCannotBeWaitedForByTheHost) {
  for (const bool is_query : {false, true}) {
    begin(one_);
    EXPECT_OK(CU(cuEventRecord)(there_, one_));
    EXPECT_RESULT(CUDA_ERROR_CAPTURED_EVENT,
                  is_query ? CU(cuEventQuery)(there_) : CU(cuEventSynchronize)(there_));
    expect_lost(one_);
  }
  begin(one_);
  EXPECT_OK(CU(cuEventRecord)(there_, one_));
  EXPECT_OK(CU(cuGraphDestroy)(end(one_)));
  EXPECT_INVALID_VALUE(CU(cuEventQuery)(there_)) << "the capture it was recorded in is over";
  EXPECT_INVALID_VALUE(CU(cuStreamWaitEvent)(two_, there_, 0));
}

TEST_F(Forks, WorkAfterTheLossIsRefused) {
  begin(one_);
  fork();
  CUdeviceptr made = 0;
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuMemAlloc)(&made, 64));
  for (const CUstream stream : {one_, two_})
    EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, add(a_, a_, 0, stream));
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuEventRecord)(there_, one_));
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamWaitEvent)(two_, there_, 0));
  expect_lost(one_);
}

// One for all streams of a capture, another for every other capture, as long as the process lives.
TEST_F(Forks, IdsOfCaptures) {
  const auto id_of = [](CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    EXPECT_OK(CU(cuStreamGetCaptureInfo)(stream, &status, &id, nullptr, nullptr, nullptr, nullptr));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    return id;
  };
  const CUstream other = stream();
  std::vector<cuuint64_t> ids;
  for (int i = 0; i < 2; ++i) {
    begin(one_), begin(other);
    fork();
    EXPECT_EQ(id_of(two_), id_of(one_));
    EXPECT_OK(add(a_, a_, 0, two_));
    join();
    EXPECT_EQ(id_of(two_), id_of(one_)) << "it stays in the capture";
    for (const CUstream stream : {one_, other}) {
      for (const cuuint64_t earlier : ids) EXPECT_NE(id_of(stream), earlier);
      ids.push_back(id_of(stream));
    }
    for (const CUstream stream : {one_, other}) EXPECT_OK(CU(cuGraphDestroy)(end(stream)));
  }
}

TEST_F(Forks, CaptureInfo) {
  begin(one_);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  std::size_t count = 77;
  const CUgraphNode* nodes = nullptr;
  const auto info = [&] {
    EXPECT_OK(CU(cuStreamGetCaptureInfo)(one_, &status, &id, &graph, &nodes, nullptr, &count));
    return count;
  };
  EXPECT_EQ(info(), 0u);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_OK(CU(cuMemsetD32Async)(a_, 3, 4, one_));
  EXPECT_EQ(info(), 1u);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  const CUgraph captured = end(one_);
  EXPECT_EQ(captured, graph);
  CUgraphNode node = nullptr;
  std::size_t one_node = 1;
  EXPECT_OK(CU(cuGraphGetNodes)(captured, &node, &one_node));
  EXPECT_OK(CU(cuGraphNodeGetType)(node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEMSET);
  info();
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_OK(CU(cuGraphDestroy)(captured));
}

TEST_F(Forks, AKernelsNodeTellsItsCluster) {
  begin(one_);
  EXPECT_OK(add(a_, b_, 7, one_));
  const CUgraph graph = end(one_);
  CUgraphNode node = nullptr;
  std::size_t one_node = 1;
  EXPECT_OK(CU(cuGraphGetNodes)(graph, &node, &one_node));
  CUkernelNodeAttrValue value{};
  EXPECT_OK(CU(cuGraphKernelNodeGetAttribute)(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
  EXPECT_LE(value.clusterDim.x, 1u);
  EXPECT_INVALID_VALUE(CU(cuGraphKernelNodeGetAttribute)(
      node, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, &value));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

class Graphs : public Forks {
 protected:
  // a = 2 a + 1, through b.
  CUgraph captured_steps() {
    begin(one_);
    EXPECT_OK(CU(cuMemcpyDtoDAsync)(b_, a_, 128, one_));
    EXPECT_OK(add(a_, b_, 1, one_));
    return end(one_);
  }
};

TEST_F(Graphs, LaunchesOfOneFollowEachOther) {
  const CUgraph graph = captured_steps();
  const CUgraphExec exec = instantiated(graph);
  for (int i = 0; i < 5; ++i) {
    EXPECT_OK(CU(cuGraphLaunch)(exec, one_));
    EXPECT_OK(CU(cuGraphLaunch)(exec, two_)) << "on any stream";
  }
  EXPECT_OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(read(a_, 32), std::vector<unsigned>(32, 2047));
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(Graphs, ArgumentsAreCopiedByTheCapture) {
  int value = 4;
  void* arguments[] = {&a_, &value};
  begin(one_);
  EXPECT_OK(CU(cuLaunchKernel)(function("write"), 1, 1, 1, 32, 1, 1, 0, one_, arguments, nullptr));
  const CUgraph graph = end(one_);
  value = 5;
  const CUgraphExec exec = instantiated(graph);
  EXPECT_OK(CU(cuGraphLaunch)(exec, one_));
  EXPECT_OK(CU(cuStreamSynchronize)(one_));
  EXPECT_EQ(read(a_, 32), std::vector<unsigned>(32, 4));
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(Graphs, NodesTellWhatTheyLaunch) {
  int value = 4;
  void* arguments[] = {&a_, &value};
  begin(one_);
  EXPECT_OK(CU(cuLaunchKernel)(function("write"), 3, 2, 1, 32, 1, 1, 64, one_, arguments, nullptr));
  EXPECT_OK(CU(cuMemsetD32Async)(b_, 3, 4, one_));
  const CUgraph graph = end(one_);
  CUgraphNode nodes[2] = {};
  std::size_t count = 2;
  EXPECT_OK(CU(cuGraphGetNodes)(graph, nodes, &count));
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  EXPECT_OK(CU(cuGraphNodeGetType)(nodes[0], &type));
  if (type != CU_GRAPH_NODE_TYPE_KERNEL) std::swap(nodes[0], nodes[1]);
  CUDA_KERNEL_NODE_PARAMS params{};
  ASSERT_OK(CU(cuGraphKernelNodeGetParams)(nodes[0], &params));
  const char* name = nullptr;
  EXPECT_OK(CU(cuFuncGetName)(&name, params.func));
  EXPECT_STREQ(name, "write");
  EXPECT_EQ(params.gridDimX * 100 + params.gridDimY * 10 + params.gridDimZ, 321u);
  EXPECT_EQ(params.blockDimX * 100 + params.blockDimY * 10 + params.blockDimZ, 3211u);
  EXPECT_EQ(params.sharedMemBytes, 64u);
  EXPECT_EQ(*static_cast<CUdeviceptr*>(params.kernelParams[0]), a_);
  EXPECT_EQ(*static_cast<int*>(params.kernelParams[1]), 4);
  EXPECT_INVALID_VALUE(CU(cuGraphKernelNodeGetParams)(nodes[1], &params));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(Graphs, HostMemoryIsReadByTheLaunch) {
  std::vector<unsigned> host(32, 6);
  begin(one_);
  EXPECT_OK(CU(cuMemcpyHtoDAsync)(a_, host.data(), 128, one_));
  const CUgraph graph = end(one_);
  std::fill(host.begin(), host.end(), 7u);
  const CUgraphExec exec = instantiated(graph);
  EXPECT_OK(CU(cuGraphLaunch)(exec, one_));
  EXPECT_OK(CU(cuStreamSynchronize)(one_));
  EXPECT_EQ(read(a_, 32), std::vector<unsigned>(32, 7));
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(Graphs, ClonesAndEmptyGraphs) {
  const CUgraph graph = captured_steps();
  CUgraph clone = nullptr, empty = nullptr;
  EXPECT_OK(CU(cuGraphClone)(&clone, graph));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
  EXPECT_EQ(nodes_of(clone), 2u);
  EXPECT_OK(CU(cuGraphCreate)(&empty, 0));
  for (const CUgraph one : {clone, empty}) {
    const CUgraphExec exec = instantiated(one);
    EXPECT_OK(CU(cuGraphLaunch)(exec, one_));
    EXPECT_OK(CU(cuStreamSynchronize)(one_));
    EXPECT_OK(CU(cuGraphExecDestroy)(exec));
    EXPECT_OK(CU(cuGraphDestroy)(one));
  }
  EXPECT_EQ(read(a_, 32), std::vector<unsigned>(32, 3));
}

TEST_F(Graphs, BadArguments) {
  CUgraphExec exec = nullptr;
  CUgraph graph = nullptr;
  EXPECT_INVALID_VALUE(CU(cuGraphInstantiateWithFlags)(&exec, nullptr, 0));
  EXPECT_INVALID_VALUE(CU(cuGraphLaunch)(nullptr, one_));
  EXPECT_INVALID_VALUE(CU(cuGraphDestroy)(nullptr));
  EXPECT_INVALID_VALUE(CU(cuGraphExecDestroy)(nullptr));
  EXPECT_INVALID_VALUE(CU(cuGraphClone)(&graph, nullptr));
  EXPECT_OK(CU(cuGraphCreate)(&graph, 0));
  EXPECT_INVALID_VALUE(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0x1000));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

}  // namespace
}  // namespace bwgemm::vgpu::driver::test
