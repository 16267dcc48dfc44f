// SPDX-License-Identifier: Apache-2.0
// Captures under the driver's rules as the test double enforces them: first uses keep captures
// valid, and scratch memory is never shared by launches that may overlap.
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

#include "api/scratch_owners.h"

namespace bwgemm::test {
namespace {

constexpr CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                         CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED};

using Captures = FakeHandleTest;

// The double must see what it is there to see.
TEST_F(Captures, TheDoubleInvalidatesThem) {
  const Stream stream;
  for (const CUstreamCaptureMode mode : modes) {
    begin(stream, mode);
    CUdeviceptr memory = 0;
    const CUresult allocated = driver().mem_alloc(&memory, 16);
    CUgraph graph = nullptr;
    const CUresult ended = driver().stream_end_capture(stream.get(), &graph);
    const bool is_relaxed = mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_EQ(allocated == CUDA_SUCCESS, is_relaxed);
    EXPECT_EQ(ended == CUDA_SUCCESS, is_relaxed);
    if (memory != 0) driver().mem_free(memory);
    if (graph != nullptr) driver().graph_destroy(graph);
  }
}

TEST_F(Captures, TheFirstUseKeepsThemValid) {
  for (const CUstreamCaptureMode mode : modes)
    for (const unsigned flags : {unsigned{CU_STREAM_DEFAULT}, unsigned{CU_STREAM_NON_BLOCKING}})
      for (const GemmArguments& gemm :
           {GemmArguments{}, GemmArguments::split(), GemmArguments::unaligned()}) {
        bwgemmHandle_t fresh = nullptr;
        ASSERT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_SUCCESS);
        {
          const Stream stream(flags);
          ASSERT_EQ(bwgemmSetStream(fresh, stream.get()), BWGEMM_STATUS_SUCCESS);
          begin(stream, mode);
          fake_cuda().reset();
          EXPECT_EQ(gemm_ex(fresh, gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
          EXPECT_TRUE(only_launch().is_captured);
          EXPECT_EQ(fake_cuda().capture_mode(), CU_STREAM_CAPTURE_MODE_GLOBAL)
              << "the thread's capture mode was not restored";
          const auto graph = end(stream);
          ASSERT_NE(graph, nullptr);
          fake_cuda().reset();
          graph->launch(stream.get());
          EXPECT_TRUE(only_launch().is_replayed)
              << "a replay runs what was captured, and only that";
        }
        EXPECT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_SUCCESS);
      }
}

TEST_F(Captures, OfOtherStreamsAndThreadsStayValidToo) {
  const Stream captured, used;
  ASSERT_EQ(bwgemmSetStream(handle(), used.get()), BWGEMM_STATUS_SUCCESS);
  begin(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  std::thread([&] {
    EXPECT_EQ(gemm_ex(handle(), GemmArguments::unaligned()), BWGEMM_STATUS_SUCCESS)
        << bwgemmGetLastErrorString();
  }).join();
  EXPECT_NE(end(captured), nullptr);
}

TEST_F(Captures, SettersAndQueriesKeepThemValid) {
  const Stream stream;
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  std::size_t size = 0;
  char text[64];
  GemmArguments gemm = GemmArguments::split();
  gemm.workspace_size = &size, gemm.text = text, gemm.text_size = sizeof text;
  EXPECT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bwgemmSetWorkspace(handle(), nullptr, 0), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bwgemmSetSmCountTarget(handle(), 10), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(workspace_size(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(explain(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_NE(end(stream), nullptr);
}

TEST_F(Captures, ARefusedCallKeepsThemValid) {
  const Stream stream;
  ASSERT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  GemmArguments gemm;
  gemm.lda = 1;
  EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_NE(end(stream), nullptr);
}

// Nothing can be launched into it, so nothing is to be kept for it either.
TEST_F(Captures, AnInvalidOneGetsNoScratch) {
  const Stream stream;
  ASSERT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUdeviceptr memory = 0;
  EXPECT_NE(driver().mem_alloc(&memory, 16), CUDA_SUCCESS);
  fake_cuda().reset();
  EXPECT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_EXECUTION_FAILED);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "capture")) << bwgemmGetLastErrorString();
  EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0);
  CUgraph graph = nullptr;
  EXPECT_NE(driver().stream_end_capture(stream.get(), &graph), CUDA_SUCCESS);
}

// Not to be done, but not to leak either.
TEST_F(Captures, DestroyDuringOneFreesEverything) {
  bwgemmHandle_t fresh = nullptr;
  ASSERT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(gemm_ex(fresh, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  const Stream stream;
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  const long memory = fake_cuda().live(Live::memory), libraries = fake_cuda().live(Live::libraries);
  EXPECT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_INTERNAL_ERROR);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "cuCtxSynchronize"))
      << bwgemmGetLastErrorString();
  EXPECT_LT(fake_cuda().live(Live::memory), memory);
  EXPECT_LT(fake_cuda().live(Live::libraries), libraries);
  EXPECT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_NOT_INITIALIZED);
  CUgraph graph = nullptr;
  driver().stream_end_capture(stream.get(), &graph);  // any result
  if (graph != nullptr) driver().graph_destroy(graph);
}

// ---- scratch ------------------------------------------------------------------------------------

TEST_F(ScratchOwners, CountersAreZeroAtFirst) {
  const Scratch scratch = used();  // device memory of the double is host memory
  EXPECT_EQ(scratch.arrivals[0], 0u);
}

TEST_F(ScratchOwners, OneStreamKeepsItsOwn) {
  const Stream stream, other;
  const Scratch first = used_on(stream.get());
  used_on(other.get());
  const Scratch again = used_on(stream.get());
  EXPECT_EQ(first.partials, again.partials);
  EXPECT_EQ(first.arrivals, again.arrivals);
}

TEST_F(ScratchOwners, StreamsDoNotShare) {
  const Stream one, two;
  std::vector<Scratch> owners = {used_on(nullptr), used_on(one.get()), used_on(two.get()),
                                 used_on(CU_STREAM_PER_THREAD)};
  const Scratch legacy = used_on(CU_STREAM_LEGACY);
  EXPECT_EQ(legacy.partials, owners[0].partials) << "null and the legacy stream are the same";
  std::thread([&] {
    owners.push_back(used_on(CU_STREAM_PER_THREAD));
    std::thread([&] { owners.push_back(used_on(CU_STREAM_PER_THREAD)); }).join();
  }).join();
  expect_apart(owners);
}

// A stream that was destroyed and one that got its place are different streams.
TEST_F(ScratchOwners, ANewStreamMayUseAnything) {
  for (int i = 0; i < 20; ++i) {
    const Stream stream;
    EXPECT_NE(used_on(stream.get()).partials, nullptr);
  }
}

TEST_F(ScratchOwners, CapturesHaveTheirOwn) {
  const Stream stream;
  std::vector<Scratch> owners = {used_on(stream.get())};
  std::vector<std::unique_ptr<Graph>> graphs;
  for (int i = 0; i < 3; ++i) {
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    owners.push_back(used());
    graphs.push_back(end(stream));
  }
  EXPECT_EQ(used(), owners.front());
  expect_apart(owners);
}

// They follow each other in its graph.
TEST_F(ScratchOwners, TheCallsOfOneCaptureOnOneStreamShare) {
  const Stream stream;
  ASSERT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  const Scratch first = used();
  const long memory = fake_cuda().live(Live::memory);
  for (int i = 0; i < 400; ++i) EXPECT_EQ(used(), first);
  EXPECT_EQ(fake_cuda().live(Live::memory), memory);
  EXPECT_NE(end(stream), nullptr);
}

TEST_F(ScratchOwners, TheStreamsOfOneCaptureDoNotShare) {
  const Stream origin, fork;
  begin(origin, CU_STREAM_CAPTURE_MODE_GLOBAL);
  depend(fork.get(), origin.get());
  depend(CU_STREAM_PER_THREAD, origin.get());
  const std::vector<Scratch> owners = {used_on(origin.get()), used_on(fork.get()),
                                       used_on(CU_STREAM_PER_THREAD)};
  expect_apart(owners);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(used_on(origin.get()), owners[0]);
    EXPECT_EQ(used_on(fork.get()), owners[1]);
    EXPECT_EQ(used_on(CU_STREAM_PER_THREAD), owners[2]);
  }
  for (const CUstream stream : {fork.get(), CU_STREAM_PER_THREAD}) depend(origin.get(), stream);
  EXPECT_NE(end(origin), nullptr);
}

// A stream may be destroyed inside of a capture, and the next one get its address: what was
// captured on the two is not ordered.
TEST_F(ScratchOwners, AStreamWithAnAddressOfBeforeDoesNotShare) {
  const Stream origin;
  auto first = std::make_unique<Stream>();
  const CUstream address = first->get();
  ASSERT_EQ(bwgemmSetStream(handle(), first->get()), BWGEMM_STATUS_SUCCESS);
  begin(origin, CU_STREAM_CAPTURE_MODE_GLOBAL);
  depend(first->get(), origin.get());
  std::vector<Scratch> owners = {used()};
  depend(origin.get(), first->get());
  first.reset();
  fake_cuda().forget_released();
  const Stream second;
  EXPECT_EQ(second.get(), address) << "the double gives no address again";
  EXPECT_EQ(bwgemmSetStream(handle(), second.get()), BWGEMM_STATUS_SUCCESS);
  depend(second.get(), origin.get());
  owners.push_back(used());
  depend(origin.get(), second.get());
  expect_apart(owners);
  EXPECT_NE(end(origin), nullptr);
}

// The special value names another stream on each thread.
TEST_F(ScratchOwners, ThePerThreadStreamsOfOneCaptureDoNotShare) {
  const Stream origin;
  begin(origin, CU_STREAM_CAPTURE_MODE_RELAXED);
  std::vector<Scratch> owners = {used_on(origin.get())};
  for (int i = 0; i < 2; ++i)
    std::thread([&] {
      const CurrentContext current(context());
      depend(CU_STREAM_PER_THREAD, origin.get());
      owners.push_back(used_on(CU_STREAM_PER_THREAD));
      depend(origin.get(), CU_STREAM_PER_THREAD);
    }).join();
  expect_apart(owners);
  EXPECT_NE(end(origin), nullptr);
}

TEST_F(ScratchOwners, CapturesSideBySideDoNotShare) {
  const Stream one, two;
  for (const Stream* stream : {&one, &two}) begin(*stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  std::vector<Scratch> owners;
  for (const Stream* stream : {&one, &two}) owners.push_back(used_on(stream->get()));
  expect_apart(owners);
  EXPECT_EQ(used_on(one.get()), owners[0]);
  for (const Stream* stream : {&one, &two}) EXPECT_NE(end(*stream), nullptr);
}

TEST_F(ScratchOwners, HandlesDoNotShareInACapture) {
  const Stream stream;
  bwgemmHandle_t other = nullptr;
  ASSERT_EQ(bwgemmCreate(&other), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(bwgemmSetStream(other, stream.get()), BWGEMM_STATUS_SUCCESS);
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  const Scratch scratch = used_on(stream.get());
  fake_cuda().reset();
  EXPECT_EQ(gemm_ex(other, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  EXPECT_NE(only_launch().params.partials, scratch.partials);
  EXPECT_NE(end(stream), nullptr);
  EXPECT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);
}

// With partial sums in workspaces apart, captured calls may overlap.
TEST_F(ScratchOwners, CapturedCallsWithAWorkspaceShareNoCounters) {
  const Stream stream;
  const DeviceMemory workspace(1 << 20);
  ASSERT_EQ(bwgemmSetWorkspace(handle(), workspace.as<>(), 1 << 20), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  const Scratch one = used(), two = used();
  EXPECT_EQ(one.partials, two.partials);
  EXPECT_NE(one.arrivals, two.arrivals);
  EXPECT_NE(end(stream), nullptr);
}

TEST_F(ScratchOwners, TheUsersWorkspaceHoldsPartialSumsButNoCounters) {
  const DeviceMemory workspace(32 << 20);
  ASSERT_EQ(bwgemmSetWorkspace(handle(), workspace.as<>(), 32 << 20), BWGEMM_STATUS_SUCCESS);
  const Scratch scratch = used();
  const auto* first = workspace.as<const char>();
  const auto* partials = reinterpret_cast<const char*>(scratch.partials);
  const auto* arrivals = reinterpret_cast<const char*>(scratch.arrivals);
  EXPECT_TRUE(partials >= first && partials < first + (32 << 20));
  EXPECT_FALSE(arrivals >= first && arrivals < first + (32 << 20));
}

TEST_F(ScratchOwners, WithoutWorkspaceNothingIsSplit) {
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, 0), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  EXPECT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  EXPECT_LE(only_launch().params.splits, 1);
}

TEST_F(ScratchOwners, ASmallWorkspaceIsNotExceeded) {
  const DeviceMemory workspace(1 << 20);
  for (const std::size_t size : {std::size_t{256}, std::size_t{40000}, std::size_t{1} << 20}) {
    ASSERT_EQ(bwgemmSetWorkspace(handle(), workspace.as<>(), size), BWGEMM_STATUS_SUCCESS);
    fake_cuda().reset();
    EXPECT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS)
        << bwgemmGetLastErrorString();
    const auto& params = only_launch().params;
    const std::size_t bytes =
        params.splits > 1 ? static_cast<std::size_t>(params.splits) * 64 * 64 * 4 : 0;
    EXPECT_LE(bytes, size);
    if (params.splits > 1) {
      EXPECT_EQ(params.partials, workspace.as<float>());
    }
  }
}

TEST_F(ScratchOwners, TheLibrarysWorkspaceIsAsLargeAsAllowed) {
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, 256), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  EXPECT_LE(only_launch().params.splits, 1);
  for (const std::size_t size : {std::size_t{40000}, std::size_t{100000}}) {
    ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, size), BWGEMM_STATUS_SUCCESS);
    const Scratch scratch = used();
    EXPECT_LE(partials_bytes(), size);
    EXPECT_GT(partials_bytes(), size / 2);
    EXPECT_TRUE(is_allocated(scratch.partials, partials_bytes() - 2));
    EXPECT_FALSE(is_allocated(scratch.partials, size));
  }
  const Scratch larger = used();
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, 40000), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(used().partials, larger.partials) << "what is there is used";
  fake_cuda().reset();
}

TEST_F(ScratchOwners, TheLibrarysWorkspaceCanBeHadBack) {
  void* none = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(bwgemmGetWorkspace(handle(), &none, &size), BWGEMM_STATUS_SUCCESS);
  const Scratch before = used();
  const std::size_t bytes = partials_bytes();
  const DeviceMemory workspace(1 << 20);
  for (void* other : {workspace.as<>(), static_cast<void*>(nullptr)}) {
    ASSERT_EQ(bwgemmSetWorkspace(handle(), other, other != nullptr ? 1 << 20 : 0),
              BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
    ASSERT_EQ(bwgemmSetWorkspace(handle(), none, size), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(used().partials, before.partials);
    EXPECT_EQ(partials_bytes(), bytes);
  }
}

TEST_F(ScratchOwners, TheAnnouncedSizeIsEnoughAndUsed) {
  GemmArguments gemm = GemmArguments::split();
  std::size_t size = 0;
  gemm.workspace_size = &size;
  ASSERT_EQ(workspace_size(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  ASSERT_GT(size, 0u);
  fake_cuda().reset();
  const DeviceMemory workspace(size);
  ASSERT_EQ(bwgemmSetWorkspace(handle(), workspace.as<>(), size), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(static_cast<std::size_t>(only_launch().params.splits) * 64 * 64 * 4, size);
}

}  // namespace
}  // namespace bwgemm::test
