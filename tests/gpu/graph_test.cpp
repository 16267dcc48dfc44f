// SPDX-License-Identifier: Apache-2.0
// Calls captured into graphs: the very first one too, replayed often, and two graphs at once.
#include <gtest/gtest.h>
#include <thread>

#include "gpu/split_case.h"
#include "support/gemm_case.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

std::vector<GemmCase> captured_problems() {
  const std::int64_t deep = small_scale() ? 2047 : 16383;
  std::vector<GemmCase> cases = {
      {.m = 256, .n = 264, .k = 520, .beta = 1, .ld_multiple = 8},             // TMA
      {.m = 61, .n = 35, .k = 77, .output = Dtype::f32, .b_displacement = 1},  // element by element
      {.m = 72, .n = 40, .k = deep, .output = Dtype::f32},                     // copied, split
      {.transb = BWGEMM_OP_T, .m = 64, .n = 7, .k = deep, .output = Dtype::f32},  // split over k
  };
  for (GemmCase& gemm : cases) gemm.fill = Fill::integers;
  return cases;
}

CUgraph captured_call(bwgemmHandle_t handle, CUstream stream, CUstreamCaptureMode mode,
                      const GemmCase& gemm, const Operands& operands) {
  check(driver().stream_begin_capture(stream, mode), "cuStreamBeginCapture");
  EXPECT_TRUE(succeeds(call(handle, gemm, operands))) << gemm;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_EQ(driver().stream_is_capturing(stream, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE)
      << "the call invalidated the capture: " << gemm;
  CUgraph captured = nullptr;
  check(driver().stream_end_capture(stream, &captured), "cuStreamEndCapture");
  return captured;
}

constexpr CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                         CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED};

using Graphs = HandleTest;

TEST_F(Graphs, CaptureAndReplay) {
  const Stream stream(CU_STREAM_DEFAULT);
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  for (const GemmCase& gemm : captured_problems())
    for (const CUstreamCaptureMode mode : modes) {
      Operands operands(gemm);
      const Graph graph(captured_call(handle(), stream.get(), mode, gemm, operands));
      for (int i = 0; i < (small_scale() ? 2 : 100); ++i) {
        operands.device_c().upload();
        graph.launch(stream.get());
        stream.synchronize();
      }
      operands.expect_result(" replayed, capture mode " + std::to_string(mode));
    }
}

// As frameworks do it: the stream is set anew for every call, the captured ones included.
TEST_F(Graphs, StreamSetInsideTheCapture) {
  const Stream stream;
  for (const GemmCase& gemm : captured_problems())
    for (const CUstreamCaptureMode mode : modes) {
      ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), nullptr)));
      Operands operands(gemm);
      check(driver().stream_begin_capture(stream.get(), mode), "cuStreamBeginCapture");
      EXPECT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
      EXPECT_TRUE(succeeds(call(handle(), gemm, operands)));
      CUgraph captured = nullptr;
      check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
      const Graph graph(captured);
      graph.launch(stream.get());
      stream.synchronize();
      operands.expect_result(" captured with its stream, mode " + std::to_string(mode));
      ASSERT_TRUE(succeeds(call(handle(), gemm, operands)));  // now the stream is asked who it is
      stream.synchronize();
    }
}

TEST_F(Graphs, ReplayBackToBack) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  for (GemmCase gemm : captured_problems()) {
    gemm.beta = 0;
    Operands operands(gemm);
    const Graph graph(
        captured_call(handle(), stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL, gemm, operands));
    for (int i = 0; i < (small_scale() ? 4 : 100); ++i) graph.launch(stream.get());
    operands.expect_result(" replayed without pause");
  }
}

// Split problems use scratch memory: the graphs must not share any, nor with calls outside them.
TEST_F(Graphs, TwoGraphsAndAStreamAtOnce) {
  const Stream first, second, third;
  const GemmCase one = split_case(11), two = split_case(12), three = split_case(13);
  Operands operands_one(one), operands_two(two), operands_three(three);
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), first.get())));
  const Graph graph_one(
      captured_call(handle(), first.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, one, operands_one));
  const Graph graph_two(
      captured_call(handle(), first.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, two, operands_two));
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), third.get())));
  for (int i = 0; i < (small_scale() ? 4 : 100); ++i) {
    graph_one.launch(first.get());
    graph_two.launch(second.get());
    ASSERT_TRUE(succeeds(call(handle(), three, operands_three)));
  }
  operands_one.expect_result(" of the first graph");
  operands_two.expect_result(" of the second graph");
  operands_three.expect_result(" beside the graphs");
}

// Memory that is freed and taken again for other matrices must not bring back an old tensor map.
TEST_F(Graphs, PointersAreReused) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  for (std::int64_t i = 0; i < (small_scale() ? 4 : 40); ++i) {
    GemmCase gemm{.m = 64 + 8 * (i % 5),
                  .n = 128 - 8 * (i % 3),
                  .k = 64 + 8 * (i % 7),
                  .ld_multiple = 8,
                  .fill = Fill::integers};
    gemm.seed = static_cast<std::uint64_t>(i) + 20;
    Operands operands(gemm);  // the allocator hands out the same addresses again
    const Graph graph(
        captured_call(handle(), stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL, gemm, operands));
    graph.launch(stream.get());
    operands.expect_result(" in memory used before");
    ASSERT_TRUE(succeeds(call(handle(), gemm, operands)));
    stream.synchronize();
    operands.device_c().upload();
    ASSERT_TRUE(succeeds(call(handle(), gemm, operands)));
    operands.expect_result(" called directly");
  }
}

// Several calls in one capture, each with scratch of its own kind.
TEST_F(Graphs, SeveralCallsInOneGraph) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  std::vector<std::unique_ptr<Operands>> operands;
  check(driver().ctx_synchronize(), "cuCtxSynchronize");
  for (const GemmCase& gemm : captured_problems())
    operands.push_back(std::make_unique<Operands>(gemm));
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL),
        "cuStreamBeginCapture");
  const std::vector<GemmCase> cases = captured_problems();
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_TRUE(succeeds(call(handle(), cases[i], *operands[i])));
  CUgraph captured = nullptr;
  check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
  const Graph graph(captured);
  graph.launch(stream.get());
  for (const auto& one : operands) one->expect_result(" in a graph of several calls");
}

// They follow each other, so one piece of scratch memory serves them all, however many there are.
TEST_F(Graphs, SplitCallsOfOneStreamShareTheirScratch) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  std::vector<std::unique_ptr<Operands>> operands;
  const std::uint64_t different = 3, calls = small_scale() ? 12 : 400;
  for (std::uint64_t i = 0; i < different; ++i)
    operands.push_back(std::make_unique<Operands>(split_case(20 + i)));
  check(driver().ctx_synchronize(), "cuCtxSynchronize");
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
  EXPECT_TRUE(succeeds(call(handle(), split_case(20), *operands[0])));
  const std::size_t free = free_device_bytes();
  for (std::uint64_t i = 1; i < calls; ++i)
    EXPECT_TRUE(succeeds(call(handle(), split_case(20 + i % different), *operands[i % different])));
  EXPECT_EQ(free_device_bytes(), free);
  CUgraph captured = nullptr;
  check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
  const Graph graph(captured);
  for (int i = 0; i < (small_scale() ? 2 : 20); ++i) graph.launch(stream.get());
  for (const auto& one : operands) one->expect_result(" in a graph of many split calls");
}

// Side by side in one graph, and each behind others of its stream.
TEST_F(Graphs, StreamsForkedInACaptureShareNoScratch) {
  const Stream origin, fork;
  std::vector<std::unique_ptr<Operands>> operands;
  for (std::uint64_t i = 0; i < 4; ++i)
    operands.push_back(std::make_unique<Operands>(split_case(30 + i)));
  check(driver().ctx_synchronize(), "cuCtxSynchronize");
  check(driver().stream_begin_capture(origin.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  depend(fork.get(), origin.get());
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), i % 2 == 0 ? origin.get() : fork.get())));
    EXPECT_TRUE(succeeds(call(handle(), split_case(30 + i), *operands[i])));
  }
  depend(origin.get(), fork.get());
  CUgraph captured = nullptr;
  check(driver().stream_end_capture(origin.get(), &captured), "cuStreamEndCapture");
  const Graph graph(captured);
  for (int i = 0; i < (small_scale() ? 4 : 100); ++i) graph.launch(origin.get());
  for (const auto& one : operands) one->expect_result(" beside another in one graph");
}

// In processes of their own: nothing was loaded or allocated before the capture began.
class FirstUse : public GpuTest, public ::testing::WithParamInterface<int> {};

TEST_P(FirstUse, InsideACaptureSucceeds) {
  const ProcessResult result = run_self("FirstUseProbe.DISABLED_*",
                                        {{"BWGEMM_TEST_CAPTURE_MODE", std::to_string(GetParam())}});
  EXPECT_TRUE(result.passed()) << result.output;
}

INSTANTIATE_TEST_SUITE_P(CaptureModes, FirstUse,
                         ::testing::Values(CU_STREAM_CAPTURE_MODE_GLOBAL,
                                           CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                           CU_STREAM_CAPTURE_MODE_RELAXED));

using FirstUseProbe = HandleTest;

TEST_F(FirstUseProbe, DISABLED_InsideACapture) {
  const char* mode_text = std::getenv("BWGEMM_TEST_CAPTURE_MODE");
  const auto mode =
      static_cast<CUstreamCaptureMode>(mode_text != nullptr ? std::atoi(mode_text) : 0);
  const Stream stream(CU_STREAM_DEFAULT);
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  for (const GemmCase& gemm : captured_problems()) {
    Operands operands(gemm);
    const Graph graph(captured_call(handle(), stream.get(), mode, gemm, operands));
    graph.launch(stream.get());
    operands.expect_result(" used first inside a capture");
  }
}

// What captures and threads that are gone have left serves later ones. The driver tells late that a
// graph is gone, on a thread of its own, and threads end late: some megabytes are theirs meanwhile.
class ManyComeAndGo : public Graphs {
 protected:
  const int count = small_scale() ? 40 : 10000;

  template <class Body>
  void expect_level_memory(const Body& body) const {
    constexpr std::size_t late = std::size_t{128} << 20;
    body();
    const std::size_t free = free_device_bytes();
    for (int i = 1; i < count; ++i) body();
    EXPECT_LE(free, free_device_bytes() + late);
  }
};

TEST_F(ManyComeAndGo, Captures) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  const GemmCase gemm = split_case(5);
  Operands operands(gemm);
  expect_level_memory([&] {
    driver().graph_destroy(captured_call(handle(), stream.get(), modes[0], gemm, operands));
  });
  // The last one of them computes what it should with memory that others had.
  const Graph graph(captured_call(handle(), stream.get(), modes[0], gemm, operands));
  graph.launch(stream.get());
  stream.synchronize();
  operands.expect_result(" after many captures");
}

TEST_F(ManyComeAndGo, Threads) {
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), CU_STREAM_PER_THREAD)));
  const GemmCase gemm = split_case(6);
  Operands operands(gemm);
  CUcontext context = nullptr;
  check(driver().ctx_get_current(&context), "cuCtxGetCurrent");
  expect_level_memory([&] {
    std::thread([&] {
      const CurrentContext scope(context);
      EXPECT_TRUE(succeeds(call(handle(), gemm, operands)));
      // Elsewhere threads end while their work, which writes the same, is pending.
      if (small_scale()) check(driver().stream_synchronize(CU_STREAM_PER_THREAD), "synchronize");
    }).join();
  });
  synchronize();
  operands.expect_result(" after many threads");
}

}  // namespace
}  // namespace bwgemm::test
