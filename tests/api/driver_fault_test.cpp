// SPDX-License-Identifier: Apache-2.0
// Every call that the library makes to the driver fails in turn: no crash, no leak, a status and a
// text that names the call, and afterwards a handle that works (or, where it was to end, is gone).
#include <cstdlib>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ostream>
#include <set>
#include <string_view>
#include <thread>

#include "api/divided_call.h"
#include "support/fake_gemm.h"
#include "support/matmul_call.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

// Calls whose failure the library may bear: it has another answer, or is only cleaning up. A call
// of the library that then succeeds must have done its work.
bool may_be_borne(std::string_view entry) {
  static const std::set<std::string_view> entries = {"cuCtxGetDevResource",
                                                     "cuGetErrorName",
                                                     "cuGetErrorString",
                                                     "cuCtxGetCurrent",
                                                     "cuCtxPopCurrent",
                                                     "cuCtxGetId",
                                                     "cuStreamDestroy",
                                                     "cuDevicePrimaryCtxRelease",
                                                     "cuThreadExchangeStreamCaptureMode"};
  return entries.count(entry) > 0;
}

struct Fault {
  CUresult result;
  bwgemmStatus_t at_launch, at_allocation;
};
constexpr Fault faults[] = {
    {CUDA_ERROR_UNKNOWN, BWGEMM_STATUS_EXECUTION_FAILED, BWGEMM_STATUS_INTERNAL_ERROR},
    {CUDA_ERROR_OUT_OF_MEMORY, BWGEMM_STATUS_EXECUTION_FAILED, BWGEMM_STATUS_ALLOC_FAILED},
    {CUDA_ERROR_ILLEGAL_ADDRESS, BWGEMM_STATUS_EXECUTION_FAILED, BWGEMM_STATUS_EXECUTION_FAILED}};

// What is done while a call fails. `handle` exists before unless the scenario creates it.
struct Scenario {
  const char* name;
  std::function<bwgemmStatus_t(bwgemmHandle_t& handle)> run;
  bool creates = false, captures = false, warm = false;
  int launches = 0;  // of a call that succeeds
  bool is_divided = false;
};

void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

bwgemmStatus_t create(bwgemmHandle_t& handle) {
  return bwgemmCreate(&handle);
}

// Of the thread that made the failing call.
std::string text_of_other_thread;

template <class Call>
bwgemmStatus_t on_another_thread(const Call& call) {
  bwgemmStatus_t status = BWGEMM_STATUS_SUCCESS;
  std::thread([&] {
    status = call();
    text_of_other_thread = bwgemmGetLastErrorString();
  }).join();
  return status;
}

bwgemmStatus_t create_without_context(bwgemmHandle_t& handle) {
  return on_another_thread([&] { return bwgemmCreate(&handle); });
}

bwgemmStatus_t destroy(bwgemmHandle_t& handle) {
  return bwgemmDestroy(std::exchange(handle, nullptr));
}

bwgemmStatus_t gemm_from_other_thread(bwgemmHandle_t& handle) {
  return on_another_thread([&] { return gemm_ex(handle, {}); });
}

bwgemmStatus_t ask_for_workspace_size(bwgemmHandle_t& handle) {
  std::size_t size = 0;
  GemmArguments gemm = GemmArguments::split();
  gemm.workspace_size = &size;
  return workspace_size(handle, gemm);
}

bwgemmStatus_t explain_to_nobody(bwgemmHandle_t& handle) {
  char text[256];
  GemmArguments gemm;
  gemm.text = text, gemm.text_size = sizeof text;
  return explain(handle, gemm);
}

// Its algo is found where nothing fails.
MatmulCall divided_call;

bwgemmStatus_t divided_matmul(bwgemmHandle_t& handle) {
  return matmul(handle, divided_call);
}

bwgemmStatus_t preload_split(bwgemmHandle_t& handle) {
  const MatmulCall split = MatmulCall::split();
  return bwgemmPreload(handle, &split.desc);
}

const Scenario scenarios[] = {
    {.name = "Create", .run = create, .creates = true},
    {.name = "CreateWithoutContext", .run = create_without_context, .creates = true},
    {.name = "FirstGemm", .run = [](auto& h) { return gemm_ex(h, {}); }, .launches = 1},
    {.name = "FirstSplitGemm",
     .run = [](auto& h) { return gemm_ex(h, GemmArguments::split()); },
     .launches = 1},
    {.name = "FirstUnalignedGemm",
     .run = [](auto& h) { return gemm_ex(h, GemmArguments::unaligned()); },
     .launches = 1},
    {.name = "FirstCopiedGemm",
     .run = [](auto& h) { return gemm_ex(h, GemmArguments::copied()); },
     .launches = 2},
    {.name = "FirstBatchedGemm", .run = [](auto& h) { return gemm_batched(h, {}); }, .launches = 1},
    {.name = "WarmGemm",
     .run = [](auto& h) { return gemm_ex(h, {}); },
     .warm = true,
     .launches = 1},
    {.name = "WarmSplitGemm",
     .run = [](auto& h) { return gemm_ex(h, GemmArguments::split()); },
     .warm = true,
     .launches = 1},
    {.name = "WarmCopiedGemm",
     .run = [](auto& h) { return gemm_ex(h, GemmArguments::copied()); },
     .warm = true,
     .launches = 2},
    {.name = "GemmFromAThreadWithoutContext", .run = gemm_from_other_thread, .launches = 1},
    {.name = "CapturedGemm",
     .run = [](auto& h) { return gemm_ex(h, {}); },
     .captures = true,
     .launches = 1},
    {.name = "CapturedSplitGemm",
     .run = [](auto& h) { return gemm_ex(h, GemmArguments::split()); },
     .captures = true,
     .launches = 1},
    {.name = "CapturedCopiedGemm",
     .run = [](auto& h) { return gemm_ex(h, GemmArguments::copied()); },
     .captures = true,
     .launches = 2},
    {.name = "FirstDividedMatmul",
     .run = divided_matmul,
     .launches = 2 * DividedCall::parts,
     .is_divided = true},
    {.name = "WarmDividedMatmul",
     .run = divided_matmul,
     .warm = true,
     .launches = 2 * DividedCall::parts,
     .is_divided = true},
    {.name = "CapturedDividedMatmul",
     .run = divided_matmul,
     .captures = true,
     .launches = 2 * DividedCall::parts,
     .is_divided = true},
    {.name = "FirstMatmul",
     .run = [](auto& h) { return matmul(h, MatmulCall::with_bias()); },
     .launches = 1},
    {.name = "Preload", .run = preload_split},
    {.name = "SetStream", .run = [](auto& h) { return bwgemmSetStream(h, CU_STREAM_PER_THREAD); }},
    {.name = "SetWorkspace", .run = [](auto& h) { return bwgemmSetWorkspace(h, nullptr, 0); }},
    {.name = "GetWorkspaceSize", .run = ask_for_workspace_size},
    {.name = "Explain", .run = explain_to_nobody},
    {.name = "DestroyUnused", .run = destroy},
    {.name = "DestroyUsed", .run = destroy, .warm = true},
};

class DriverFaults : public FakeTest, public ::testing::WithParamInterface<Scenario> {
 protected:
  void SetUp() override {
    FakeTest::SetUp();
    bwgemmHandle_t first = nullptr;  // opens the driver, whose faults are tested below
    ASSERT_EQ(bwgemmCreate(&first), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    divided_call = DividedCall::of(Loose::b);
    divided_call.desc.workspace = nullptr;
    divided_call = with_copying_algo(first, divided_call);
    ASSERT_EQ(bwgemmDestroy(first), BWGEMM_STATUS_SUCCESS);
  }

  const Scenario& scenario() const { return GetParam(); }

  void prepare() {
    if (scenario().creates) return;
    ASSERT_EQ(bwgemmCreate(&handle_), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    if (scenario().warm) {
      ASSERT_EQ(gemm_ex(handle_, {}), BWGEMM_STATUS_SUCCESS);
      ASSERT_EQ(gemm_ex(handle_, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
      ASSERT_EQ(gemm_ex(handle_, GemmArguments::copied()), BWGEMM_STATUS_SUCCESS);
      ASSERT_EQ(matmul(handle_, divided_call), BWGEMM_STATUS_SUCCESS);
    }
    if (!scenario().captures) return;
    stream_ = std::make_unique<Stream>();
    ASSERT_EQ(bwgemmSetStream(handle_, stream_->get()), BWGEMM_STATUS_SUCCESS);
    check(driver().stream_begin_capture(stream_->get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "capture");
  }

  bwgemmStatus_t run() { return scenario().run(handle_); }

  // Without faults: what is left must work, end, and leave nothing behind.
  void finish(bwgemmStatus_t status, const std::string& what, std::string_view failing) {
    EXPECT_EQ(fake_cuda().misuse(0), nullptr) << what << ": " << fake_cuda().misuse(0);
    fake_cuda().reset();
    EXPECT_EQ(current(), context()) << what << ": the caller's context was not restored";
    if (scenario().creates && status != BWGEMM_STATUS_SUCCESS) {
      EXPECT_EQ(handle_, nullptr) << what << ": the handle was written";
    }
    if (stream_ != nullptr) {
      CUgraph graph = nullptr;
      const CUresult ended = driver().stream_end_capture(stream_->get(), &graph);
      // That call is what keeps captures valid.
      if (failing != "cuThreadExchangeStreamCaptureMode") {
        EXPECT_EQ(ended, CUDA_SUCCESS) << what << ": the capture was invalidated";
      }
      if (graph != nullptr) driver().graph_destroy(graph);
    }
    if (handle_ != nullptr) {
      EXPECT_EQ(gemm_ex(handle_, {}), BWGEMM_STATUS_SUCCESS)
          << what << ", then: " << bwgemmGetLastErrorString();
      EXPECT_EQ(gemm_ex(handle_, GemmArguments::split()), BWGEMM_STATUS_SUCCESS)
          << what << ", then: " << bwgemmGetLastErrorString();
      EXPECT_EQ(gemm_ex(handle_, GemmArguments::copied()), BWGEMM_STATUS_SUCCESS)
          << what << ", then: " << bwgemmGetLastErrorString();
      EXPECT_EQ(matmul(handle_, divided_call), BWGEMM_STATUS_SUCCESS)
          << what << ", then: " << bwgemmGetLastErrorString();
      EXPECT_EQ(bwgemmDestroy(std::exchange(handle_, nullptr)), BWGEMM_STATUS_SUCCESS) << what;
    }
    stream_.reset();
    expect_nothing_alive("after " + what, 1);
    fake_cuda().reset();
  }

 private:
  bwgemmHandle_t handle_ = nullptr;
  std::unique_ptr<Stream> stream_;
};

TEST_P(DriverFaults, EachCallInTurn) {
  for (const Fault& fault : faults) {
    for (long n = 1;; ++n) {
      prepare();
      fake_cuda().reset();
      fake_cuda().fail_call(n, fault.result);
      const bwgemmStatus_t status = run();
      const bool was_made = fake_cuda().calls(nullptr) >= n;
      const std::string entry = was_made ? fake_cuda().call_name(n) : "nothing";
      const std::string what = std::string(scenario().name) + " with call " + std::to_string(n) +
                               ", " + entry + ", failing with " + std::to_string(fault.result);
      const std::string text = text_of_other_thread + bwgemmGetLastErrorString();
      if (!was_made || may_be_borne(entry)) {
        EXPECT_TRUE(was_made || status == BWGEMM_STATUS_SUCCESS) << what << ": " << text;
      } else {
        EXPECT_NE(status, BWGEMM_STATUS_SUCCESS) << what;
        EXPECT_NE(status, BWGEMM_STATUS_INVALID_VALUE) << what << ": " << text;
        EXPECT_THAT(text, ::testing::HasSubstr(entry)) << what;
        if (entry == "cuLaunchKernelEx") {
          EXPECT_EQ(status, fault.at_launch) << what;
        }
        if (entry == "cuMemAlloc") {
          EXPECT_EQ(status, fault.at_allocation) << what;
        }
      }
      const bool is_done = status == BWGEMM_STATUS_SUCCESS;
      // Those in front of one that fails stay.
      const int before = entry == "cuLaunchKernelEx"
                             ? static_cast<int>(fake_cuda().calls("cuLaunchKernelEx")) - 1
                             : 0;
      if (scenario().is_divided && !is_done && entry != "cuLaunchKernelEx")
        EXPECT_LT(fake_cuda().launches(), scenario().launches) << what;
      else
        EXPECT_EQ(fake_cuda().launches(), is_done ? scenario().launches : before) << what;
      finish(status, what, entry);
      if (!was_made || HasFailure()) break;
      ASSERT_LT(n, 500) << "the scenario has no end";
    }
  }
}

// Every entry point that the scenario uses, failing whenever it is called.
TEST_P(DriverFaults, EachEntryForGood) {
  prepare();
  fake_cuda().reset();
  bwgemmStatus_t status = run();
  std::set<const char*> entries;
  for (long n = 1; n <= fake_cuda().calls(nullptr); ++n) entries.insert(fake_cuda().call_name(n));
  finish(status, "no fault", "");
  for (const char* entry : entries) {
    const std::string what = std::string(scenario().name) + " with every " + entry + " failing";
    prepare();
    fake_cuda().reset();
    fake_cuda().fail_entry(entry, CUDA_ERROR_UNKNOWN);
    status = run();
    if (!may_be_borne(entry)) {
      EXPECT_NE(status, BWGEMM_STATUS_SUCCESS) << what;
    }
    finish(status, what, entry);
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, DriverFaults, ::testing::ValuesIn(scenarios),
                         [](const auto& info) { return std::string(info.param.name); });

// A context that the user's own work broke: every call fails, and destroying the handle too, but
// without a crash.
TEST(LostContext, EveryCallSaysSo) {
  check(driver().init(0), "cuInit");
  CUcontext context = nullptr;
  check(driver().ctx_create_v2(&context, 0, 0), "cuCtxCreate");
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(gemm_ex(handle, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  for (const char* entry :
       {"cuLaunchKernelEx", "cuCtxSynchronize", "cuMemFree", "cuLibraryUnload"}) {
    fake_cuda().fail_entry(entry, CUDA_ERROR_ILLEGAL_ADDRESS);
    if (std::string_view(entry) == "cuLaunchKernelEx") {
      EXPECT_EQ(gemm_ex(handle, {}), BWGEMM_STATUS_EXECUTION_FAILED) << bwgemmGetLastErrorString();
      continue;
    }
    EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_EXECUTION_FAILED) << entry;
    EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_NOT_INITIALIZED) << "it is gone all the same";
    fake_cuda().reset();
    ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
    ASSERT_EQ(gemm_ex(handle, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  }
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
  check(driver().ctx_destroy(context), "cuCtxDestroy");
}

// Its owner destroyed the context before the handle.
TEST(LostContext, Destroyed) {
  check(driver().init(0), "cuInit");
  CUcontext context = nullptr;
  check(driver().ctx_create_v2(&context, 0, 0), "cuCtxCreate");
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(gemm_ex(handle, {}), BWGEMM_STATUS_SUCCESS);
  check(driver().ctx_destroy(context), "cuCtxDestroy");
  EXPECT_EQ(gemm_ex(handle, {}), BWGEMM_STATUS_EXECUTION_FAILED) << bwgemmGetLastErrorString();
  bwgemmDestroy(handle);  // any status
  EXPECT_EQ(fake_cuda().live(Live::libraries), 0);
  EXPECT_EQ(fake_cuda().misuse(0), nullptr) << fake_cuda().misuse(0);
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_NOT_INITIALIZED);
}

// Opening the driver happens once per process, so each of its faults has a process of its own.
TEST(OpeningTheDriver, EachCallInTurn) {
  for (int n = 1;; ++n) {
    const ProcessResult result = run_self("OpeningTheDriverProbe.DISABLED_*",
                                          {{"BWGEMM_TEST_FAILING_CALL", std::to_string(n)}});
    EXPECT_TRUE(result.passed()) << "call " << n << " fails:\n" << result.output;
    if (!result.passed() || result.output.find("no such call") != std::string::npos) break;
    ASSERT_LT(n, 200);
  }
}

TEST(OpeningTheDriverProbe, DISABLED_OneCallFails) {
  const char* number = std::getenv("BWGEMM_TEST_FAILING_CALL");
  const long n = number != nullptr ? std::atol(number) : 1;
  fake_cuda().fail_call(n, CUDA_ERROR_UNKNOWN);
  bwgemmHandle_t handle = nullptr;
  const bwgemmStatus_t status = bwgemmCreate(&handle);
  if (fake_cuda().calls(nullptr) < n) {
    std::puts("no such call");
    ASSERT_EQ(status, BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  } else if (!may_be_borne(fake_cuda().call_name(n)) || status != BWGEMM_STATUS_SUCCESS) {
    const std::string entry = fake_cuda().call_name(n);
    // An optional entry point may be missing.
    if (entry != "cuGetProcAddress") {
      EXPECT_NE(status, BWGEMM_STATUS_SUCCESS) << entry;
    }
    if (status != BWGEMM_STATUS_SUCCESS) {
      EXPECT_EQ(handle, nullptr) << entry;
      EXPECT_GT(std::strlen(bwgemmGetLastErrorString()), 20u) << entry;
      ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS)
          << "a second attempt after " << entry << ": " << bwgemmGetLastErrorString();
    }
  }
  EXPECT_EQ(gemm_ex(handle, {}), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
  for (const Live what : {Live::memory, Live::streams, Live::libraries, Live::primary_references})
    EXPECT_EQ(fake_cuda().live(what), 0) << static_cast<int>(what);
}

}  // namespace
}  // namespace bwgemm::test
