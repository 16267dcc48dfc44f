// SPDX-License-Identifier: Apache-2.0
// Tuning over the test double, whose launches take the time that a test says.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "support/algo_list.h"
#include "support/fake_gemm.h"
#include "support/matmul_call.h"
#include "support/subprocess.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// The double clears memory slowly.
constexpr bwgemmAutotuneOptions_t few_launches{sizeof(bwgemmAutotuneOptions_t), 0, 2, 0, 0};

bwgemmStatus_t autotune(bwgemmHandle_t handle, const MatmulCall& call, std::int64_t* algo,
                        const bwgemmAutotuneOptions_t* options = &few_launches) {
  return bwgemmMatmulAutotune(handle, &call.desc, call.alpha, call.a, call.b, call.beta, call.c,
                              call.d, options, algo);
}

// What the double says that launches take: this kernel little, others 100 us.
const char* fast_kernel = "";
double fast_is_fast(const FakeLaunch& launch) {
  return std::strcmp(launch.kernel, fast_kernel) == 0 ? 10 : 100;
}
// All alike but for noise that is less than the tolerance.
double noisy(const FakeLaunch& launch) {
  static int n = 0;
  return 100 + 0.1 * (n++ % 7) - (std::strcmp(launch.kernel, fast_kernel) == 0 ? 0.5 : 0);
}

class Tuning : public FakeHandleTest {
 protected:
  void SetUp() override {
    FakeHandleTest::SetUp();
    std::string name = (fs::temp_directory_path() / "bwgemm_tuning_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    fs::remove_all(folder_);
    FakeHandleTest::TearDown();
  }
  std::string path() const { return folder_ / "cache"; }

  // The kernel that the call launches.
  static std::string kernel_of(bwgemmHandle_t handle, const MatmulCall& call) {
    const long before = fake_cuda().launches();
    EXPECT_EQ(matmul(handle, call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    EXPECT_EQ(fake_cuda().launches(), before + 1);
    return fake_cuda().launch(before)->kernel;
  }
  std::string kernel_of(const MatmulCall& call) const { return kernel_of(handle(), call); }

  // One that selection would not take, whose predecessors in the list are of other kernels.
  const char* slower_than_chosen(const MatmulCall& call) const {
    const std::vector<bwgemmMatmulAlgo_t> algos = algos_of(handle(), call);
    for (const bwgemmMatmulAlgo_t& algo : algos)
      if (algo.kernel != algos[0].kernel) return bwgemmKernelName(algo.kernel);
    ADD_FAILURE() << "one kernel only";
    return "";
  }

 private:
  fs::path folder_;
};

TEST_F(Tuning, TheFastestIsFoundAndUsed) {
  const MatmulCall call;
  fast_kernel = slower_than_chosen(call);
  ASSERT_NE(kernel_of(call), fast_kernel);
  fake_cuda().time_launches(fast_is_fast);
  std::int64_t algo = -7;
  ASSERT_EQ(autotune(handle(), call, &algo), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(kernel_of(call), fast_kernel);
  MatmulCall with_algo = call;
  with_algo.desc.algo = algo;
  EXPECT_EQ(kernel_of(with_algo), fast_kernel);
  // The same as a plain product, at other addresses with other scalars.
  GemmArguments gemm;
  gemm.a = device_pointer(0x7f0040000000);
  const float two = 2;
  gemm.alpha = &two;
  fake_cuda().reset();
  ASSERT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_STREQ(only_launch().kernel, fast_kernel);
  char text[4096];
  gemm.text = text, gemm.text_size = sizeof text;
  ASSERT_EQ(explain(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_THAT(text, HasSubstr(std::string("kernel     ").append(fast_kernel)));
  // Others choose as before.
  MatmulCall other = call;
  other.desc.m = 255;
  EXPECT_EQ(kernel_of(other), bwgemmKernelName(algos_of(handle(), other)[0].kernel));
}

TEST_F(Tuning, NoiseDoesNotDecide) {
  const MatmulCall call;
  fast_kernel = slower_than_chosen(call);
  for (int i = 0; i < 3; ++i) {
    fake_cuda().time_launches(noisy);
    std::int64_t algo = 0;
    ASSERT_EQ(autotune(handle(), call, &algo), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(algo, algos_of(handle(), call)[0].algo);
  }
  bwgemmAutotuneOptions_t options = few_launches;
  options.tolerance = 1e-9;
  fake_cuda().time_launches([](const FakeLaunch& launch) {
    return std::strcmp(launch.kernel, fast_kernel) == 0 ? 99.5 : 100;
  });
  std::int64_t algo = 0;
  ASSERT_EQ(autotune(handle(), call, &algo, &options), BWGEMM_STATUS_SUCCESS);
  EXPECT_NE(algo, algos_of(handle(), call)[0].algo) << "the tolerance does";
}

TEST_F(Tuning, OptionsBoundTheWork) {
  const MatmulCall call;
  bwgemmAutotuneOptions_t options = BWGEMM_AUTOTUNE_OPTIONS_INIT;
  options.candidates = 3, options.repetitions = 4;
  fake_cuda().reset();
  ASSERT_EQ(autotune(handle(), call, nullptr, &options), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(fake_cuda().launches(), 3 * (1 + 4) + 1);
  EXPECT_EQ(fake_cuda().calls("cuMemsetD32Async"), 3 * 4) << "a flush for each that is timed";
}

// The last launch alone writes to D what adds C to D.
TEST_F(Tuning, CIsAddedToDOnce) {
  MatmulCall call;
  call.beta = &MatmulCall::one;
  call.c = call.d;
  fake_cuda().reset();
  ASSERT_EQ(autotune(handle(), call, nullptr), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  const auto writes_d = [&](long n) {
    const MappedParams& params = fake_cuda().launch(n)->params;
    const void* mapped = nullptr;  // the first word of a map of the double is its address
    std::memcpy(&mapped, &params.d_map, sizeof mapped);
    return params.d.data == call.d || mapped == call.d;
  };
  const long last = fake_cuda().launches() - 1;
  ASSERT_GT(last, 5);
  EXPECT_TRUE(writes_d(last));
  for (long n = 0; n < last; ++n) EXPECT_FALSE(writes_d(n)) << n;

  call.c = made_up(0x7f0018000000);
  fake_cuda().reset();
  ASSERT_EQ(autotune(handle(), call, nullptr), BWGEMM_STATUS_SUCCESS);
  EXPECT_TRUE(writes_d(0)) << "C apart needs no other D";
}

TEST_F(Tuning, IsRefusedInsideACapture) {
  const Stream stream;
  ASSERT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  fake_cuda().reset();
  std::int64_t algo = -7;
  EXPECT_EQ(autotune(handle(), MatmulCall{}, &algo), BWGEMM_STATUS_EXECUTION_FAILED);
  EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("being captured"));
  EXPECT_EQ(algo, -7);
  EXPECT_EQ(fake_cuda().launches(), 0);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver().stream_end_capture(stream.get(), &graph), CUDA_SUCCESS) << "still valid";
  driver().graph_destroy(graph);
}

TEST_F(Tuning, CapturesOfOtherStreamsStayValid) {
  const Stream captured, used;
  ASSERT_EQ(bwgemmSetStream(handle(), used.get()), BWGEMM_STATUS_SUCCESS);
  check(driver().stream_begin_capture(captured.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  EXPECT_EQ(autotune(handle(), MatmulCall{}, nullptr), BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  EXPECT_EQ(fake_cuda().capture_mode(), CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver().stream_end_capture(captured.get(), &graph), CUDA_SUCCESS);
  driver().graph_destroy(graph);
  // The legacy stream waits for blocking ones.
  const Stream blocking(CU_STREAM_DEFAULT);
  ASSERT_EQ(bwgemmSetStream(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
  check(driver().stream_begin_capture(blocking.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  EXPECT_EQ(autotune(handle(), MatmulCall{}, nullptr), BWGEMM_STATUS_EXECUTION_FAILED);
  ASSERT_EQ(driver().stream_end_capture(blocking.get(), &graph), CUDA_SUCCESS);
  driver().graph_destroy(graph);
}

TEST_F(Tuning, NothingToComputeIsNothingToTune) {
  MatmulCall call;
  call.desc.m = 0;
  fake_cuda().reset();
  std::int64_t algo = 7;
  EXPECT_EQ(autotune(handle(), call, &algo), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(algo, -1);
  EXPECT_EQ(fake_cuda().launches(), 0);
}

TEST_F(Tuning, BadArgumentsAreRefused) {
  const auto refused = [&](const MatmulCall& call, bwgemmAutotuneOptions_t options,
                           bwgemmStatus_t status, const char* why) {
    fake_cuda().reset();
    EXPECT_EQ(autotune(handle(), call, nullptr, &options), status) << why;
    EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr(why));
    EXPECT_EQ(fake_cuda().launches(), 0);
  };
  const bwgemmAutotuneOptions_t usual = few_launches;
  MatmulCall call;
  call.desc.algo = algos_of(handle(), call)[0].algo;
  refused(call, usual, BWGEMM_STATUS_INVALID_VALUE, "must be -1");
  call = {};
  call.desc.lda = 1;
  refused(call, usual, BWGEMM_STATUS_INVALID_VALUE, "lda");
  MatmulCall arrays = MatmulCall::with_arrays();
  arrays.beta = &MatmulCall::one;
  refused(arrays, usual, BWGEMM_STATUS_NOT_SUPPORTED, "more than once");
  bwgemmAutotuneOptions_t options = usual;
  options.structSize = 4;
  refused({}, options, BWGEMM_STATUS_INVALID_VALUE, "structSize is 4 but must be 24 to 4096");
  options.structSize = 4097;
  refused({}, options, BWGEMM_STATUS_INVALID_VALUE, "structSize is 4097 but must be 24 to 4096");
  options = usual, options.candidates = -1;
  refused({}, options, BWGEMM_STATUS_INVALID_VALUE, "candidates is -1");
  options = usual, options.repetitions = -3;
  refused({}, options, BWGEMM_STATUS_INVALID_VALUE, "repetitions is -3");
  options = usual, options.reserved = 1;
  refused({}, options, BWGEMM_STATUS_INVALID_VALUE, "reserved");
  options = usual, options.tolerance = -0.5;
  refused({}, options, BWGEMM_STATUS_INVALID_VALUE, "tolerance");
  struct {
    bwgemmAutotuneOptions_t options;
    std::uint64_t later;
  } longer{usual, 0};
  longer.options.structSize = sizeof longer;
  EXPECT_EQ(autotune(handle(), MatmulCall{}, nullptr, &longer.options), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(autotune(handle(), MatmulCall{}, nullptr, nullptr), BWGEMM_STATUS_SUCCESS);
  longer.later = 1;
  EXPECT_EQ(autotune(handle(), MatmulCall{}, nullptr, &longer.options),
            BWGEMM_STATUS_NOT_SUPPORTED);
}

TEST_F(Tuning, EveryFailureOfTheDriverIsReportedAndLeaksNothing) {
  MatmulCall call;
  call.beta = &MatmulCall::one;
  call.c = call.d;
  bwgemmAutotuneOptions_t options = BWGEMM_AUTOTUNE_OPTIONS_INIT;
  options.candidates = 2, options.repetitions = 2;
  ASSERT_EQ(autotune(handle(), call, nullptr, &options), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  ASSERT_EQ(autotune(handle(), call, nullptr, &options), BWGEMM_STATUS_SUCCESS);
  const long calls = fake_cuda().calls(nullptr), memory = fake_cuda().live(Live::memory);
  for (long n = 1; n <= calls; ++n) {
    fake_cuda().reset();
    fake_cuda().fail_call(n, CUDA_ERROR_OUT_OF_MEMORY);
    const bwgemmStatus_t status = autotune(handle(), call, nullptr, &options);
    if (fake_cuda().calls(nullptr) < n) continue;  // the other D lies where its maps are known
    const std::string failed = fake_cuda().call_name(n);
    // What releases, or answers what the library can do without, fails without harm.
    const bool is_harmless = failed == "cuMemFree" || failed == "cuEventDestroy" ||
                             failed == "cuCtxGetCurrent" || failed == "cuCtxPopCurrent" ||
                             failed == "cuThreadExchangeStreamCaptureMode" ||
                             failed == "cuStreamSynchronize" || failed == "cuCtxGetId";
    EXPECT_TRUE(status != BWGEMM_STATUS_SUCCESS || is_harmless) << n << ": " << failed;
    EXPECT_EQ(fake_cuda().live(Live::memory), memory) << n << ": " << failed;
    EXPECT_EQ(fake_cuda().live(Live::events), 0) << n << ": " << failed;
  }
}

// ---- the file -----------------------------------------------------------------------------------

TEST_F(Tuning, AFileCarriesResultsToOtherHandles) {
  const MatmulCall call;
  fast_kernel = slower_than_chosen(call);
  ASSERT_EQ(bwgemmSetTuningCache(handle(), path().c_str()), BWGEMM_STATUS_SUCCESS);
  fake_cuda().time_launches(fast_is_fast);
  ASSERT_EQ(autotune(handle(), call, nullptr), BWGEMM_STATUS_SUCCESS);
  ASSERT_TRUE(fs::exists(path()));
  const auto kernel_of_new_handle = [&](bool sets) {
    bwgemmHandle_t fresh = nullptr;
    EXPECT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_SUCCESS);
    const std::string before = kernel_of(fresh, call);
    if (sets) {
      EXPECT_EQ(bwgemmSetTuningCache(fresh, path().c_str()), BWGEMM_STATUS_SUCCESS);
    }
    const std::string kernel = kernel_of(fresh, call);
    if (sets) {
      EXPECT_NE(before, kernel);
      EXPECT_EQ(bwgemmSetTuningCache(fresh, nullptr), BWGEMM_STATUS_SUCCESS);
      EXPECT_EQ(kernel_of(fresh, call), before) << "forgotten with the file";
    }
    EXPECT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_SUCCESS);
    return kernel;
  };
  EXPECT_EQ(kernel_of_new_handle(true), fast_kernel);
  EXPECT_NE(kernel_of_new_handle(false), fast_kernel);
  const Variable file("BWGEMM_TUNING_CACHE", path());
  EXPECT_EQ(kernel_of_new_handle(false), fast_kernel);
  const Variable forced("BWGEMM_FORCE_KERNEL", "bwgemm_sm90_b16_64x64x32_direct");
  EXPECT_EQ(kernel_of_new_handle(false), "bwgemm_sm90_b16_64x64x32_direct");
}

TEST_F(Tuning, ResultsThatCannotServeACallAreLeftOut) {
  MatmulCall call;
  call.desc.m = call.desc.n = 64, call.desc.k = call.desc.lda = call.desc.ldb = 16384;
  fake_cuda().time_launches(
      [](const FakeLaunch& launch) { return launch.params.splits > 1 ? 10.0 : 100.0; });
  std::int64_t algo = 0;
  ASSERT_EQ(autotune(handle(), call, &algo), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
  EXPECT_GT(only_launch().params.splits, 1);
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, 0), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(only_launch().params.splits, 1);
}

// Run by the test below in a process of its own.
TEST(TuningProbe, DISABLED_Create) {
  bwgemmHandle_t handle = nullptr;
  std::printf("create: %s\n", bwgemmStatusName(bwgemmCreate(&handle)));
  std::printf("gemm: %s\n", bwgemmStatusName(gemm_ex(handle, {})));
  bwgemmDestroy(handle);
}

TEST_F(Tuning, AFileThatCannotBeUsedCostsOneLineOfTheLog) {
  ASSERT_EQ(bwgemmSetTuningCache(handle(), path().c_str()), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(autotune(handle(), MatmulCall{}, nullptr), BWGEMM_STATUS_SUCCESS);
  std::ofstream(path(), std::ios::app) << "damaged\nlines\n";
  std::ofstream(path() + ".none") << "Dear diary,\n";
  const auto log_lines = [&](const std::string& file, const char* expected) {
    const ProcessResult result =
        run_self("TuningProbe.DISABLED_Create",
                 {{"BWGEMM_TUNING_CACHE", file}, {"BWGEMM_LOG_LEVEL", "warning"}});
    EXPECT_TRUE(result.passed()) << result.output;
    EXPECT_THAT(result.output, HasSubstr("create: BWGEMM_STATUS_SUCCESS"));
    EXPECT_THAT(result.output, HasSubstr("gemm: BWGEMM_STATUS_SUCCESS"));
    EXPECT_THAT(result.output, HasSubstr(expected));
    std::size_t lines = 0;
    for (std::size_t at = 0; (at = result.output.find("[warning]", at)) != std::string::npos; ++at)
      ++lines;
    EXPECT_EQ(lines, 1u) << result.output;
  };
  log_lines(path(), "ignored: 0 of other builds, 2 corrupt");
  log_lines(path() + ".none", "is not a tuning cache");
  log_lines("/", "is not a file");
}

}  // namespace
}  // namespace bwgemm::test
