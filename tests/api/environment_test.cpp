// SPDX-License-Identifier: Apache-2.0
// What the environment decides: which driver is opened and what it is found to be, and the forced
// kernel. Most of it is read once, so probes run in processes of their own.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "families/variants.h"
#include "support/fake_gemm.h"
#include "support/subprocess.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Creates a handle, makes a call, and prints what came of it.
TEST(EnvironmentProbe, DISABLED_Create) {
  bwgemmHandle_t handle = nullptr;
  const bwgemmStatus_t status = bwgemmCreate(&handle);
  std::printf("create: %s\n", bwgemmStatusName(status));
  if (status != BWGEMM_STATUS_SUCCESS) std::printf("text: %s\n", bwgemmGetLastErrorString());
  std::printf("handle: %s\n", handle != nullptr ? "written" : "untouched");
  if (handle != nullptr) {
    std::printf("gemm: %s\n", bwgemmStatusName(gemm_ex(handle, {})));
    GemmArguments bad;
    bad.lda = 1;
    std::printf("bad gemm: %s\n", bwgemmStatusName(gemm_ex(handle, bad)));
  }
  bwgemmDestroy(handle);
}

std::string created_with(const std::map<std::string, std::string>& variables) {
  const ProcessResult result = run_self("EnvironmentProbe.DISABLED_Create", variables);
  EXPECT_TRUE(result.passed()) << result.output;
  return result.output;
}

TEST(Environment, AWorkingDriver) {
  const std::string output = created_with({});
  EXPECT_THAT(output, HasSubstr("create: BWGEMM_STATUS_SUCCESS"));
  EXPECT_THAT(output, HasSubstr("gemm: BWGEMM_STATUS_SUCCESS"));
}

TEST(Environment, NoDriver) {
  const std::string output = created_with({{"BWGEMM_LIBCUDA", "/nonexistent/libcuda.so.1"}});
  EXPECT_THAT(output, HasSubstr("create: BWGEMM_STATUS_NO_DRIVER"));
  EXPECT_THAT(output, HasSubstr("/nonexistent/libcuda.so.1"));
  EXPECT_THAT(output, HasSubstr("No such file"));
  EXPECT_THAT(output, HasSubstr("handle: untouched"));
}

TEST(Environment, ADriverThatIsNone) {
  const std::string output = created_with({{"BWGEMM_LIBCUDA", "libm.so.6"}});
  EXPECT_THAT(output, HasSubstr("create: BWGEMM_STATUS_NO_DRIVER"));
  EXPECT_THAT(output, HasSubstr("libm.so.6"));
  EXPECT_THAT(output, HasSubstr("handle: untouched"));
}

TEST(Environment, AnOldDriver) {
  const std::string output = created_with({{"FAKE_CUDA_VERSION", "12040"}});
  EXPECT_THAT(output, HasSubstr("create: BWGEMM_STATUS_DRIVER_TOO_OLD"));
  EXPECT_THAT(output, HasSubstr("12.4"));
  EXPECT_THAT(output, HasSubstr("12.8"));
  EXPECT_THAT(created_with({{"FAKE_CUDA_VERSION", "12080"}}),
              HasSubstr("create: BWGEMM_STATUS_SUCCESS"));
}

TEST(Environment, ADriverThatLacksAnEntryPoint) {
  for (const char* entry : {"cuLaunchKernelEx", "cuTensorMapEncodeTiled", "cuLibraryLoadData"}) {
    const std::string output = created_with({{"FAKE_CUDA_MISSING", entry}});
    EXPECT_THAT(output, HasSubstr("create: BWGEMM_STATUS_DRIVER_TOO_OLD"));
    EXPECT_THAT(output, HasSubstr(entry));
  }
}

TEST(Environment, NoDevice) {
  const std::string output = created_with({{"FAKE_CUDA_DEVICE", "none"}});
  EXPECT_THAT(output, HasSubstr("create: BWGEMM_STATUS_NO_DEVICE"));
  EXPECT_THAT(output, HasSubstr("handle: untouched"));
}

TEST(Environment, ADeviceOfAnotherArchitecture) {
  const std::string output = created_with({{"FAKE_CUDA_DEVICE", "a100"}});
  EXPECT_THAT(output, HasSubstr("create: BWGEMM_STATUS_ARCH_MISMATCH"));
  EXPECT_THAT(output, HasSubstr("a100"));
  EXPECT_THAT(output, HasSubstr("8.0"));
  EXPECT_THAT(output, HasSubstr("handle: untouched"));
}

// Of its architecture's number and yet of no family that an image is for.
TEST(Environment, ADeviceOfAnotherFamily) {
  struct Other {
    const char *device, *text;
  };
  for (const Other& other :
       {Other{"thor", "thor with compute capability 10.1; bwgemm serves 9.0, 10.0 and 10.3"},
        Other{"b300_later", "compute capability 10.4; bwgemm serves 9.0, 10.0 and 10.3"},
        Other{"h200_later", "compute capability 9.1; bwgemm serves 9.0, 10.0 and 10.3"}}) {
    const std::string output = created_with({{"FAKE_CUDA_DEVICE", other.device}});
    EXPECT_THAT(output, HasSubstr("create: BWGEMM_STATUS_ARCH_MISMATCH"));
    EXPECT_THAT(output, HasSubstr(other.text));
    EXPECT_THAT(output, HasSubstr("handle: untouched"));
  }
}

TEST(Environment, EverySupportedDevice) {
  for (const char* device : {"h200", "b200", "b300"}) {
    const std::string output = created_with({{"FAKE_CUDA_DEVICE", device}});
    EXPECT_THAT(output, HasSubstr("create: BWGEMM_STATUS_SUCCESS")) << device;
    EXPECT_THAT(output, HasSubstr("gemm: BWGEMM_STATUS_SUCCESS")) << device;
  }
}

// ---- forced kernels -----------------------------------------------------------------------------

using ForcedKernel = FakeTest;

// A problem that the row can serve: its canonical A is the caller's B.
GemmArguments problem_of(const KernelConfig& row) {
  GemmArguments gemm;
  const bool is_exchanged = row.swaps_ab;
  const Major a = is_exchanged ? row.b : row.a, b = is_exchanged ? row.a : row.b;
  gemm.transa = b == Major::mn ? BWGEMM_OP_N : BWGEMM_OP_T;
  gemm.transb = a == Major::mn ? BWGEMM_OP_T : BWGEMM_OP_N;
  if (row.family == Family::dot) gemm.n = row.tile.m;
  if (row.load == Load::units) gemm.m = row.tile.n;
  return gemm;
}

TEST_F(ForcedKernel, IsTheOneThatIsLaunched) {
  int forced = 0;
  int cc_major = 0;
  check(driver().device_get_attribute(&cc_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
        "attribute");
  const Arch arch = cc_major == 9 ? Arch::sm90 : Arch::sm100;
  for (const KernelConfig& row : kernel_variants) {
    const KernelName name = kernel_name(row);
    const Variable variable("BWGEMM_FORCE_KERNEL", name.c_str());
    bwgemmHandle_t handle = nullptr;
    ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS) << name.view();
    fake_cuda().reset();
    const bwgemmStatus_t status = gemm_ex(handle, problem_of(row));
    if (row.arch == arch) {
      ++forced;
      EXPECT_EQ(status, BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
      EXPECT_EQ(only_launch().kernel, name.view());
      EXPECT_EQ(only_launch().cluster, static_cast<unsigned>(row.cluster.size()));
    } else {
      EXPECT_EQ(status, BWGEMM_STATUS_NOT_SUPPORTED) << name.view();
      EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr(name.c_str()));
      EXPECT_EQ(fake_cuda().launches(), 0);
    }
    EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
  }
  EXPECT_GT(forced, 0);
}

TEST_F(ForcedKernel, OnBlackwellToo) {
  const ProcessResult result =
      run_self("ForcedKernel.IsTheOneThatIsLaunched", {{"FAKE_CUDA_DEVICE", "b200"}});
  EXPECT_TRUE(result.passed()) << result.output;
}

TEST_F(ForcedKernel, ThatDoesNotExistOrDoesNotServe) {
  bwgemmHandle_t handle = nullptr;
  {
    const Variable forced("BWGEMM_FORCE_KERNEL", "bwgemm_no_such_kernel");
    ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  }
  EXPECT_EQ(gemm_ex(handle, {}), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("bwgemm_no_such_kernel"));
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);

  const KernelName tma = kernel_name(kernel_variants.front());
  const Variable forced("BWGEMM_FORCE_KERNEL", tma.c_str());
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(gemm_ex(handle, GemmArguments::unaligned()), BWGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr(tma.c_str()));
  EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("16 bytes")) << "the reason is missing";
  EXPECT_EQ(fake_cuda().launches(), 0);
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

// ---- AT_SECURE ----------------------------------------------------------------------------------

// A copy of this program that runs with more rights than its user: set-user-id root, started by
// nobody. The double must not be loaded, whatever BWGEMM_LIBCUDA says.
TEST(Secure, VariablesAreIgnored) {
  constexpr uid_t nobody = 65534;
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make a set-user-id program";
  char folder[] = "/tmp/bwgemm_secure_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  ASSERT_EQ(chmod(folder, 0755), 0);
  const std::string program = std::string(folder) + "/program",
                    report = std::string(folder) + "/report";
  std::filesystem::copy_file("/proc/self/exe", program);
  const pid_t child = chmod(program.c_str(), 04755) == 0 ? fork() : -1;
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (std::freopen(report.c_str(), "w", stdout) == nullptr || setuid(nobody) != 0) _exit(126);
    execl(program.c_str(), program.c_str(), "--gtest_filter=SecureProbe.*",
          "--gtest_also_run_disabled_tests", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::ostringstream output;
  output << std::ifstream(report).rdbuf();
  std::filesystem::remove_all(folder);
  if (output.str().find("secure: ") == std::string::npos)
    GTEST_SKIP() << "the set-user-id copy does not start here (a library path with $ORIGIN?)";
  if (output.str().find("secure: no") != std::string::npos)
    GTEST_SKIP() << "set-user-id has no effect on this file system";
  EXPECT_EQ(WEXITSTATUS(status), 0) << output.str();
  EXPECT_THAT(output.str(), HasSubstr("double: not loaded"));
}

TEST(SecureProbe, DISABLED_Create) {
  std::printf("secure: %s\n", geteuid() != getuid() ? "yes" : "no");
  bwgemmHandle_t handle = nullptr;
  bwgemmCreate(&handle);
  bwgemmDestroy(handle);
  std::ifstream maps("/proc/self/maps");
  std::ostringstream text;
  text << maps.rdbuf();
  const std::string name = std::filesystem::path(driver_path()).filename().string();
  std::printf("double: %s\n", text.str().find(name) != std::string::npos ? "loaded" : "not loaded");
}

}  // namespace
}  // namespace bwgemm::test
