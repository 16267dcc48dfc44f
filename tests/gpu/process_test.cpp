// SPDX-License-Identifier: Apache-2.0
// The library in the life of a process, with a device: a graph replayed a thousand times and given
// other pointers, forks, and a context that a bad pointer broke.
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/exact_cases.h"
#include "support/gemm_case.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

// ---- a graph for long ---------------------------------------------------------------------------

using UpdateGraph = CUresult (*)(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*);

// An instantiated graph of one captured call, which can be given the pointers of another. Where the
// driver cannot update graphs it is instantiated anew, as programs do if an update fails.
class UpdatableGraph {
 public:
  explicit UpdatableGraph(CUgraph captured) { instantiate(captured); }
  UpdatableGraph(const UpdatableGraph&) = delete;
  ~UpdatableGraph() { check(driver().graph_exec_destroy(exec_), "cuGraphExecDestroy"); }

  void update(CUgraph captured) {
    static const auto update_graph = reinterpret_cast<UpdateGraph>(
        dlsym(dlopen(driver_path().c_str(), RTLD_NOW | RTLD_LOCAL), "cuGraphExecUpdate_v2"));
    if (update_graph == nullptr) {
      check(driver().graph_exec_destroy(exec_), "cuGraphExecDestroy");
      instantiate(captured);
      return;
    }
    CUgraphExecUpdateResultInfo info{};
    check(update_graph(exec_, captured, &info), "cuGraphExecUpdate");
    check(driver().graph_destroy(captured), "cuGraphDestroy");
  }

  void launch(CUstream stream) const {
    check(driver().graph_launch(exec_, stream), "cuGraphLaunch");
  }

 private:
  void instantiate(CUgraph captured) {
    check(driver().graph_instantiate(&exec_, captured, 0), "cuGraphInstantiate");
    check(driver().graph_destroy(captured), "cuGraphDestroy");
  }

  CUgraphExec exec_ = nullptr;
};

using LongLivedGraph = HandleTest;

CUgraph captured_call(bwgemmHandle_t handle, CUstream stream, const GemmCase& gemm,
                      const Operands& operands) {
  check(driver().stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "cuStreamBeginCapture");
  EXPECT_TRUE(succeeds(call(handle, gemm, operands)));
  CUgraph captured = nullptr;
  check(driver().stream_end_capture(stream, &captured), "cuStreamEndCapture");
  return captured;
}

TEST_F(LongLivedGraph, AThousandReplays) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  // With beta 1 each replay adds the same product: all have run, once each. Sums stay below 2^24,
  // so that they are exact.
  struct Replayed {
    GemmCase shape;
    int times;
  };
  for (const auto& [shape, replays] :
       {Replayed{{.m = 5, .n = 3, .k = 7}, 1000},
        Replayed{{.m = 16, .n = 8, .k = 16, .ld_multiple = 8}, small_scale() ? 50 : 1000}}) {
    GemmCase gemm = shape;
    gemm.output = Dtype::f32, gemm.beta = 1, gemm.fill = Fill::integers;
    Operands operands(gemm);
    const UpdatableGraph graph(captured_call(handle(), stream.get(), gemm, operands));
    for (int i = 0; i < replays; ++i) graph.launch(stream.get());
    stream.synchronize();
    const Matrix after = operands.device_c().download();
    const Product exact = product({&operands.a(), false, 0}, {&operands.b(), false, 0});
    for (std::size_t i = 0; i < exact.rows.size(); ++i)
      for (std::size_t j = 0; j < exact.columns.size(); ++j)
        ASSERT_EQ(after.get(exact.rows[i], exact.columns[j], 0),
                  operands.c_before().get(exact.rows[i], exact.columns[j], 0) +
                      replays * exact.sum[exact.index(i, j)])
            << gemm;
  }
}

TEST_F(LongLivedGraph, OtherPointers) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  for (const GemmCase& gemm : exact_cases) {
    std::vector<std::unique_ptr<Operands>> operands;
    for (int i = 0; i < 4; ++i) {
      GemmCase other = gemm;
      other.seed = static_cast<std::uint64_t>(i) + 31;
      operands.push_back(std::make_unique<Operands>(other));
    }
    UpdatableGraph graph(captured_call(handle(), stream.get(), gemm, *operands[0]));
    for (std::size_t i = 1; i < operands.size(); ++i) {
      graph.launch(stream.get());
      graph.update(captured_call(handle(), stream.get(), gemm, *operands[i]));
    }
    graph.launch(stream.get());
    for (const auto& one : operands) one->expect_result(" of an updated graph");
  }
}

// ---- fork ---------------------------------------------------------------------------------------

using ForkedProcess = HandleTest;

TEST_F(ForkedProcess, TheParentIsNotDisturbed) {
  const GemmCase& gemm = exact_cases[0];
  Operands operands(gemm);
  ASSERT_TRUE(succeeds(call(handle(), gemm, operands)));
  const pid_t child = fork();
  if (child == 0) {
    const bool is_told = call(handle(), gemm, operands) == BWGEMM_STATUS_NOT_INITIALIZED &&
                         bwgemmDestroy(handle()) == BWGEMM_STATUS_NOT_INITIALIZED;
    _exit(is_told ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  operands.expect_result(" after a fork");
  run(handle(), gemm);
}

// ---- a lost context -----------------------------------------------------------------------------

// In a process of its own: on hardware the error stays with the process.
class LostContext : public GpuTest {};

TEST_F(LostContext, EverythingAnswers) {
  const ProcessResult result = run_self("LostContextProbe.DISABLED_*");
  EXPECT_TRUE(result.passed()) << result.output;
}

using LostContextProbe = GpuTest;

TEST_F(LostContextProbe, DISABLED_ByABadPointer) {
  const UnmappedMemory unmapped;
  const GemmCase& gemm = exact_cases[1];
  auto* operands = new Operands(gemm);  // never freed: that would fail
  bwgemmHandle_t handle = nullptr, fresh = nullptr;
  ASSERT_TRUE(succeeds(bwgemmCreate(&handle)));
  const float one = 1, zero = 0;
  ASSERT_TRUE(
      succeeds(bwgemmBf16(handle, BWGEMM_OP_N, BWGEMM_OP_N, 61, 35, 77, &one, unmapped.pointer(),
                          61, operands->b_pointer(), 77, &zero, operands->c_pointer(), 61)))
      << "the call itself cannot know";
  EXPECT_NE(driver().ctx_synchronize(), CUDA_SUCCESS) << "nothing broke";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(call(handle, gemm, *operands), BWGEMM_STATUS_EXECUTION_FAILED);
    EXPECT_NE(std::string(bwgemmGetLastErrorString()).find("CUDA_ERROR_"), std::string::npos)
        << bwgemmGetLastErrorString();
  }
  EXPECT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_EXECUTION_FAILED) << bwgemmGetLastErrorString();
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_EXECUTION_FAILED) << bwgemmGetLastErrorString();
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_NOT_INITIALIZED);
  std::fflush(nullptr);
  std::_Exit(::testing::Test::HasFailure() ? 1 : 0);  // the fixture's own clean-up would fail
}

}  // namespace
}  // namespace bwgemm::test
