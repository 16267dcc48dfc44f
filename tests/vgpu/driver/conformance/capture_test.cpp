// SPDX-License-Identifier: Apache-2.0
// Stream capture: who may begin and end one, and which calls disturb it.
#include <functional>
#include <thread>
#include <utility>

#include "vgpu/driver/conformance/captures.h"

namespace bwgemm::vgpu::driver::test {
namespace {

constexpr CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                         CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED};

class Captures : public CaptureTest {
 protected:
  // Makes the call while a stream is captured. It fails and ends the capture, or does neither.
  void expect_forbidden(const char* what, CUstreamCaptureMode mode,
                        const std::function<CUresult()>& call) {
    const CUstream captured = stream();
    begin(captured, mode);
    EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, call()) << what;
    expect_lost(captured);
  }
  void expect_allowed(const char* what, CUstreamCaptureMode mode,
                      const std::function<CUresult()>& call) {
    const CUstream captured = stream();
    begin(captured, mode);
    EXPECT_OK(call()) << what;
    EXPECT_TRUE(is_capturing(captured)) << what;
    EXPECT_OK(CU(cuGraphDestroy)(end(captured)));
  }
};

TEST_F(Captures, BeginAndEnd) {
  const CUstream one = stream();
  CUgraph graph = nullptr;
  EXPECT_RESULT(CUDA_ERROR_ILLEGAL_STATE, CU(cuStreamEndCapture)(one, &graph));
  EXPECT_INVALID_VALUE(CU(cuStreamBeginCapture)(one, static_cast<CUstreamCaptureMode>(7)));
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                CU(cuStreamBeginCapture)(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED));
  begin(one);
  EXPECT_RESULT(CUDA_ERROR_ILLEGAL_STATE,
                CU(cuStreamBeginCapture)(one, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_TRUE(is_capturing(one)) << "that did no harm";
  graph = end(one);
  EXPECT_EQ(nodes_of(graph), 0u);
  EXPECT_OK(CU(cuGraphDestroy)(graph));
  begin(CU_STREAM_PER_THREAD);
  EXPECT_OK(CU(cuGraphDestroy)(end(CU_STREAM_PER_THREAD)));
}

TEST_F(Captures, UnsafeCallsAreForbiddenExceptInRelaxedMode) {
  const CUstream other = stream();
  const CUevent recorded = event();
  EXPECT_OK(CU(cuEventRecord)(recorded, other));
  CUdeviceptr made = 0;
  void* host = nullptr;
  const std::pair<const char*, std::function<CUresult()>> calls[] = {
      {"cuMemAlloc", [&] { return CU(cuMemAlloc)(&made, 64); }},
      {"cuMemFree", [&] { return CU(cuMemFree)(0); }},
      {"cuMemHostAlloc", [&] { return CU(cuMemHostAlloc)(&host, 64, 0); }},
      {"cuStreamSynchronize", [&] { return CU(cuStreamSynchronize)(other); }},
      {"cuStreamQuery", [&] { return CU(cuStreamQuery)(other); }},
      {"cuEventQuery", [&] { return CU(cuEventQuery)(recorded); }},
      {"cuEventSynchronize", [&] { return CU(cuEventSynchronize)(recorded); }},
  };
  for (const auto& [name, call] : calls) {
    expect_forbidden(name, CU_STREAM_CAPTURE_MODE_GLOBAL, call);
    expect_forbidden(name, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, call);
    expect_allowed(name, CU_STREAM_CAPTURE_MODE_RELAXED, call);
    EXPECT_OK(CU(cuMemFreeHost)(std::exchange(host, nullptr)));
    EXPECT_OK(CU(cuMemFree)(std::exchange(made, 0)));
  }
}

TEST_F(Captures, SomeCallsAreForbiddenInEveryMode) {
  for (const CUstreamCaptureMode mode : modes) {
    expect_forbidden("cuCtxSynchronize", mode, [] { return CU(cuCtxSynchronize)(); });
    const CUstream captured = stream();
    for (const auto& call :
         std::vector<std::function<CUresult()>>{[&] { return CU(cuStreamSynchronize)(captured); },
                                                [&] { return CU(cuStreamQuery)(captured); }}) {
      begin(captured, mode);
      EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, call());
      expect_lost(captured);
    }
  }
}

TEST_F(Captures, OtherCallsDoNoHarm) {
  const CUdeviceptr device = ints(64, 1);
  const CUstream other = stream(CU_STREAM_DEFAULT);
  const CUevent some = event();
  unsigned value = 0;
  int number = 0;
  std::size_t bytes = 0;
  CUmodule module = nullptr;
  CUstream made = nullptr;
  const CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  expect_allowed("cuMemcpyHtoD", mode, [&] { return CU(cuMemcpyHtoD)(device, &value, 4); });
  expect_allowed("cuMemcpyDtoH", mode, [&] { return CU(cuMemcpyDtoH)(&value, device, 4); });
  expect_allowed("cuMemsetD32", mode, [&] { return CU(cuMemsetD32)(device, 1, 4); });
  expect_allowed("work elsewhere", mode, [&] { return CU(cuMemsetD32Async)(device, 1, 4, other); });
  expect_allowed("cuEventRecord", mode, [&] { return CU(cuEventRecord)(some, other); });
  expect_allowed("cuModuleLoadData", mode,
                 [&] { return CU(cuModuleLoadData)(&module, kernels_ptx); });
  expect_allowed("cuStreamCreate", mode, [&] { return CU(cuStreamCreate)(&made, 0); });
  expect_allowed("cuStreamDestroy", mode, [&] { return CU(cuStreamDestroy)(made); });
  expect_allowed("cuMemGetInfo", mode, [&] { return CU(cuMemGetInfo)(&bytes, &bytes); });
  expect_allowed("cuFuncGetAttribute", mode, [&] {
    return CU(cuFuncGetAttribute)(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, function("add"));
  });
  EXPECT_OK(CU(cuModuleUnload)(module));
}

TEST_F(Captures, TheLegacyStreamWouldDependOnABlockingOne) {
  const CUdeviceptr device = ints(64, 1);
  unsigned value = 0;
  const CUstream blocking = stream(CU_STREAM_DEFAULT);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  for (const auto& call : std::vector<std::function<CUresult()>>{
           [&] { return CU(cuMemcpyHtoD)(device, &value, 4); },
           [&] { return CU(cuMemsetD32Async)(device, 1, 4, nullptr); },
           [&] { return CU(cuStreamSynchronize)(nullptr); }}) {
    begin(blocking);
    EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CU(cuStreamIsCapturing)(nullptr, &status));
    EXPECT_TRUE(is_capturing(blocking)) << "asking does no harm";
    EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, call());
    expect_lost(blocking);
  }
}

TEST_F(Captures, ThreadsAndTheirModes) {
  for (const CUstreamCaptureMode of_capture : modes)
    for (const CUstreamCaptureMode of_thread : modes) {
      const CUstream captured = stream();
      begin(captured, of_capture);
      CUresult result = CUDA_ERROR_UNKNOWN;
      std::thread([&] {
        CU(cuCtxSetCurrent)(primary());
        CUstreamCaptureMode mode = of_thread;
        CU(cuThreadExchangeStreamCaptureMode)(&mode);
        EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "a new thread's";
        CUdeviceptr made = 0;
        result = CU(cuMemAlloc)(&made, 64);
        if (result == CUDA_SUCCESS) CU(cuMemFree)(made);
      }).join();
      const bool disturbs =
          of_capture == CU_STREAM_CAPTURE_MODE_GLOBAL && of_thread == CU_STREAM_CAPTURE_MODE_GLOBAL;
      EXPECT_RESULT(disturbs ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS, result)
          << of_capture << " " << of_thread;
      if (disturbs)
        expect_lost(captured);
      else
        EXPECT_OK(CU(cuGraphDestroy)(end(captured)));
    }
}

TEST_F(Captures, ARelaxedThreadMayAllocate) {
  const CUstream captured = stream();
  begin(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_OK(CU(cuThreadExchangeStreamCaptureMode)(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUdeviceptr made = 0;
  EXPECT_OK(CU(cuMemAlloc)(&made, 64));
  EXPECT_OK(CU(cuMemFree)(made));
  EXPECT_OK(CU(cuThreadExchangeStreamCaptureMode)(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_TRUE(is_capturing(captured));
  EXPECT_OK(CU(cuGraphDestroy)(end(captured)));
}

TEST_F(Captures, AnotherThreadMayNotEndIt) {
  const CUstream captured = stream();
  begin(captured);
  CUgraph graph = nullptr;
  std::thread([&] {
    CU(cuCtxSetCurrent)(primary());
    EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, CU(cuStreamEndCapture)(captured, &graph));
  }).join();
  EXPECT_RESULT(CUDA_ERROR_ILLEGAL_STATE, CU(cuStreamEndCapture)(captured, &graph))
      << "it did end it";
}

}  // namespace
}  // namespace bwgemm::vgpu::driver::test
