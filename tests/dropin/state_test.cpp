// SPDX-License-Identifier: Apache-2.0
// What is served, and that a served call has the state of its handle of cuBLAS: stream, workspace,
// pointer mode, multiprocessors, context. Over the double of the driver, which records launches.
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <utility>

#include "dropin/lt_preloaded.h"

namespace bwgemm::test {
namespace {

class DropinState : public Recorded {
 protected:
  // The launch of a call that must be served.
  FakeLaunch launch_of(const CublasCall& call, const std::string& function = "cublasGemmEx") {
    fake_cuda().reset();
    EXPECT_EQ(call.run(function), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(fakeCublasLast().count, 0) << "forwarded: " << function;
    return only_launch();
  }

  // Deep, with a small result, and no operand that TMA can load: split over k through workspace.
  CublasCall deep() const {
    CublasCall made = call();
    made.transb = CUBLAS_OP_T;
    made.m = made.ldc = 64;
    made.n = made.ldb = 7;
    made.k = made.lda = 16383;
    return made;
  }
};

TEST_F(DropinState, EveryFunctionIsServed) {
  for (const std::string& function : product_functions)
    for (const char* form : {"", "_64"}) {
      const FakeLaunch launch = launch_of(call(), function + form);
      const bool is_batched = CublasCall::is_batched(function);
      EXPECT_EQ(launch.params.batch, is_batched ? 2 : 1) << function << form;
      EXPECT_EQ(launch.params.k, 192) << function << form;
    }
}

TEST_F(DropinState, Types) {
  CublasCall made = call();
  for (const cudaDataType input : {CUDA_R_16BF, CUDA_R_16F})
    for (const cudaDataType output : {input, CUDA_R_32F}) {
      made.a_type = made.b_type = input;
      made.c_type = output;
      EXPECT_EQ(launch_of(made).params.d_type, output == CUDA_R_32F  ? Dtype::f32
                                               : input == CUDA_R_16F ? Dtype::f16
                                                                     : Dtype::bf16);
      launch_of(made, "cublasSgemmEx");
    }
  made = call();
  made.compute = CUBLAS_COMPUTE_16F;
  launch_of(made);
  launch_of(made, "cublasGemmStridedBatchedEx");
}

TEST_F(DropinState, ScalarsOfHostAndHalf) {
  const float two = 2, three = 3;
  CublasCall made = call();
  made.alpha = &two;
  made.beta = &three;
  EXPECT_EQ(launch_of(made).params.alpha.value, 2);
  EXPECT_EQ(launch_of(made).params.beta.value, 3);
  const std::uint16_t half_two = 0x4000, half_three = 0x4200;
  made.alpha = &half_two;
  made.beta = &half_three;
  EXPECT_EQ(launch_of(made, "cublasHgemm").params.alpha.value, 2);
  EXPECT_EQ(launch_of(made, "cublasHgemmStridedBatched_64").params.beta.value, 3);
}

TEST_F(DropinState, ScalarsOnTheDevice) {
  CublasCall made = call();
  made.alpha = reinterpret_cast<const void*>(0x7f0030000000);
  made.beta = reinterpret_cast<const void*>(0x7f0030000004);
  ASSERT_EQ(cublasSetPointerMode_v2(handle(), CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  const FakeLaunch launch = launch_of(made);
  EXPECT_EQ(launch.params.alpha.device, made.alpha);
  EXPECT_EQ(launch.params.beta.device, made.beta);
  ASSERT_EQ(cublasSetPointerMode_v2(handle(), CUBLAS_POINTER_MODE_HOST), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(launch_of(call()).params.alpha.value, 1);
}

TEST_F(DropinState, StreamIsThatOfTheHandle) {
  const Stream one, other;
  EXPECT_EQ(launch_of(call()).stream, nullptr);
  for (const CUstream stream : {one.get(), other.get(), static_cast<CUstream>(nullptr)}) {
    ASSERT_EQ(cublasSetStream_v2(handle(), stream), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(launch_of(call()).stream, stream);
  }
}

// The work of a stream that is gone may still run: what counts its arrivals is not the new one's.
TEST_F(DropinState, NewStreamAtTheAddressOfAnother) {
  constexpr std::size_t size = 32 << 20;
  const DeviceMemory workspace(size);
  const auto arrivals_on = [&](CUstream stream) {
    cublasSetStream_v2(handle(), stream);
    cublasSetWorkspace_v2(handle(), workspace.as(), size);
    return launch_of(deep()).params.arrivals;
  };
  auto stream = std::make_unique<Stream>();
  const CUstream address = stream->get();
  const std::uint32_t* const first = arrivals_on(address);
  ASSERT_NE(first, nullptr) << "the problem is not split, and the test shows nothing";
  EXPECT_EQ(arrivals_on(address), first);
  stream.reset();
  fake_cuda().forget_released();
  stream = std::make_unique<Stream>();
  ASSERT_EQ(stream->get(), address) << "the test shows nothing";
  EXPECT_NE(arrivals_on(address), first);
  cublasSetStream_v2(handle(), nullptr);
}

TEST_F(DropinState, HandlesKeepTheirStreamsApart) {
  const Stream one, other;
  cublasHandle_t second = nullptr;
  ASSERT_EQ(cublasCreate_v2(&second), CUBLAS_STATUS_SUCCESS);
  cublasSetStream_v2(handle(), one.get());
  cublasSetStream_v2(second, other.get());
  CublasCall made = call();
  EXPECT_EQ(launch_of(made).stream, one.get());
  made.handle = second;
  EXPECT_EQ(launch_of(made).stream, other.get());
  EXPECT_EQ(launch_of(call()).stream, one.get());
  cublasDestroy_v2(second);
}

TEST_F(DropinState, MultiprocessorsAreLimited) {
  CublasCall made = call();
  made.m = made.n = made.ldc = 4096;
  EXPECT_GT(launch_of(made).grid, 8U);
  ASSERT_EQ(cublasSetSmCountTarget(handle(), 8), CUBLAS_STATUS_SUCCESS);
  EXPECT_LE(launch_of(made).grid, 8U);
  ASSERT_EQ(cublasSetSmCountTarget(handle(), 0), CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(launch_of(made).grid, 8U);
}

TEST_F(DropinState, WorkspaceIsTheProgramsOrNone) {
  constexpr std::size_t size = 32 << 20;
  const DeviceMemory workspace(size);
  const auto* const start = workspace.as<std::byte>();
  const auto partials = [&] {
    return reinterpret_cast<const std::byte*>(launch_of(deep()).params.partials);
  };
  const long memory = fake_cuda().live(Live::memory);
  launch_of(deep());
  EXPECT_EQ(only_launch().params.splits > 1 && !only_launch().params.reduces_in_cluster, false);
  ASSERT_EQ(cublasSetWorkspace_v2(handle(), workspace.as(), size), CUBLAS_STATUS_SUCCESS);
  ASSERT_NE(partials(), nullptr) << "the problem is not split, and the test shows nothing";
  EXPECT_TRUE(partials() >= start && partials() < start + size);
  // Setting a stream gives the handle cuBLAS's own workspace, even the stream that it has.
  ASSERT_EQ(cublasSetStream_v2(handle(), nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(partials(), nullptr);
  ASSERT_EQ(cublasSetWorkspace_v2(handle(), workspace.as(), size), CUBLAS_STATUS_SUCCESS);
  ASSERT_NE(partials(), nullptr);
  ASSERT_EQ(cublasSetWorkspace_v2(handle(), nullptr, 0), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(partials(), nullptr);
  EXPECT_EQ(fake_cuda().live(Live::memory), memory) << "device memory was allocated";
}

TEST_F(DropinState, SmallWorkspaceIsNotExceeded) {
  const DeviceMemory workspace(4096);
  ASSERT_EQ(cublasSetWorkspace_v2(handle(), workspace.as(), 4096), CUBLAS_STATUS_SUCCESS);
  const FakeLaunch launch = launch_of(deep());
  EXPECT_EQ(launch.params.partials, nullptr);
}

TEST_F(DropinState, NewHandleHasNothingOfAnOldOne) {
  const Stream stream;
  const DeviceMemory workspace(32 << 20);
  cublasSetStream_v2(handle(), stream.get());
  cublasSetWorkspace_v2(handle(), workspace.as(), 32 << 20);
  cublasSetSmCountTarget(handle(), 8);
  cublasSetPointerMode_v2(handle(), CUBLAS_POINTER_MODE_DEVICE);
  CublasCall made = deep();
  made.alpha = made.beta = reinterpret_cast<const void*>(0x7f0030000000);
  launch_of(made);
  destroy_handle();
  cublasHandle_t next = nullptr;
  ASSERT_EQ(cublasCreate_v2(&next), CUBLAS_STATUS_SUCCESS);
  made = deep();
  made.handle = next;
  const FakeLaunch launch = launch_of(made);
  EXPECT_EQ(launch.stream, nullptr);
  EXPECT_EQ(launch.params.partials, nullptr);
  EXPECT_EQ(launch.params.alpha.device, nullptr);
  made.m = made.ldc = 4096;
  made.n = made.ldb = 4096;
  EXPECT_GT(launch_of(made).grid, 8U);
  cublasDestroy_v2(next);
}

TEST_F(DropinState, ManyHandlesOneAfterTheOther) {
  for (int turn = 0; turn < 3000; ++turn) {
    cublasHandle_t next = nullptr;
    ASSERT_EQ(cublasCreate_v2(&next), CUBLAS_STATUS_SUCCESS);
    if (turn % 500 == 0) {
      CublasCall made = call();
      made.handle = next;
      launch_of(made);
    }
    ASSERT_EQ(cublasDestroy_v2(next), CUBLAS_STATUS_SUCCESS);
  }
  EXPECT_EQ(fakeCublasHandles(), 1);
  EXPECT_LT(fake_cuda().live(Live::memory), 100) << "each handle leaves memory behind";
}

TEST_F(DropinState, HandleBelongsToTheContextThatItWasMadeIn) {
  const Context other;
  cublasHandle_t second = nullptr;
  {
    const CurrentContext current(other.get());
    ASSERT_EQ(cublasCreate_v2(&second), CUBLAS_STATUS_SUCCESS);
  }
  CublasCall made = call();
  const CUcontext own = launch_of(made).context;
  EXPECT_NE(own, other.get());
  made.handle = second;
  EXPECT_EQ(launch_of(made).context, other.get());
  // What the handle leaves behind is not for handles of the other context.
  cublasDestroy_v2(second);
  ASSERT_EQ(cublasCreate_v2(&second), CUBLAS_STATUS_SUCCESS);
  made.handle = second;
  EXPECT_EQ(launch_of(made).context, own);
  cublasDestroy_v2(second);
}

TEST_F(DropinState, CapturedAtTheVeryFirstCall) {
  const Context fresh;  // where no kernel is loaded
  const CurrentContext current(fresh.get());
  const Stream stream;
  CublasCall made = deep();
  ASSERT_EQ(cublasCreate_v2(&made.handle), CUBLAS_STATUS_SUCCESS);
  cublasSetStream_v2(made.handle, stream.get());
  const long memory = fake_cuda().live(Live::memory);
  const long libraries = fake_cuda().live(Live::libraries);
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "capture");
  EXPECT_TRUE(launch_of(made).is_captured);
  CUgraph graph = nullptr;
  check(driver().stream_end_capture(stream.get(), &graph), "the capture was broken");
  check(driver().graph_destroy(graph), "cuGraphDestroy");
  EXPECT_GT(fake_cuda().live(Live::libraries), libraries) << "the kernel was there before";
  EXPECT_EQ(fake_cuda().live(Live::memory), memory) << "device memory was allocated";
  cublasDestroy_v2(made.handle);
}

TEST_F(DropinState, ThreadsShareAHandle) {
  constexpr int threads = 4, calls = 200;
  launch_of(call());
  fake_cuda().reset();
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([this, thread] {
      check(driver().ctx_set_current(context_of_test()), "cuCtxSetCurrent");
      CublasCall made = call();
      made.lda = made.ldb = 64 * threads;
      made.k = std::int64_t{64} * (thread + 1);
      for (int turn = 0; turn < calls; ++turn) made.run("cublasGemmEx");
    });
  for (std::thread& one : running) one.join();
  EXPECT_EQ(fakeCublasLast().count, 0);
  ASSERT_EQ(fake_cuda().launches(), threads * calls);
  std::map<std::int64_t, int> seen;
  for (long at = 0; at < threads * calls; ++at) ++seen[fake_cuda().launch(at)->params.k];
  for (int thread = 0; thread < threads; ++thread) EXPECT_EQ(seen[64 * (thread + 1)], calls);
}

// bwgemm's settings belong to the call from the first of them to its launch. The second thread is
// given time: where it needs more, the test shows nothing.
std::function<void()> at_launch;

TEST_F(DropinState, CallsOfAHandleFollowEachOther) {
  launch_of(call());
  std::atomic<bool> second_is_done{false};
  bool saw_it = true;
  std::thread second;
  at_launch = [&] {
    second = std::thread([&] {
      check(driver().ctx_set_current(context_of_test()), "cuCtxSetCurrent");
      call().run("cublasGemmEx");
      second_is_done = true;
    });
    for (int turn = 0; turn < 50 && !second_is_done; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    saw_it = second_is_done;
  };
  fake_cuda().on_call([](const char* entry) {
    if (std::string_view(entry) != "cuLaunchKernelEx" || !at_launch) return;
    std::exchange(at_launch, nullptr)();
  });
  EXPECT_EQ(call().run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  ASSERT_TRUE(second.joinable()) << "nothing was launched";
  second.join();
  EXPECT_FALSE(saw_it) << "a call came between another call's settings and its launch";
  EXPECT_TRUE(second_is_done);
  fake_cuda().reset();
}

TEST_F(DropinState, AHandleOfEachThread) {
  constexpr int threads = 8;
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([this] {
      check(driver().ctx_set_current(context_of_test()), "cuCtxSetCurrent");
      for (int turn = 0; turn < 20; ++turn) {
        CublasCall made = call();
        ASSERT_EQ(cublasCreate_v2(&made.handle), CUBLAS_STATUS_SUCCESS);
        for (int product = 0; product < 5; ++product)
          EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
        ASSERT_EQ(cublasDestroy_v2(made.handle), CUBLAS_STATUS_SUCCESS);
      }
    });
  for (std::thread& one : running) one.join();
  EXPECT_EQ(fakeCublasLast().count, 0);
  EXPECT_EQ(fake_cuda().launches(), threads * 20 * 5);
}

}  // namespace
}  // namespace bwgemm::test
