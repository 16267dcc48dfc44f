// SPDX-License-Identifier: Apache-2.0
// BWGEMM_TUNE_ON beside captures, failures, other threads, forks and the tuning cache's file; and
// the setting itself.
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "api/tuning_test.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

using TuneRules = TuneTest;

std::string content_of(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

class TunedHandle {
 public:
  explicit TunedHandle(const std::string& path = "") {
    check(bwgemmCreate(&handle_));
    check(bwgemmSetTuneMode(handle_, BWGEMM_TUNE_ON));
    check(bwgemmSetTuningCache(handle_, path.c_str()));
  }
  ~TunedHandle() { check(bwgemmDestroy(handle_)); }
  TunedHandle(const TunedHandle&) = delete;
  TunedHandle& operator=(const TunedHandle&) = delete;

  bwgemmHandle_t get() const { return handle_; }

 private:
  static void check(bwgemmStatus_t status) { EXPECT_EQ(status, BWGEMM_STATUS_SUCCESS); }
  bwgemmHandle_t handle_ = nullptr;
};

// ---- the setting --------------------------------------------------------------------------------

TEST_F(TuneRules, TheVariableIsTheModeOfNewHandles) {
  const std::pair<const char*, bwgemmTuneMode_t> values[] = {
      {"1", BWGEMM_TUNE_ON},   {"frozen", BWGEMM_TUNE_FROZEN}, {"off", BWGEMM_TUNE_OFF},
      {"", BWGEMM_TUNE_OFF},   {"0", BWGEMM_TUNE_OFF},         {"2", BWGEMM_TUNE_OFF},
      {"10", BWGEMM_TUNE_OFF}, {"FROZEN", BWGEMM_TUNE_OFF},    {"yes", BWGEMM_TUNE_OFF},
      {" 1", BWGEMM_TUNE_OFF}};
  for (const auto& [value, mode] : values) {
    const Variable variable("BWGEMM_TUNE", value);
    bwgemmHandle_t fresh = nullptr;
    ASSERT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_SUCCESS);
    bwgemmTuneMode_t found = BWGEMM_TUNE_FORCE_INT;
    EXPECT_EQ(bwgemmGetTuneMode(fresh, &found), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(found, mode) << "'" << value << "'";
    EXPECT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_SUCCESS);
  }
}

TEST_F(TuneRules, ForcedChoicesAreNotMeasured) {
  const std::pair<const char*, const char*> forced[] = {
      {"BWGEMM_FORCE_KERNEL", "bwgemm_sm90_b16_64x64x32_direct"},
      {"BWGEMM_FORCE_SPLITS", "1"},
      {"BWGEMM_FORCE_OPERANDS", "in_place"}};
  for (const auto& [name, value] : forced) {
    const Variable variable(name, value);
    const TunedHandle fresh;
    EXPECT_FALSE(measures(fresh.get(), {})) << name;
  }
}

// ---- captures -----------------------------------------------------------------------------------

TEST_F(TuneRules, ACapturedCallIsPredictedAndTheNextOneMeasures) {
  const MatmulCall call;
  quick_kernel = other_than_predicted(handle(), call);
  const Stream stream;
  ASSERT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  std::string kernel;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(measures(call, &kernel));
    EXPECT_NE(kernel, quick_kernel);
    EXPECT_EQ(fake_cuda().launches(), 1);
    EXPECT_EQ(fake_cuda().calls("cuStreamSynchronize"), 0);
  }
  CUgraph graph = nullptr;
  ASSERT_EQ(driver().stream_end_capture(stream.get(), &graph), CUDA_SUCCESS) << "still valid";
  driver().graph_destroy(graph);
  EXPECT_TRUE(measures(call, &kernel));
  EXPECT_EQ(kernel, quick_kernel);
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  EXPECT_FALSE(measures(call, &kernel));
  EXPECT_EQ(kernel, quick_kernel) << "what was measured is captured";
  ASSERT_EQ(driver().stream_end_capture(stream.get(), &graph), CUDA_SUCCESS);
  driver().graph_destroy(graph);
  ASSERT_EQ(bwgemmSetStream(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
}

TEST_F(TuneRules, CapturesOfOtherStreamsStayValid) {
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const TunedHandle fresh;
    const Stream captured, used;
    ASSERT_EQ(bwgemmSetStream(fresh.get(), used.get()), BWGEMM_STATUS_SUCCESS);
    check(driver().stream_begin_capture(captured.get(), mode), "begin");
    EXPECT_TRUE(measures(fresh.get(), {}));
    CUgraph graph = nullptr;
    ASSERT_EQ(driver().stream_end_capture(captured.get(), &graph), CUDA_SUCCESS) << mode;
    driver().graph_destroy(graph);
  }
  EXPECT_EQ(fake_cuda().capture_mode(), CU_STREAM_CAPTURE_MODE_GLOBAL);
}

// The legacy stream waits for blocking ones, so the call itself fails, and only it.
TEST_F(TuneRules, TheLegacyStreamBesideACaptureIsNotWaitedFor) {
  const Stream blocking(CU_STREAM_DEFAULT);
  check(driver().stream_begin_capture(blocking.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  reset();
  EXPECT_NE(matmul(handle(), {}), BWGEMM_STATUS_SUCCESS);
  EXPECT_FALSE(has_measured());
  EXPECT_EQ(fake_cuda().calls("cuStreamSynchronize"), 0);
  CUgraph graph = nullptr;
  driver().stream_end_capture(blocking.get(), &graph);
  if (graph != nullptr) driver().graph_destroy(graph);
  EXPECT_TRUE(measures({})) << "afterwards";
}

// ---- failures -----------------------------------------------------------------------------------

TEST_F(TuneRules, WithoutMemoryTheCallIsPredicted) {
  const MatmulCall call;
  reset();
  fake_cuda().fail_entry("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  const std::string error = bwgemmGetLastErrorString();
  EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(only_launch().kernel,
            std::string_view(bwgemmKernelName(algos_of(handle(), call)[0].kernel)));
  EXPECT_EQ(bwgemmGetLastErrorString(), error);
  fake_cuda().reset();
  EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(fake_cuda().launches(), 1);
  EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0) << "tried once: the plan is known";
}

// A call of the same kind as any MatmulCall, but with a plan of its own.
MatmulCall of_another_plan() {
  MatmulCall call;
  call.desc.lda = 512;
  return call;
}

TEST_F(TuneRules, AfterAFailureTheKindKeepsItsPrediction) {
  const MatmulCall call;
  quick_kernel = other_than_predicted(handle(), call);
  const std::string predicted = bwgemmKernelName(algos_of(handle(), call)[0].kernel);
  const TunedHandle tried(path()), other(path());
  reset();
  fake_cuda().fail_entry("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(matmul(tried.get(), call), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(last_kernel(), predicted);
  EXPECT_FALSE(std::filesystem::exists(path())) << "a prediction in the file";
  std::string kernel;
  ASSERT_TRUE(measures(other.get(), call, &kernel));
  ASSERT_EQ(kernel, quick_kernel) << "now the file has a result";
  EXPECT_FALSE(measures(tried.get(), of_another_plan(), &kernel));
  EXPECT_EQ(kernel, predicted);
  EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0);
  EXPECT_FALSE(measures(tried.get(), call, &kernel));
  EXPECT_EQ(kernel, predicted);
  ASSERT_EQ(bwgemmSetTuningCache(tried.get(), path().c_str()), BWGEMM_STATUS_SUCCESS);
  EXPECT_FALSE(measures(tried.get(), call, &kernel));
  EXPECT_EQ(kernel, quick_kernel) << "the file's result counts after its setter";
}

TEST_F(TuneRules, AfterAFailureAChangeOfTheModeLetsTheKindBeMeasured) {
  const MatmulCall call;
  quick_kernel = other_than_predicted(handle(), call);
  reset();
  fake_cuda().fail_entry("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
  std::string kernel;
  EXPECT_FALSE(measures(of_another_plan(), &kernel));
  EXPECT_NE(kernel, quick_kernel);
  set_mode(BWGEMM_TUNE_OFF);
  set_mode(BWGEMM_TUNE_ON);
  EXPECT_TRUE(measures(call, &kernel));
  EXPECT_EQ(kernel, quick_kernel);
}

// Few launches, so that there are few calls to fail.
double slow(const FakeLaunch&) {
  return 15e3;
}

TEST_F(TuneRules, NoFailureOfTheMeasurementReachesTheCall) {
  MatmulCall call = MatmulCall::with_arrays();
  call.beta = &MatmulCall::one;
  call.c = call.d;
  long last_of_measurement = 1;
  for (long n = 0; n <= last_of_measurement; ++n) {
    const TunedHandle fresh;
    ASSERT_EQ(bwgemmSetWorkspace(fresh.get(), made_up(0x7f0100000000), std::size_t{32} << 20),
              BWGEMM_STATUS_SUCCESS);
    const long memory = fake_cuda().live(Live::memory);
    fake_cuda().reset();
    fake_cuda().time_launches(slow);
    if (n > 0) fake_cuda().fail_call(n, CUDA_ERROR_OUT_OF_MEMORY);
    ASSERT_EQ(matmul(fresh.get(), call), BWGEMM_STATUS_SUCCESS)
        << n << " " << fake_cuda().call_name(n) << bwgemmGetLastErrorString();
    EXPECT_TRUE(is_given(*fake_cuda().launch(fake_cuda().launches() - 1), call.d)) << n;
    EXPECT_EQ(fake_cuda().live(Live::memory), memory) << n << " " << fake_cuda().call_name(n);
    EXPECT_EQ(fake_cuda().live(Live::events), 0) << n << " " << fake_cuda().call_name(n);
    for (long i = 1; n == 0 && i <= fake_cuda().calls(nullptr); ++i)
      if (std::strcmp(fake_cuda().call_name(i), "cuMemFree") == 0) last_of_measurement = i;
  }
  EXPECT_GT(last_of_measurement, 20);
}

// ---- threads and forks --------------------------------------------------------------------------

// In front of the first wait of a measurement.
void (*beside_measurement)() = nullptr;
void on_first_wait(const char* entry) {
  if (std::strcmp(entry, "cuEventSynchronize") == 0)
    if (const auto once = std::exchange(beside_measurement, nullptr)) once();
}
bwgemmHandle_t measuring_handle = nullptr;

TEST_F(TuneRules, AnotherThreadDoesNotWaitForAMeasurement) {
  static std::string kernel;
  const MatmulCall call;
  quick_kernel = other_than_predicted(handle(), call);
  measuring_handle = handle();
  beside_measurement = [] {
    std::thread([] {
      const long before = fake_cuda().launches();
      EXPECT_EQ(matmul(measuring_handle, of_another_plan()), BWGEMM_STATUS_SUCCESS);
      EXPECT_EQ(fake_cuda().launches(), before + 1);
      kernel = last_kernel();
    }).join();
  };
  reset();
  fake_cuda().on_call(on_first_wait);
  EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(beside_measurement, nullptr);
  EXPECT_NE(kernel, quick_kernel);
  EXPECT_EQ(last_kernel(), quick_kernel);
  EXPECT_FALSE(measures(of_another_plan(), &kernel));
  EXPECT_EQ(kernel, quick_kernel) << "the other thread's choice was kept";
}

TEST_F(TuneRules, ThreadsMeasureAKindOnce) {
  constexpr int threads = 4, calls = 20;
  const MatmulCall call;
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([&] {
      for (int i = 0; i < calls; ++i) EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
    });
  for (std::thread& one : running) one.join();
  EXPECT_EQ(fake_cuda().calls("cuMemFree"), 2) << "the buffers of one measurement";
  const std::string last = last_kernel();
  std::string kernel;
  EXPECT_FALSE(measures(call, &kernel));
  EXPECT_EQ(kernel, last);
}

TEST_F(TuneRules, AChildForkedDuringAMeasurementIsToldSo) {
  static int status = 0;
  measuring_handle = handle();
  beside_measurement = [] {
    const pid_t child = fork();
    if (child == 0) _exit(matmul(measuring_handle, {}) == BWGEMM_STATUS_NOT_INITIALIZED ? 7 : 8);
    waitpid(child, &status, 0);
  };
  reset();
  fake_cuda().on_call(on_first_wait);
  EXPECT_EQ(matmul(handle(), {}), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 7);
}

// ---- the file -----------------------------------------------------------------------------------

TEST_F(TuneRules, HandlesThatShareAFileAgree) {
  const MatmulCall call;
  const TunedHandle first(path()), second(path());
  quick_kernel = other_than_predicted(handle(), call);
  const std::string found = quick_kernel;
  std::string kernel;
  EXPECT_TRUE(measures(first.get(), call, &kernel));
  EXPECT_EQ(kernel, found);
  quick_kernel = "";
  EXPECT_FALSE(measures(second.get(), call, &kernel)) << "although it read the file before that";
  EXPECT_EQ(kernel, found);
  const TunedHandle third(path());
  EXPECT_FALSE(measures(third.get(), call, &kernel));
  EXPECT_EQ(kernel, found);
}

// Two that began at the same time: the file's first result counts for both.
TEST_F(TuneRules, WhoeverWritesFirstDecides) {
  const MatmulCall call;
  const TunedHandle late(path());
  static const TunedHandle* early = nullptr;
  static std::string found;
  const TunedHandle other(path());
  early = &other;
  quick_kernel = other_than_predicted(handle(), call);
  beside_measurement = [] {
    EXPECT_EQ(matmul(early->get(), {}), BWGEMM_STATUS_SUCCESS);
    found = last_kernel();
    quick_kernel = "";
  };
  reset();
  fake_cuda().on_call(on_first_wait);
  EXPECT_EQ(matmul(late.get(), call), BWGEMM_STATUS_SUCCESS);
  EXPECT_NE(found, bwgemmKernelName(algos_of(handle(), call)[0].kernel));
  EXPECT_EQ(last_kernel(), found);
}

TEST_F(TuneRules, FrozenReadsTheFileAndWritesNothing) {
  const MatmulCall call;
  quick_kernel = other_than_predicted(handle(), call);
  const std::string found = quick_kernel;
  {
    const TunedHandle writer(path());
    ASSERT_TRUE(measures(writer.get(), call));
  }
  const std::string content = content_of(path());
  ASSERT_NE(content.find(found), std::string::npos);
  ASSERT_EQ(bwgemmSetTuningCache(handle(), path().c_str()), BWGEMM_STATUS_SUCCESS);
  set_mode(BWGEMM_TUNE_FROZEN);
  std::string kernel;
  EXPECT_FALSE(measures(call, &kernel));
  EXPECT_EQ(kernel, found);
  MatmulCall other = call;
  other.desc.m = 248;
  EXPECT_FALSE(measures(other, &kernel));
  EXPECT_EQ(kernel, bwgemmKernelName(algos_of(handle(), other)[0].kernel));
  // Who asks for a measurement gets it.
  quick_kernel = other_than_predicted(handle(), other);
  const bwgemmAutotuneOptions_t few{sizeof few, 8, 1, 0, 0};
  reset();
  ASSERT_EQ(bwgemmMatmulAutotune(handle(), &other.desc, other.alpha, other.a, other.b, other.beta,
                                 other.c, other.d, &few, nullptr),
            BWGEMM_STATUS_SUCCESS);
  EXPECT_FALSE(measures(other, &kernel));
  EXPECT_EQ(kernel, quick_kernel);
  EXPECT_EQ(content_of(path()), content);
}

}  // namespace
}  // namespace bwgemm::test
