// SPDX-License-Identifier: Apache-2.0
// Calls of cublasLtMatmul that are served, and that their launches have what the call says: stream,
// scalars, multiprocessors, workspace, layouts. Over the double of the driver.
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "dropin/lt_preloaded.h"

namespace bwgemm::test {
namespace {

void* const memory = reinterpret_cast<void*>(0x7f0040000000);

class DropinLtState : public Recorded {
 protected:
  // The first launch of a call that must be served.
  static FakeLaunch launch_of(const LtCall& call, const std::string& what = "") {
    fake_cuda().reset();
    EXPECT_EQ(call.run(), CUBLAS_STATUS_SUCCESS) << what;
    EXPECT_EQ(fakeCublasLtLast().count, 0) << "forwarded: " << what;
    EXPECT_GE(fake_cuda().launches(), 1) << what;
    const FakeLaunch* const launch = fake_cuda().launch(0);
    return launch != nullptr ? *launch : FakeLaunch{};
  }
  // Deep, with a small result, and no operand that TMA can load: split over k through workspace.
  static void make_deep(LtCall& call) {
    call.set(call.a_layout, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{16383});
    call.set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
    call.set(call.b_layout, CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{7});
    call.set(call.b_layout, CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t{16383});
    call.set(call.b_layout, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{7});
  }
};

TEST_F(DropinLtState, HandlesOfCublasAndOfCublasLt) {
  LtCall call(lt());
  EXPECT_EQ(launch_of(call).params.k, 192);
  ASSERT_EQ(cublasLtCreate(&call.handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(launch_of(call).params.k, 192);
  EXPECT_EQ(cublasLtDestroy(call.handle), CUBLAS_STATUS_SUCCESS);
}

TEST_F(DropinLtState, TypesAndComputeTypes) {
  for (const int compute : {68, 74, 75, 77})
    for (const cudaDataType input : {CUDA_R_16BF, CUDA_R_16F})
      for (const cudaDataType output : {input, CUDA_R_32F}) {
        LtCall call(lt());
        call.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute);
        call.set_types(input, output);
        EXPECT_EQ(launch_of(call).params.d_type, output == CUDA_R_32F  ? Dtype::f32
                                                 : input == CUDA_R_16F ? Dtype::f16
                                                                       : Dtype::bf16);
      }
  const std::uint16_t half_two = 0x4000, half_zero = 0;
  LtCall call(lt());
  call.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_16F);
  call.set(CUBLASLT_MATMUL_DESC_SCALE_TYPE, CUDA_R_16F);
  call.set_types(CUDA_R_16F, CUDA_R_16F);
  call.alpha = &half_two;
  call.beta = &half_zero;
  EXPECT_EQ(launch_of(call).params.alpha.value, 2);
}

TEST_F(DropinLtState, EveryEpilogueThatIsServed) {
  for (const std::uint32_t epilogue :
       {1U, 2U, 4U, 6U, 32U, 36U, 160U, 164U, 192U, 208U, 256U, 512U})
    for (const int type : {-1, static_cast<int>(CUDA_R_32F)}) {
      LtCall call(lt());
      call.set_epilogue(epilogue);
      call.set_bias(memory);
      call.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
      call.set_aux(static_cast<std::byte*>(memory) + (1 << 20), 264);
      call.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, type);
      launch_of(call, std::to_string(epilogue));
      EXPECT_EQ(fake_cuda().launches(), epilogue == 208 || epilogue >= 256 ? 2 : 1) << epilogue;
    }
}

// What an epilogue does not use may be there from an earlier call.
TEST_F(DropinLtState, AttributesThatTheEpilogueDoesNotUse) {
  LtCall call(lt());
  call.set_bias(memory);
  call.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 28);
  call.set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, std::int64_t{-1});
  call.set_aux(memory, 3);
  call.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, std::int64_t{-1});
  launch_of(call);
}

// Descriptors are read anew: they change between calls, and live at the address of others.
TEST_F(DropinLtState, DescriptorsChange) {
  const float two = 2;
  LtCall call(lt());
  EXPECT_EQ(launch_of(call).params.k, 192);
  call.set(call.a_layout, CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{128});
  call.set(call.b_layout, CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{128});
  call.alpha = &two;
  EXPECT_EQ(launch_of(call).params.k, 128);
  EXPECT_EQ(launch_of(call).params.alpha.value, 2);
  call.set(17, std::int64_t{256});  // a scale of A
  EXPECT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLtLast().count, 1);
}

TEST_F(DropinLtState, ScalarsOnTheDevice) {
  LtCall call(lt());
  call.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, 1);
  call.alpha = memory;
  call.beta = static_cast<float*>(memory) + 1;
  const FakeLaunch launch = launch_of(call);
  EXPECT_EQ(launch.params.alpha.device, call.alpha);
  EXPECT_EQ(launch.params.beta.device, call.beta);
  // The mode of the handle of cuBLAS does not count, here or there.
  ASSERT_EQ(cublasSetPointerMode_v2(handle(), CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(launch_of(LtCall(lt())).params.alpha.value, 1);
}

TEST_F(DropinLtState, StreamIsThatOfTheCall) {
  const Stream one, other, of_handle;
  cublasSetStream_v2(handle(), of_handle.get());
  LtCall call(lt());
  for (const CUstream stream : {one.get(), other.get(), static_cast<CUstream>(nullptr)}) {
    call.stream = stream;
    EXPECT_EQ(launch_of(call).stream, stream);
  }
  CublasCall made = this->call();
  fake_cuda().reset();
  fakeCublasRecordOnly(1);
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(only_launch().stream, of_handle.get());
}

TEST_F(DropinLtState, MultiprocessorsAreLimited) {
  LtCall call(lt(), 4096, 4096, 256);
  EXPECT_GT(launch_of(call).grid, 8U);
  call.set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 8);
  EXPECT_LE(launch_of(call).grid, 8U);
  EXPECT_GT(launch_of(LtCall(lt(), 4096, 4096, 256)).grid, 8U);
}

TEST_F(DropinLtState, WorkspaceIsThatOfTheCall) {
  constexpr std::size_t size = 32 << 20;
  const DeviceMemory workspace(size), of_handle(size);
  cublasSetWorkspace_v2(handle(), of_handle.as(), size);
  const auto* const start = workspace.as<std::byte>();
  const long before = fake_cuda().live(Live::memory);
  LtCall call(lt(), 64, 7, 16383);
  make_deep(call);
  const auto partials = [&] {
    return reinterpret_cast<const std::byte*>(launch_of(call).params.partials);
  };
  EXPECT_EQ(partials(), nullptr);
  call.workspace = workspace.as();
  call.workspace_size = size;
  ASSERT_NE(partials(), nullptr) << "the problem is not split, and the test shows nothing";
  EXPECT_TRUE(partials() >= start && partials() < start + size);
  call.workspace = workspace.as<std::byte>() + 16;  // of no use to bwgemm
  EXPECT_EQ(partials(), nullptr);
  call.workspace = nullptr;
  EXPECT_EQ(partials(), nullptr);
  EXPECT_EQ(fake_cuda().live(Live::memory), before) << "device memory was allocated";
}

// Who asked cuBLASLt for an algorithm that does not split k has one here too.
TEST_F(DropinLtState, AlgorithmsThatDoNotSplit) {
  const DeviceMemory workspace(32 << 20);
  LtCall call(lt(), 64, 7, 16383);
  make_deep(call);
  call.workspace = workspace.as();
  call.workspace_size = 32 << 20;
  for (const std::uint64_t splits : {0, 1, 2, 8}) {
    const cublasLtMatmulAlgo_t algo{{71, splits}};
    call.algo = &algo;
    EXPECT_EQ(launch_of(call).params.partials != nullptr, splits > 1) << splits;
  }
}

TEST_F(DropinLtState, BatchesAndBroadcast) {
  LtCall call(lt());
  call.set_batch(3, 0, std::int64_t{1} << 32, 256 * 128);
  const FakeLaunch launch = launch_of(call);
  EXPECT_EQ(launch.params.batch, 3);
  EXPECT_EQ(launch.params.a_batch_step == 0 || launch.params.b_batch_step == 0, true);
}

TEST_F(DropinLtState, CAndDAreOneLayout) {
  LtCall call(lt());
  call.c_layout = call.d_layout;
  call.beta = &call.one;
  EXPECT_EQ(launch_of(call).params.beta.value, 1);
}

// cuBLASLt does not look at C then.
TEST_F(DropinLtState, NoCWithoutBeta) {
  LtCall call(lt());
  call.c = nullptr;
  launch_of(call);
}

TEST_F(DropinLtState, CapturedAtTheVeryFirstCall) {
  const Context fresh;  // where no kernel is loaded
  const CurrentContext current(fresh.get());
  const Stream stream;
  LtCall call(nullptr);
  ASSERT_EQ(cublasLtCreate(&call.handle), CUBLAS_STATUS_SUCCESS);
  call.stream = stream.get();
  const long before = fake_cuda().live(Live::memory);
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "capture");
  EXPECT_TRUE(launch_of(call).is_captured);
  CUgraph graph = nullptr;
  check(driver().stream_end_capture(stream.get(), &graph), "the capture was broken");
  check(driver().graph_destroy(graph), "cuGraphDestroy");
  EXPECT_EQ(fake_cuda().live(Live::memory), before) << "device memory was allocated";
  cublasLtDestroy(call.handle);
}

TEST_F(DropinLtState, ThreadsAndStreamsShareAHandle) {
  constexpr int threads = 4, calls = 100;
  launch_of(LtCall(lt()));
  fake_cuda().reset();
  std::vector<std::unique_ptr<Stream>> streams;
  for (int thread = 0; thread < threads; ++thread) streams.push_back(std::make_unique<Stream>());
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      check(driver().ctx_set_current(context_of_test()), "cuCtxSetCurrent");
      LtCall call(lt(), 256, 128, std::int64_t{64} * (thread + 1));
      call.stream = streams[static_cast<std::size_t>(thread)]->get();
      for (int turn = 0; turn < calls; ++turn) call.run();
    });
  for (std::thread& one : running) one.join();
  EXPECT_EQ(fakeCublasLtLast().count, 0);
  ASSERT_EQ(fake_cuda().launches(), threads * calls);
  for (long at = 0; at < threads * calls; ++at) {
    const FakeLaunch& launch = *fake_cuda().launch(at);
    const auto thread = static_cast<std::size_t>(launch.params.k / 64 - 1);
    EXPECT_EQ(launch.stream, streams[thread]->get());
  }
}

// What is served costs this many questions at most: of attributes that lie behind the memory that
// is known, which each layout has five of here.
TEST_F(DropinLtState, FewAttributesAreRead) {
  const auto reads_of = [](const LtCall& call) {
    call.run();
    const std::int64_t before = fakeCublasLtReads();
    call.run();
    return fakeCublasLtReads() - before;
  };
  const bool has_images = std::getenv("FAKE_CUBLASLT_VERSION") == nullptr &&
                          std::getenv("FAKE_CUBLASLT_OUTSIDE") == nullptr;
  LtCall call(lt());
  call.c_layout = call.d_layout;
  EXPECT_LE(reads_of(call), has_images ? 15 : 85);
  call.set_epilogue(CUBLASLT_EPILOGUE_BIAS);
  call.set_bias(memory);
  EXPECT_LE(reads_of(call), has_images ? 15 : 85);
  call.set_bias(static_cast<std::byte*>(memory) + 4096);  // the pointer is no part of what is kept
  const std::int64_t before = fakeCublasLtReads();
  call.run();
  EXPECT_LE(fakeCublasLtReads() - before, has_images ? 15 : 85);
  call.set_types(CUDA_R_32F, CUDA_R_32F);
  EXPECT_LE(reads_of(call), has_images ? 15 : 5);
}

}  // namespace
}  // namespace bwgemm::test
