// SPDX-License-Identifier: Apache-2.0
// How long scratch memory belongs to a graph and to a thread: what either leaves is used again, not
// before, and so memory stays level however many come and go.
#include <array>
#include <future>
#include <thread>

#include "api/scratch_owners.h"
#include "support/sanitized.h"

namespace bwgemm::test {
namespace {

constexpr int many = BWGEMM_TEST_SANITIZED ? 1000 : 10000;

class ScratchLife : public ScratchOwners {
 protected:
  void use(const Stream& stream) {
    ASSERT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
  }
  CUgraph captured(const Stream& stream, Scratch& scratch) {
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    scratch = used();
    CUgraph graph = nullptr;
    check(driver().stream_end_capture(stream.get(), &graph), "cuStreamEndCapture");
    return graph;
  }
  // Of a thread of its own, which is gone when this returns.
  Scratch used_on_a_thread() {
    Scratch scratch{};
    std::thread([&] { scratch = used_on(CU_STREAM_PER_THREAD); }).join();
    return scratch;
  }
  static std::array<long, 2> live() {
    return {fake_cuda().live(Live::memory), fake_cuda().live(Live::events)};
  }
};

// ---- graphs -------------------------------------------------------------------------------------

TEST_F(ScratchLife, EndsWithTheLastFormOfAGraph) {
  const Stream stream;
  use(stream);
  Scratch first{}, second{}, third{};
  const CUgraph graph = captured(stream, first);
  CUgraphExec exec = nullptr;
  check(driver().graph_instantiate(&exec, graph, 0), "cuGraphInstantiate");
  driver().graph_destroy(graph);
  const CUgraph other = captured(stream, second);
  expect_apart({first, second});
  driver().graph_exec_destroy(exec);
  const CUgraph last = captured(stream, third);
  EXPECT_EQ(third, first) << "nothing is left that could use it";
  driver().graph_destroy(other);
  driver().graph_destroy(last);
}

TEST_F(ScratchLife, EndsWithACaptureThatFails) {
  const Stream stream;
  use(stream);
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  const Scratch first = used();
  CUdeviceptr memory = 0;
  EXPECT_NE(driver().mem_alloc(&memory, 16), CUDA_SUCCESS);
  CUgraph none = nullptr;
  EXPECT_NE(driver().stream_end_capture(stream.get(), &none), CUDA_SUCCESS);
  Scratch second{};
  driver().graph_destroy(captured(stream, second));
  EXPECT_EQ(second, first);
}

TEST_F(ScratchLife, AGraphMayOutliveItsHandle) {
  bwgemmHandle_t other = nullptr;
  ASSERT_EQ(bwgemmCreate(&other), BWGEMM_STATUS_SUCCESS);
  const Stream stream;
  ASSERT_EQ(bwgemmSetStream(other, stream.get()), BWGEMM_STATUS_SUCCESS);
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(gemm_ex(other, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  const auto graph = end(stream);
  EXPECT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);
}

TEST_F(ScratchLife, ManyCapturesTakeNoMore) {
  const Stream stream;
  use(stream);
  Scratch scratch{};
  for (int i = 0; i < 4; ++i) driver().graph_destroy(captured(stream, scratch));
  const auto before = live();
  for (int i = 0; i < many; ++i) {
    driver().graph_destroy(captured(stream, scratch));
    fake_cuda().forget_released();
  }
  EXPECT_EQ(live(), before);
}

TEST_F(ScratchLife, ManyCapturesWithAWorkspaceTakeNoMoreCounters) {
  const Stream stream;
  use(stream);
  const DeviceMemory workspace(1 << 20);
  ASSERT_EQ(bwgemmSetWorkspace(handle(), workspace.as<>(), 1 << 20), BWGEMM_STATUS_SUCCESS);
  Scratch scratch{};
  driver().graph_destroy(captured(stream, scratch));
  const Scratch first = scratch;
  for (int i = 0; i < many; ++i) {
    driver().graph_destroy(captured(stream, scratch));
    fake_cuda().forget_released();
    ASSERT_EQ(scratch, first) << i;
  }
}

// Some graphs stay while others come and go.
TEST_F(ScratchLife, AsMuchIsHeldAsThereEverWereGraphs) {
  const Stream stream;
  use(stream);
  constexpr std::size_t at_once = 5;
  std::array<std::unique_ptr<Graph>, at_once> graphs;
  std::array<long, 2> before{};
  for (std::size_t i = 0; i < 20 * at_once; ++i) {
    if (i == 2 * at_once) before = live();
    graphs[i * 7 % at_once].reset();
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    used();
    graphs[i * 7 % at_once] = end(stream);
  }
  EXPECT_EQ(live(), before);
}

// ---- threads ------------------------------------------------------------------------------------

TEST_F(ScratchLife, OfAThreadThatIsGoneServesTheNext) {
  const Scratch first = used_on_a_thread();
  Scratch second = used_on_a_thread();
  for (int i = 0; i < 1000 && !(second == first); ++i) second = used_on_a_thread();
  EXPECT_EQ(second, first);
}

TEST_F(ScratchLife, OfAThreadWhoseWorkIsPendingServesNobody) {
  const Scratch first = used_on_a_thread();
  fake_cuda().reset();
  Scratch second{};
  std::thread([&] {
    EXPECT_EQ(bwgemmSetStream(handle(), CU_STREAM_PER_THREAD), BWGEMM_STATUS_SUCCESS);
    fake_cuda().fail_entry("cuEventQuery", CUDA_ERROR_NOT_READY);
    EXPECT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
    second = {only_launch().params.partials, only_launch().params.arrivals};
  }).join();
  expect_apart({first, second});
}

TEST_F(ScratchLife, OfALiveThreadIsItsOwn) {
  std::promise<void> is_over;
  std::promise<Scratch> first;
  std::thread living([&] {
    first.set_value(used_on(CU_STREAM_PER_THREAD));
    is_over.get_future().wait();
  });
  const Scratch of_living = first.get_future().get();
  for (int i = 0; i < 10; ++i) expect_apart({of_living, used_on_a_thread()});
  is_over.set_value();
  living.join();
}

// Behind all of a call's launches, also where not all of them succeed.
TEST_F(ScratchLife, TheLastUseOnAThreadsStreamIsNoted) {
  used_on(CU_STREAM_PER_THREAD);
  const long calls = fake_cuda().calls(nullptr);
  EXPECT_STREQ(fake_cuda().call_name(calls), "cuEventRecord");
  EXPECT_STREQ(fake_cuda().call_name(calls - 1), "cuLaunchKernelEx");
  fake_cuda().reset();
  fake_cuda().fail_entry("cuLaunchKernelEx", CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(fake_cuda().calls("cuEventRecord"), 1);
  fake_cuda().reset();
  ASSERT_EQ(bwgemmSetStream(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
  used();
  EXPECT_EQ(fake_cuda().calls("cuEventRecord"), 0) << "other streams need none";
}

// A thread that was joined may still count as one for a moment.
TEST_F(ScratchLife, ManyThreadsTakeNoMore) {
  constexpr long late = 4;
  used_on_a_thread();
  const auto before = live();
  for (int i = 0; i < many; ++i) used_on_a_thread();
  EXPECT_LE(live()[0], before[0] + late);
  EXPECT_LE(live()[1], before[1] + late);
}

}  // namespace
}  // namespace bwgemm::test
