// SPDX-License-Identifier: Apache-2.0
// Beginning, ending and losing captures, for the tests of capture and of graphs.
#pragma once

#include "vgpu/driver/conformance/driver_test.h"

namespace bwgemm::vgpu::driver::test {

class CaptureTest : public KernelTest {
 protected:
  static CUstreamCaptureStatus status_of(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_OK(CU(cuStreamIsCapturing)(stream, &status));
    return status;
  }
  static bool is_capturing(CUstream stream) {
    return status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  }
  static void begin(CUstream stream,
                    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) {
    ASSERT_OK(CU(cuStreamBeginCapture)(stream, mode));
  }
  // The capture was invalidated; it can be ended, and only once.
  static void expect_lost(CUstream stream) {
    CUgraph graph = nullptr;
    EXPECT_EQ(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(stream, &graph));
    EXPECT_EQ(graph, nullptr);
    EXPECT_RESULT(CUDA_ERROR_ILLEGAL_STATE, CU(cuStreamEndCapture)(stream, &graph));
  }
  static CUgraph end(CUstream stream) {
    CUgraph graph = nullptr;
    EXPECT_OK(CU(cuStreamEndCapture)(stream, &graph));
    return graph;
  }
  static std::size_t nodes_of(CUgraph graph) {
    std::size_t count = 77;
    EXPECT_OK(CU(cuGraphGetNodes)(graph, nullptr, &count));
    return count;
  }
  static CUgraphExec instantiated(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    return exec;
  }
  static void depend(CUstream stream, CUevent event, CUstream on) {
    EXPECT_OK(CU(cuEventRecord)(event, on));
    EXPECT_OK(CU(cuStreamWaitEvent)(stream, event, 0));
  }
};

}  // namespace bwgemm::vgpu::driver::test
