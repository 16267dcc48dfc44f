// SPDX-License-Identifier: Apache-2.0
// What the virtual driver does that a real one need not: it makes missing dependencies and wrong
// kernels visible, and it refuses code that it cannot know.
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <pthread.h>

#include "vgpu/driver/conformance/driver_test.h"

namespace bwgemm::vgpu::driver::test {
namespace {

constexpr int rounds = 64;  // for chances of one half

class Adversary : public KernelTest {
 protected:
  static std::size_t findings() { return entry<std::size_t()>("vgpu_finding_count")(); }
  CUresult write(CUdeviceptr to, int value, CUstream stream) {
    void* arguments[] = {&to, &value};
    return CU(cuLaunchKernel)(function("write"), 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
  }
  // How often the bug shows.
  template <class Round>
  static int count(const Round& shows) {
    int shown = 0;
    for (int i = 0; i < rounds; ++i) shown += shows() ? 1 : 0;
    return shown;
  }
};

TEST_F(Adversary, AMissingEventShows) {
  const CUstream one = stream(), two = stream();
  const CUdeviceptr a = ints(32, 0);
  const int shown = count([&] {
    EXPECT_OK(CU(cuMemsetD32)(a, 1, 32));
    EXPECT_OK(CU(cuCtxSynchronize)());
    EXPECT_OK(add(a, a, 0, one));  // 2
    EXPECT_OK(add(a, a, 1, two));  // 5 behind it; 6 if first
    return read(a, 1)[0] != 5;
  });
  EXPECT_GT(shown, rounds / 8);
  EXPECT_LT(shown, rounds);
}

TEST_F(Adversary, AMissingSynchronizationShows) {
  const CUstream own = stream();
  const CUdeviceptr a = ints(32, 0);
  const int shown = count([&] {
    EXPECT_OK(CU(cuMemsetD32)(a, 1, 32));
    EXPECT_OK(CU(cuCtxSynchronize)());
    EXPECT_OK(write(a, 2, own));
    unsigned value = 0;
    EXPECT_OK(CU(cuMemcpyDtoH)(&value, a, 4)) << "does not wait for a non-blocking stream";
    EXPECT_OK(CU(cuCtxSynchronize)());
    return value == 1;
  });
  EXPECT_GT(shown, rounds / 8);
}

// A copy from pageable memory returns before its bytes have arrived.
TEST_F(Adversary, ACopyThatNobodyWaitsForComesLate) {
  const CUstream own = stream();
  const CUdeviceptr a = ints(32, 0), b = ints(32, 0);
  const std::vector<unsigned> host(32, 7);
  const int shown = count([&] {
    EXPECT_OK(CU(cuMemsetD32)(a, 0, 32));
    EXPECT_OK(CU(cuMemsetD32)(b, 0, 32));
    EXPECT_OK(CU(cuCtxSynchronize)());
    EXPECT_OK(CU(cuMemcpyHtoD)(a, host.data(), 128));
    EXPECT_OK(add(b, a, 0, own));
    return read(b, 1)[0] == 0;
  });
  EXPECT_GT(shown, rounds / 8);
}

TEST_F(Adversary, PinnedSourcesAreReadWhenTheCopyRuns) {
  void* host = nullptr;
  ASSERT_OK(CU(cuMemAllocHost)(&host, 128));
  const CUstream own = stream();
  const CUdeviceptr a = ints(32, 0);
  std::memset(host, 1, 128);
  EXPECT_OK(CU(cuMemcpyHtoDAsync)(a, host, 128, own));
  std::memset(host, 2, 128);
  EXPECT_OK(CU(cuStreamSynchronize)(own));
  EXPECT_EQ(read(a, 1)[0], 0x02020202u);
  EXPECT_OK(CU(cuMemFreeHost)(host));
}

// What a suite costs is told in instructions, which are the same on every machine.
TEST_F(Adversary, InstructionsAreCounted) {
  const auto count = entry<unsigned long long()>("vgpu_instruction_count");
  const CUdeviceptr a = ints(32, 0);
  const auto of_a_launch = [&] {
    const unsigned long long before = count();
    EXPECT_OK(write(a, 2, nullptr));
    EXPECT_OK(CU(cuCtxSynchronize)());
    return count() - before;
  };
  const unsigned long long once = of_a_launch();
  EXPECT_GT(once, 0u);
  EXPECT_EQ(of_a_launch(), once) << "of a warp that meets no branch";
}

TEST_F(Adversary, AFindingBreaksTheContext) {
  const std::size_t before = findings();
  const CUdeviceptr small = memory(64);
  EXPECT_OK(write(small, 1, nullptr)) << "the launch itself is fine";
  EXPECT_EQ(findings(), before) << "nothing ran yet";
  EXPECT_RESULT(CUDA_ERROR_LAUNCH_FAILED, CU(cuCtxSynchronize)());
  EXPECT_GT(findings(), before) << "32 ints do not fit into 64 bytes";
  CUdeviceptr address = 0;
  EXPECT_RESULT(CUDA_ERROR_LAUNCH_FAILED, CU(cuMemAlloc)(&address, 16));
  EXPECT_RESULT(CUDA_ERROR_LAUNCH_FAILED, CU(cuStreamQuery)(nullptr));

  EXPECT_OK(CU(cuDevicePrimaryCtxReset)(0));  // what the test had is gone with it
  forget();
  CUcontext again = nullptr;
  EXPECT_OK(CU(cuDevicePrimaryCtxRetain)(&again, 0));
  EXPECT_OK(CU(cuDevicePrimaryCtxRelease)(0));
  EXPECT_OK(CU(cuMemAlloc)(&address, 16));
  EXPECT_OK(CU(cuMemFree)(address));
}

// writer: p[i] = v, after it let the next kernel begin. reader: q[i] = p[i], with or without a
// wait.
constexpr char dependent_ptx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry writer(.param .u64 p, .param .u32 v)
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  griddepcontrol.wait;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v];
  griddepcontrol.launch_dependents;
  mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
.visible .entry reader(.param .u64 p, .param .u64 q, .param .u32 waits)
{
  .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .pred %p1;
  ld.param.u64 %rd1, [p]; ld.param.u64 %rd4, [q]; ld.param.u32 %r1, [waits];
  setp.eq.s32 %p1, %r1, 0;
  @%p1 bra begin;
  griddepcontrol.wait;
  begin:
  mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; add.s64 %rd5, %rd4, %rd2;
  ld.global.u32 %r3, [%rd3]; st.global.u32 [%rd5], %r3;
  ret;
}
)";

class Dependent : public Adversary {
 protected:
  void SetUp() override {
    Adversary::SetUp();
    if (IsSkipped()) return;
    ASSERT_OK(CU(cuModuleLoadData)(&dependent_, dependent_ptx));
  }
  CUresult launch(const char* name, void** arguments, CUstream stream) {
    CUfunction function = nullptr;
    EXPECT_OK(CU(cuModuleGetFunction)(&function, dependent_, name));
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{1, 1, 1, 32, 1, 1, 0, stream, &attribute, 1};
    return CU(cuLaunchKernelEx)(&config, function, arguments, nullptr);
  }
  void write_and_read(CUdeviceptr p, CUdeviceptr q, int value, int waits, CUstream stream) {
    void *write[] = {&p, &value}, *read[] = {&p, &q, &waits};
    EXPECT_OK(launch("writer", write, stream));
    EXPECT_OK(launch("reader", read, stream));
  }
  CUmodule dependent_ = nullptr;
};

TEST_F(Dependent, ChainsThatWaitAreRight) {
  const CUstream own = stream();
  const CUdeviceptr p = ints(32, 0), q = ints(32, 0);
  const std::size_t before = findings();
  for (int i = 1; i <= rounds; ++i) {
    for (int j = 0; j < 3; ++j) write_and_read(p, q, 10 * i + j, 1, own);
    EXPECT_OK(CU(cuStreamSynchronize)(own));
    EXPECT_EQ(read(q, 32), std::vector<unsigned>(32, static_cast<unsigned>(10 * i + 2)));
  }
  EXPECT_EQ(findings(), before);
}

TEST_F(Dependent, AMissingWaitIsFound) {
  for (const bool in_a_graph : {false, true}) {
    const CUstream own = stream();
    const CUdeviceptr p = ints(32, 0), q = ints(32, 0);
    const std::size_t before = findings();
    EXPECT_OK(CU(cuCtxSynchronize)());
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    if (in_a_graph) {
      EXPECT_OK(CU(cuStreamBeginCapture)(own, CU_STREAM_CAPTURE_MODE_RELAXED));
      write_and_read(p, q, 1, 0, own);
      EXPECT_OK(CU(cuStreamEndCapture)(own, &graph));
      CUgraphNode from = nullptr, to = nullptr;
      CUgraphEdgeData edge{};
      std::size_t one = 1;
      EXPECT_OK(CU(cuGraphGetEdges)(graph, &from, &to, &edge, &one));
      EXPECT_EQ(edge.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
      EXPECT_EQ(edge.from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
      EXPECT_RESULT(CUDA_ERROR_LOSSY_QUERY, CU(cuGraphGetEdges)(graph, &from, &to, nullptr, &one));
      EXPECT_OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    }
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < rounds && result == CUDA_SUCCESS; ++i) {
      if (in_a_graph)
        EXPECT_OK(CU(cuGraphLaunch)(exec, own));
      else
        write_and_read(p, q, 1, 0, own);
      result = CU(cuStreamSynchronize)(own);
    }
    EXPECT_RESULT(CUDA_ERROR_LAUNCH_FAILED, result);
    EXPECT_GT(findings(), before);
    EXPECT_OK(CU(cuDevicePrimaryCtxReset)(0));
    forget();
    CUcontext again = nullptr;
    EXPECT_OK(CU(cuDevicePrimaryCtxRetain)(&again, 0));
    EXPECT_OK(CU(cuDevicePrimaryCtxRelease)(0));
    EXPECT_OK(CU(cuModuleLoadData)(&dependent_, dependent_ptx));
  }
}

// What a thread calls that has been asked to end, and the result.
struct LastCall {
  std::function<CUresult()> call;
  CUresult result = CUDA_ERROR_UNKNOWN;
};

void* call_and_end(void* data) {
  auto* last = static_cast<LastCall*>(data);
  pthread_cancel(pthread_self());  // takes effect at the next cancellation point
  last->result = last->call();
  pthread_testcancel();
  return nullptr;
}

// Cancellation points are whatever writes, reads or waits.
TEST_F(Adversary, ACancelledThreadEndsBehindItsCall) {
  constexpr char unknown[] = ".version 8.0\n.target sm_90\n.address_size 64\n.unknown\n";
  const CUstream own = stream();
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUtensorMap map{};
  const std::pair<CUresult, std::function<CUresult()>> calls[] = {
      {CUDA_ERROR_NOT_SUPPORTED, [&] { return CU(cuModuleLoadData)(&module, unknown); }},
      {CUDA_ERROR_NOT_SUPPORTED,
       [&] {
         return CU(cuLibraryLoadData)(&library, unknown, nullptr, nullptr, 0, nullptr, nullptr, 0);
       }},
      {CUDA_ERROR_INVALID_VALUE,
       [&] {
         return CU(cuTensorMapEncodeTiled)(
             &map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 9, nullptr, nullptr, nullptr, nullptr, nullptr,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
       }},
      {CUDA_SUCCESS, [&] { return CU(cuStreamSynchronize)(own); }},
  };
  for (const auto& [expected, call] : calls) {
    LastCall last{[&] {
      CU(cuCtxSetCurrent)(primary());
      return call();
    }};
    EXPECT_OK(CU(cuLaunchHostFunc)(
        own, [](void*) { pthread_testcancel(); }, nullptr));
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, nullptr, call_and_end, &last), 0);
    void* end = nullptr;
    ASSERT_EQ(pthread_join(thread, &end), 0);
    EXPECT_RESULT(expected, last.result);
    EXPECT_EQ(end, PTHREAD_CANCELED);
  }
}

// Calls the driver, which a callback must not.
void CUDA_CB ask_for_the_version(void* result) {
  int version = 0;
  static_cast<std::promise<CUresult>*>(result)->set_value(CU(cuDriverGetVersion)(&version));
}

TEST_F(Adversary, AHostFunctionThatCallsTheDriverIsFound) {
  const std::size_t before = findings();
  const CUstream own = stream();
  std::promise<CUresult> result;
  EXPECT_OK(CU(cuLaunchHostFunc)(own, ask_for_the_version, &result));
  EXPECT_OK(CU(cuStreamSynchronize)(own));
  EXPECT_RESULT(CUDA_ERROR_NOT_PERMITTED, result.get_future().get());
  EXPECT_EQ(findings(), before + 1);
}

TEST_F(Adversary, ADestructorThatCallsTheDriverIsFound) {
  const std::size_t before = findings();
  std::promise<CUresult> result;
  CUuserObject object = nullptr;
  EXPECT_OK(CU(cuUserObjectCreate)(&object, &result, ask_for_the_version, 1,
                                   CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  EXPECT_OK(CU(cuUserObjectRelease)(object, 1));
  EXPECT_RESULT(CUDA_ERROR_NOT_PERMITTED, result.get_future().get());
  EXPECT_EQ(findings(), before + 1);
}

void CUDA_CB note_the_end(void* ended) {
  static_cast<std::promise<void>*>(ended)->set_value();
}

// The launch runs when somebody waits for it; the graph is destroyed before.
TEST_F(Adversary, AUserObjectOutlivesTheLaunchOfItsGraph) {
  const CUstream own = stream();
  std::promise<void> ended;
  CUuserObject object = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  EXPECT_OK(
      CU(cuUserObjectCreate)(&object, &ended, note_the_end, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  EXPECT_OK(CU(cuGraphCreate)(&graph, 0));
  EXPECT_OK(CU(cuGraphRetainUserObject)(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  EXPECT_OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
  EXPECT_OK(CU(cuGraphLaunch)(exec, own));
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuUserObjectRelease)(object, 1));
  EXPECT_OK(CU(cuUserObjectRetain)(object, 1)) << "the launch still refers to it";
  EXPECT_OK(CU(cuStreamSynchronize)(own));
  EXPECT_OK(CU(cuUserObjectRelease)(object, 1));
  EXPECT_INVALID_VALUE(CU(cuUserObjectRetain)(object, 1)) << "nothing does any more";
  ended.get_future().wait();
}

TEST_F(Adversary, UnknownBlobsAreRefused) {
  struct {
    std::uint32_t magic = 0xba55ed50;
    std::uint16_t version = 1, header_bytes = 16;
    std::uint64_t payload_bytes = 16;
    char payload[16] = "not in an index";
  } fatbin;
  CUlibrary library = nullptr;
  EXPECT_RESULT(CUDA_ERROR_NOT_SUPPORTED,
                CU(cuLibraryLoadData)(&library, &fatbin, nullptr, nullptr, 0, nullptr, nullptr, 0));
}

TEST_F(Adversary, UnknownInstructionsAreRefused) {
  constexpr char unknown[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k()\n{\n  bfind.u32 %r1, %r2;\n  ret;\n}\n";
  CUmodule module = nullptr;
  EXPECT_RESULT(CUDA_ERROR_NOT_SUPPORTED, CU(cuModuleLoadData)(&module, unknown));
}

}  // namespace
}  // namespace bwgemm::vgpu::driver::test
