// SPDX-License-Identifier: Apache-2.0
// What holds for a process: modes, variables of frameworks, devices that cannot be served, forks,
// several copies of cuBLAS. Each in a process of its own, as the environment is read once.
#include <atomic>
#include <dlfcn.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "dropin/lt_preloaded.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What runs in the process of its own.
class DropinChild : public Recorded {
 protected:
  CublasCall deep() const {
    CublasCall made = call();
    made.m = made.n = made.ldc = 64;
    made.k = made.lda = made.ldb = 16384;
    return made;
  }
};

ProcessResult child(const std::string& test, const std::map<std::string, std::string>& variables) {
  ProcessResult result = run_self("DropinChild.DISABLED_" + test, variables);
  EXPECT_TRUE(result.passed()) << result.output;
  EXPECT_THAT(result.output, HasSubstr("1 test"));
  return result;
}

bool is_loaded(const char* library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != line.npos) return true;
  return false;
}

TEST_F(DropinChild, DISABLED_ForwardsAll) {
  for (const std::string& function : product_functions) {
    const std::int64_t before = fakeCublasLast().count;
    EXPECT_EQ(call().run(function), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(fakeCublasLast().count, before + 1) << function;
  }
  EXPECT_EQ(LtCall(lt()).run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLtLast().count, 1);
  EXPECT_EQ(fake_cuda().launches(), 0);
}

TEST_F(DropinChild, DISABLED_ForwardsAllWithoutBwgemm) {
  EXPECT_EQ(call().run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLast().count, 1);
  EXPECT_EQ(LtCall(lt()).run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLtLast().count, 1);
  EXPECT_FALSE(is_loaded("libbwgemm.so"));
}

TEST_F(DropinChild, DISABLED_Serves) {
  EXPECT_EQ(call().run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLast().count, 0);
  EXPECT_EQ(LtCall(lt()).run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLtLast().count, 0);
  EXPECT_TRUE(is_loaded("libbwgemm.so"));
}

// Nor allocates for it: the handle is made before.
TEST_F(DropinChild, DISABLED_MeasuresNothing) {
  const long memory = fake_cuda().live(Live::memory);
  for (int turn = 1; turn <= 2; ++turn) {
    EXPECT_EQ(call().run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(fake_cuda().launches(), turn);
  }
  EXPECT_EQ(fakeCublasLast().count, 0);
  EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0);
  EXPECT_EQ(fake_cuda().live(Live::memory), memory);
}

TEST_F(DropinChild, DISABLED_DoesNotSplit) {
  const DeviceMemory workspace(32 << 20);
  cublasSetWorkspace_v2(handle(), workspace.as(), 32 << 20);
  EXPECT_EQ(deep().run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(only_launch().params.splits, 1);
}

TEST_F(DropinChild, DISABLED_Splits) {
  const DeviceMemory workspace(32 << 20);
  cublasSetWorkspace_v2(handle(), workspace.as(), 32 << 20);
  EXPECT_EQ(deep().run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(only_launch().params.splits, 1);
}

// The child's handle of cuBLAS is the parent's, and is of no use to bwgemm there.
TEST_F(DropinChild, DISABLED_Forks) {
  EXPECT_EQ(call().run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLast().count, 0);
  const pid_t forked = fork();
  if (forked == 0) {
    const bool is_good = call().run("cublasGemmEx") == CUBLAS_STATUS_SUCCESS &&
                         LtCall(lt()).run() == CUBLAS_STATUS_SUCCESS;
    cublasSetStream_v2(handle(), nullptr);
    _exit(is_good && fakeCublasLast().count == 1 && fakeCublasLtLast().count == 1 ? 42 : 1);
  }
  int ended = 0;
  ASSERT_EQ(waitpid(forked, &ended, 0), forked);
  EXPECT_EQ(WIFEXITED(ended) ? WEXITSTATUS(ended) : -1, 42);
  EXPECT_EQ(call().run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLast().count, 0) << "the parent is served as before";
}

// Another thread is inside a call of the handle, most of the time, and holds what calls hold.
TEST_F(DropinChild, DISABLED_ForksDuringCalls) {
  std::atomic<bool> ends{false};
  std::thread busy([&] {
    while (!ends) {
      call().run("cublasGemmEx");
      LtCall(lt()).run();
    }
  });
  for (int turn = 0; turn < 20; ++turn) {
    const pid_t forked = fork();
    if (forked == 0) {
      alarm(10);  // a child that waits for ever is a failure, not a hang
      call().run("cublasGemmEx");
      LtCall(lt()).run();
      cublasSetWorkspace_v2(handle(), nullptr, 0);
      _exit(fakeCublasLast().count == 1 && fakeCublasLtLast().count == 1 ? 42 : 1);
    }
    int ended = 0;
    EXPECT_EQ(waitpid(forked, &ended, 0), forked);
    EXPECT_EQ(WIFEXITED(ended) ? WEXITSTATUS(ended) : -1, 42);
    if (HasFailure()) break;
  }
  ends = true;
  busy.join();
}

// A plugin that brings a cuBLAS of its own, which the program does not see.
TEST_F(DropinChild, DISABLED_PluginWithItsOwnCublas) {
  void* const plugin = dlopen(std::getenv("BWGEMM_TEST_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  const auto create =
      reinterpret_cast<cublasStatus_t (*)(cublasHandle_t*)>(dlsym(plugin, "plugin_create"));
  const auto run =
      reinterpret_cast<cublasStatus_t (*)(cublasHandle_t, int)>(dlsym(plugin, "plugin_multiply"));
  const auto products = reinterpret_cast<std::int64_t (*)()>(dlsym(plugin, "plugin_products"));
  ASSERT_TRUE(create != nullptr && run != nullptr && products != nullptr);
  cublasHandle_t theirs = nullptr;
  ASSERT_EQ(create(&theirs), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasHandles(), 1) << "the program's cuBLAS made the plugin's handle";
  EXPECT_EQ(run(theirs, 0), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(products(), 1) << "an explicit algo goes to the plugin's cuBLAS";
  EXPECT_EQ(fakeCublasLast().count, 0);
  EXPECT_EQ(run(theirs, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(products(), 1) << "others are served";
  CublasCall made = call();
  made.algo = static_cast<cublasGemmAlgo_t>(0);
  EXPECT_EQ(made.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fakeCublasLast().count, 1) << "the program's handle goes to the program's cuBLAS";
}

TEST(DropinProcess, Modes) {
  child("Serves", {{"BWGEMM_CUBLAS", ""}});
  child("Serves", {{"BWGEMM_CUBLAS", "serve"}});
  child("ForwardsAll", {{"BWGEMM_CUBLAS", "log"}});
  child("ForwardsAllWithoutBwgemm", {{"BWGEMM_CUBLAS", "off"}});
}

// With what the log says of each.
TEST_F(DropinChild, DISABLED_LtReasons) {
  LtCall served(lt()), types(lt()), epilogue(lt()), scaled(lt());
  types.set_types(CUDA_R_32F, CUDA_R_32F);
  epilogue.set_epilogue(130);
  scaled.set(17, std::int64_t{4096});
  for (const LtCall* one : {&served, &types, &epilogue, &scaled}) one->run();
  LtCall unknown(reinterpret_cast<cublasLtHandle_t>(&served));
  unknown.run();
}

TEST(DropinProcess, ReasonsOfLtInTheLog) {
  const ProcessResult result = child("LtReasons", {{"BWGEMM_CUBLAS", "log"}});
  for (const char* line :
       {"cublasLtMatmul,1,0,256,128,192,14,14,14,14,0,1,68,-1,,192,192,256,256,0,0,0,0,1,16,host,0,"
        "0,0,0,servable,,1",
        "cublasLtMatmul,1,0,256,128,192,0,0,0,0,0,1,68,-1,,192,192,256,256,0,0,0,0,1,16,host,,0,0,"
        "0,"
        "forwarded,types,1",
        "14,0,130,68,-1,,192,192,256,256,0,0,0,0,1,16,host,,0,0,0,forwarded,epilogue,1",
        "forwarded,descriptor,1", "forwarded,unknown_handle,1"})
    EXPECT_THAT(result.output, HasSubstr(line));
}

TEST(DropinProcess, NoCallMeasures) {
  for (const char* mode : {"", "1", "frozen"}) child("MeasuresNothing", {{"BWGEMM_TUNE", mode}});
}

TEST(DropinProcess, UnknownModeIsOff) {
  const ProcessResult result = child("ForwardsAllWithoutBwgemm", {{"BWGEMM_CUBLAS", "Serve"}});
  EXPECT_THAT(result.output, HasSubstr("BWGEMM_CUBLAS is Serve, not off, log, check or serve"));
}

TEST(DropinProcess, SignalsOfFrameworksForBatchInvariance) {
  child("Splits", {});
  child("Splits", {{"CUBLAS_WORKSPACE_CONFIG", ":4096:8"}});
  child("Splits", {{"CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8"}});
  child("DoesNotSplit", {{"CUBLAS_WORKSPACE_CONFIG", ":16:8"}});
  child("DoesNotSplit", {{"CUBLAS_WORKSPACE_CONFIG", ":0:0"}});
  child("DoesNotSplit", {{"CUBLASLT_WORKSPACE_SIZE", "1"}});
  child("DoesNotSplit", {{"BWGEMM_CUBLAS_BATCH_INVARIANT", "1"}});
  child("Splits", {{"BWGEMM_CUBLAS_BATCH_INVARIANT", "0"}, {"CUBLAS_WORKSPACE_CONFIG", ":16:8"}});
}

TEST(DropinProcess, DeviceThatCannotBeServed) {
  const ProcessResult result = child("ForwardsAll", {{"FAKE_CUDA_DEVICE", "a100"}});
  EXPECT_THAT(result.output, HasSubstr("calls go to cuBLAS: "));
}

TEST(DropinProcess, Forks) {
  child("Forks", {});
  child("Forks", {{"BWGEMM_CUBLAS_LOG", "/dev/null"}});
  child("ForksDuringCalls", {});
  child("ForksDuringCalls", {{"BWGEMM_CUBLAS_LOG", "/dev/null"}});
}

TEST(DropinProcess, SeveralCopiesOfCublas) {
  child("PluginWithItsOwnCublas", {});
}

}  // namespace
}  // namespace bwgemm::test
