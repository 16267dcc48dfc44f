// SPDX-License-Identifier: Apache-2.0
// Streams and events: handles, order, waiting.
#include <thread>

#include "vgpu/driver/conformance/driver_test.h"

namespace bwgemm::vgpu::driver::test {
namespace {

using Streams = KernelTest;

TEST_F(Streams, BadArguments) {
  CUstream made = nullptr;
  EXPECT_INVALID_VALUE(CU(cuStreamCreate)(nullptr, 0));
  EXPECT_INVALID_VALUE(CU(cuStreamCreate)(&made, 0x10));
  for (const CUstream special : {CUstream{nullptr}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD})
    EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuStreamDestroy)(special));
  EXPECT_INVALID_VALUE(CU(cuStreamGetCtx)(stream(), nullptr));
  EXPECT_INVALID_VALUE(CU(cuStreamGetId)(stream(), nullptr));
}

TEST_F(Streams, IdsAndFlags) {
  const auto id_of = [](CUstream handle) {
    unsigned long long id = 0;
    EXPECT_OK(CU(cuStreamGetId)(handle, &id));
    return id;
  };
  const CUstream one = stream(), two = stream(CU_STREAM_DEFAULT);
  EXPECT_NE(id_of(one), id_of(two));
  EXPECT_EQ(id_of(nullptr), id_of(CU_STREAM_LEGACY));
  EXPECT_NE(id_of(nullptr), id_of(CU_STREAM_PER_THREAD));
  unsigned long long elsewhere = 0;
  std::thread([&] {
    CU(cuCtxSetCurrent)(primary());
    elsewhere = id_of(CU_STREAM_PER_THREAD);
  }).join();
  EXPECT_NE(id_of(CU_STREAM_PER_THREAD), elsewhere);
  unsigned flags = 77;
  EXPECT_OK(CU(cuStreamGetFlags)(one, &flags));
  EXPECT_EQ(flags, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_OK(CU(cuStreamGetFlags)(nullptr, &flags));
  EXPECT_EQ(flags, 0u);
  CUcontext context = nullptr;
  EXPECT_OK(CU(cuStreamGetCtx)(nullptr, &context));
  EXPECT_EQ(context, primary());
}

// A chain in one stream: each step reads what the one before wrote.
TEST_F(Streams, WorkOfAStreamKeepsItsOrder) {
  for (const CUstream one :
       {stream(), stream(CU_STREAM_DEFAULT), CUstream{nullptr}, CU_STREAM_PER_THREAD}) {
    const CUdeviceptr a = ints(32, 1), b = ints(32, 0);
    for (int i = 0; i < 10; ++i) {
      EXPECT_OK(CU(cuMemcpyDtoDAsync)(b, a, 128, one));
      EXPECT_OK(add(a, b, 1, one));  // a = 2 a + 1
    }
    EXPECT_OK(CU(cuStreamSynchronize)(one));
    EXPECT_EQ(read(a, 32), std::vector<unsigned>(32, 2047));
  }
}

// What other streams order with the legacy one needs no event.
TEST_F(Streams, TheLegacyStreamIsOrderedWithBlockingStreams) {
  const CUstream one = stream(CU_STREAM_DEFAULT), two = stream(CU_STREAM_DEFAULT);
  const CUdeviceptr a = ints(32, 0), zero = ints(32, 0);
  unsigned expected = 0;
  for (int i = 0; i < 10; ++i) {
    EXPECT_OK(add(a, zero, 1, one));
    EXPECT_OK(add(a, a, 0, nullptr));  // doubles
    EXPECT_OK(add(a, zero, 1, two));
    EXPECT_OK(CU(cuMemsetD32Async)(zero, 0, 32, CU_STREAM_LEGACY));
    EXPECT_OK(add(a, zero, 1, CU_STREAM_PER_THREAD));
    EXPECT_OK(add(a, a, 0, nullptr));
    expected = ((expected + 1) * 2 + 2) * 2;
  }
  EXPECT_OK(CU(cuStreamSynchronize)(nullptr));
  EXPECT_EQ(read(a, 32), std::vector<unsigned>(32, expected));
}

TEST_F(Streams, EventsOrderStreams) {
  const CUstream one = stream(), two = stream();
  const CUdeviceptr a = ints(32, 1), zero = ints(32, 0);
  const CUevent there = event(CU_EVENT_DISABLE_TIMING), back = event(CU_EVENT_DISABLE_TIMING);
  for (int i = 0; i < 10; ++i) {
    EXPECT_OK(add(a, a, 0, one));
    EXPECT_OK(CU(cuEventRecord)(there, one));
    EXPECT_OK(CU(cuStreamWaitEvent)(two, there, 0));
    EXPECT_OK(add(a, zero, 1, two));
    EXPECT_OK(CU(cuEventRecord)(back, two));
    EXPECT_OK(CU(cuStreamWaitEvent)(one, back, 0));
  }
  EXPECT_OK(CU(cuStreamSynchronize)(two));
  EXPECT_EQ(read(a, 32), std::vector<unsigned>(32, 2047));
}

// An event stands for its last record before the wait; later ones do not matter.
TEST_F(Streams, AWaitMeansTheRecordBeforeIt) {
  const CUstream one = stream(), two = stream();
  const CUdeviceptr a = ints(32, 1), b = ints(32, 0);
  const CUevent ready = event();
  EXPECT_OK(add(a, a, 0, one));
  EXPECT_OK(CU(cuEventRecord)(ready, one));
  EXPECT_OK(CU(cuStreamWaitEvent)(two, ready, 0));
  EXPECT_OK(CU(cuEventRecord)(ready, two));
  EXPECT_OK(add(b, a, 0, two));
  EXPECT_OK(CU(cuEventSynchronize)(ready));
  EXPECT_OK(CU(cuStreamSynchronize)(two));
  EXPECT_EQ(read(b, 32), std::vector<unsigned>(32, 2));
}

TEST_F(Streams, QueriesBecomeReady) {
  const CUstream one = stream();
  const CUdeviceptr a = ints(32, 1);
  const CUevent done = event();
  EXPECT_OK(CU(cuStreamQuery)(one));
  for (int i = 0; i < 20; ++i) EXPECT_OK(add(a, a, 0, one));
  EXPECT_OK(CU(cuEventRecord)(done, one));
  CUresult result = CUDA_ERROR_NOT_READY;
  while (result == CUDA_ERROR_NOT_READY) result = CU(cuEventQuery)(done);
  EXPECT_OK(result);
  EXPECT_EQ(read(a, 1)[0], 1u << 20);
  EXPECT_OK(CU(cuStreamQuery)(one));
}

TEST_F(Streams, WorkOfADestroyedStreamIsDone) {
  CUstream one = nullptr;
  const CUdeviceptr a = ints(32, 1);
  EXPECT_OK(CU(cuStreamCreate)(&one, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(add(a, a, 0, one));
  EXPECT_OK(CU(cuStreamDestroy)(one));
  EXPECT_EQ(read(a, 1)[0], 2u);
}

TEST_F(Streams, Events) {
  CUevent made = nullptr;
  EXPECT_INVALID_VALUE(CU(cuEventCreate)(nullptr, 0));
  EXPECT_INVALID_VALUE(CU(cuEventCreate)(&made, 0x100));
  const CUstream one = stream();
  const CUevent start = event(), end = event(), untimed = event(CU_EVENT_DISABLE_TIMING);
  float ms = -1;
  EXPECT_OK(CU(cuEventQuery)(start)) << "never recorded";
  EXPECT_OK(CU(cuEventSynchronize)(start));
  EXPECT_OK(CU(cuStreamWaitEvent)(one, start, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuEventElapsedTime)(&ms, start, end));
  EXPECT_OK(CU(cuEventRecord)(start, one));
  EXPECT_OK(CU(cuEventRecord)(end, one));
  EXPECT_OK(CU(cuEventRecord)(untimed, one));
  EXPECT_OK(CU(cuEventSynchronize)(untimed));
  EXPECT_OK(CU(cuEventElapsedTime)(&ms, start, end));
  EXPECT_GE(ms, 0);
  EXPECT_LT(ms, 10000);
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuEventElapsedTime)(&ms, start, untimed));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuEventRecord)(nullptr, one));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuStreamWaitEvent)(one, nullptr, 0));
  EXPECT_INVALID_VALUE(CU(cuStreamWaitEvent)(one, start, 7));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuEventDestroy)(nullptr));
}

TEST_F(Streams, HostFunctionsRunInOrder) {
  const CUstream one = stream();
  std::vector<int> order;
  struct Step {
    std::vector<int>* order;
    int number;
  } first{&order, 1}, second{&order, 2};
  const auto append = [](void* data) {
    const auto* step = static_cast<const Step*>(data);
    step->order->push_back(step->number);
  };
  EXPECT_OK(CU(cuLaunchHostFunc)(one, append, &first));
  EXPECT_OK(CU(cuLaunchHostFunc)(one, append, &second));
  EXPECT_OK(CU(cuStreamSynchronize)(one));
  EXPECT_EQ(order, (std::vector{1, 2}));
}

}  // namespace
}  // namespace bwgemm::vgpu::driver::test
