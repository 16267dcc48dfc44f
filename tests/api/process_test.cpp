// SPDX-License-Identifier: Apache-2.0
// The library in the life of a process: forks, exits with handles alive and threads at work, a
// context that is lost, and being opened and closed a thousand times. Over the test double.
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <malloc.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "support/fake_gemm.h"
#include "support/sanitized.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

// ---- fork ---------------------------------------------------------------------------------------

// What the body returns in a forked child: below 100; 255 if the child did not end by itself.
template <class Body>
int in_forked_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

using Forked = FakeHandleTest;

TEST_F(Forked, AChildIsToldThatTheHandleIsItsParents) {
  ASSERT_EQ(gemm_ex(handle(), {}), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(in_forked_child([&] {
              int failed = 0;
              const long calls = fake_cuda().calls(nullptr);
              for (const GemmEntry& entry : gemm_entries) {
                if (entry.call(handle(), {}) != BWGEMM_STATUS_NOT_INITIALIZED) ++failed;
                if (!mentions(bwgemmGetLastErrorString(), "fork")) ++failed;
              }
              if (bwgemmSetStream(handle(), nullptr) != BWGEMM_STATUS_NOT_INITIALIZED) ++failed;
              if (bwgemmDestroy(handle()) != BWGEMM_STATUS_NOT_INITIALIZED) ++failed;
              if (fake_cuda().calls(nullptr) != calls) ++failed;  // of the parent's driver
              return failed;
            }),
            0);
  EXPECT_EQ(gemm_ex(handle(), {}), BWGEMM_STATUS_SUCCESS) << "in the parent, afterwards";
}

// A driver that works in a child, as the double does, and a grandchild of the child's own.
TEST_F(Forked, AChildsOwnHandleWorksThereAndNotInItsChildren) {
  EXPECT_EQ(in_forked_child([] {
              bwgemmHandle_t own = nullptr;
              if (bwgemmCreate(&own) != BWGEMM_STATUS_SUCCESS) return 1;
              if (gemm_ex(own, {}) != BWGEMM_STATUS_SUCCESS) return 2;
              const int grandchild = in_forked_child(
                  [&] { return gemm_ex(own, {}) == BWGEMM_STATUS_NOT_INITIALIZED ? 0 : 3; });
              if (grandchild != 0) return grandchild;
              return bwgemmDestroy(own) == BWGEMM_STATUS_SUCCESS ? 0 : 4;
            }),
            0);
}

// exit() in a child runs the destructors of the library, which must leave the parent's CUDA alone.
TEST_F(Forked, AChildMayExit) {
  ASSERT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  const ProcessResult result = run_self("ForkedProbe.DISABLED_ChildExits");
  EXPECT_TRUE(result.passed()) << "exit code " << result.exit_code << "\n" << result.output;
}

TEST(ForkedProbe, DISABLED_ChildExits) {
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(gemm_ex(handle, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  static long calls = fake_cuda().calls(nullptr);
  static const pid_t parent = getpid();
  ASSERT_EQ(std::atexit([] {
              if (getpid() != parent && fake_cuda().calls(nullptr) != calls) _exit(9);
            }),
            0);
  const pid_t child = fork();
  if (child == 0) std::exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

// ---- exit ---------------------------------------------------------------------------------------

TEST(Exit, WithHandlesAliveAndThreadsAtWork) {
  for (int i = 0; i < 10; ++i) {
    const ProcessResult result = run_self("ExitProbe.DISABLED_*");
    ASSERT_EQ(result.exit_code, 7) << result.output;
  }
}

TEST(ExitProbe, DISABLED_InTheMidst) {
  static std::atomic<int> calls{0};
  for (int thread = 0; thread < 4; ++thread)
    std::thread([thread] {
      bwgemmHandle_t handle = nullptr;
      if (bwgemmCreate(&handle) != BWGEMM_STATUS_SUCCESS) _exit(8);
      for (GemmArguments gemm;;) {
        gemm.m = 8 + (gemm.m + 8) % 512;  // launches, choices, and with an odd thread errors
        gemm.lda = thread % 2 == 0 ? 256 : 1;
        static_cast<void>(gemm_ex(handle, gemm));
        ++calls;
      }
    }).detach();
  while (calls < 200) std::this_thread::yield();
  std::exit(7);
}

// ---- a lost context -----------------------------------------------------------------------------

// What bwgemm.h says of it: nothing recovers, but everything answers.
TEST(StickyError, AnswersUntilTheContextIsGone) {
  check(driver().init(0), "cuInit");
  CUcontext lost = nullptr, other = nullptr;
  check(driver().ctx_create_v2(&lost, 0, 0), "cuCtxCreate");
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(gemm_ex(handle, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  fake_cuda().fail_entry("cuLaunchKernelEx", CUDA_ERROR_ILLEGAL_ADDRESS);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(gemm_ex(handle, {}), BWGEMM_STATUS_EXECUTION_FAILED) << bwgemmGetLastErrorString();
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "700")) << bwgemmGetLastErrorString();
  GemmArguments wrong;
  wrong.lda = 1;
  EXPECT_EQ(gemm_ex(handle, wrong), BWGEMM_STATUS_INVALID_VALUE) << "arguments are judged first";
  EXPECT_EQ(bwgemmSetSmCountTarget(handle, 8), BWGEMM_STATUS_SUCCESS) << "no call of the driver";

  fake_cuda().reset();
  check(driver().ctx_create_v2(&other, 0, 0), "cuCtxCreate");
  bwgemmHandle_t fresh = nullptr;
  ASSERT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_SUCCESS) << "in another context";
  EXPECT_EQ(gemm_ex(fresh, {}), BWGEMM_STATUS_SUCCESS);
  check(driver().ctx_destroy(lost), "cuCtxDestroy");
  bwgemmDestroy(handle);  // any status
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(gemm_ex(fresh, {}), BWGEMM_STATUS_SUCCESS) << "the loss of the other one reached it";
  EXPECT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(fake_cuda().misuse(0), nullptr) << fake_cuda().misuse(0);
  check(driver().ctx_destroy(other), "cuCtxDestroy");
}

// ---- a thousand times ---------------------------------------------------------------------------

// What leaks does so in every cycle; what is taken once and kept is no leak.
struct Held {
  long heap_bytes = 0, other_kib = 0, maps = 0, files = 0, threads = 0;
};

Held held() {
  Held now;
  long mapped_by_heap = 0;  // with the free memory it keeps, more or less as it pleases
#if !BWGEMM_TEST_SANITIZED  // whose heap is another
  const struct mallinfo2 heap = mallinfo2();
  now.heap_bytes = static_cast<long>(heap.uordblks + heap.hblkhd);
  mapped_by_heap = static_cast<long>(heap.arena + heap.hblkhd);
#endif
  std::ifstream maps("/proc/self/maps"), status("/proc/self/status");
  for (std::string line; std::getline(maps, line);) ++now.maps;
  for (std::string line; std::getline(status, line);) {
    // Mapped, not resident: what is resident is the system's choice, huge pages and all.
    if (line.rfind("VmData:", 0) == 0)
      now.other_kib = std::atol(line.c_str() + 7) - mapped_by_heap / 1024;
    if (line.rfind("Threads:", 0) == 0) now.threads = std::atol(line.c_str() + 8);
  }
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
    ++now.files;
  return now;
}

// In a process of its own: what other tests freed would hide what these cycles take.
TEST(Reopened, AThousandTimes) {
  const ProcessResult result = run_self("ReopenedProbe.DISABLED_*");
  // Without the summary, so that what leaked is printed last.
  EXPECT_TRUE(result.passed()) << result.output.substr(0, result.output.find("[  FAILED  ]"));
}

template <class Function>
Function* symbol(void* library, const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// One life of the library: opened, used rightly and wrongly, closed.
void cycle(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto create = symbol(library, "bwgemmCreate", &bwgemmCreate);
  const auto destroy = symbol(library, "bwgemmDestroy", &bwgemmDestroy);
  const auto gemm = symbol(library, "bwgemmBf16", &bwgemmBf16);
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(create(&handle), BWGEMM_STATUS_SUCCESS);
  for (const GemmArguments& g : {GemmArguments(), GemmArguments::split()}) {
    EXPECT_EQ(gemm(handle, g.transa, g.transb, g.m, g.n, g.k, &g.one, g.a, g.lda, g.b, g.ldb,
                   &g.zero, g.c, g.ldc),
              BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(gemm(handle, g.transa, g.transb, g.m, g.n, g.k, &g.one, g.a, 1, g.b, g.ldb, &g.zero,
                   g.c, g.ldc),
              BWGEMM_STATUS_INVALID_VALUE);
  }
  EXPECT_EQ(destroy(handle), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(dlclose(library), 0);
}

TEST(ReopenedProbe, DISABLED_Cycles) {
  Dl_info original{};
  dladdr(reinterpret_cast<void*>(&bwgemmGetVersion), &original);
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("libbwgemm_" + std::to_string(getpid()) + "_1000.so");
  std::filesystem::copy_file(original.dli_fname, path,
                             std::filesystem::copy_options::overwrite_existing);
  const int cycles = BWGEMM_TEST_SANITIZED ? 50 : 1000;
  Held settled;
  for (int i = 0; i < cycles && !::testing::Test::HasFailure(); ++i) {
    if (i == cycles / 4) settled = held();
    cycle(path.string());
    fake_cuda().reset();
    fake_cuda().forget_released();
  }
  const Held now = held();
  std::filesystem::remove(path);
  const auto expect_level = [&](const char* what, long before, long after, long slack) {
    EXPECT_LE(after, before + slack)
        << what << ", of " << cycles << " cycles the last three quarters";
  };
  expect_level("open files", settled.files, now.files, 0);
  expect_level("threads", settled.threads, now.threads, 0);
  if (BWGEMM_TEST_SANITIZED) return;  // which knows of every leak by itself
  // A quarter of what the smallest leak of its kind would take.
  const long counted = cycles - cycles / 4;
  expect_level("mappings", settled.maps, now.maps, counted / 4);
  expect_level("bytes of heap", settled.heap_bytes, now.heap_bytes, counted * 32 / 4);
  expect_level("other KiB", settled.other_kib, now.other_kib, counted * 4 / 4);
}

}  // namespace
}  // namespace bwgemm::test
