// SPDX-License-Identifier: Apache-2.0
// dlopen, use, dlclose: the library really goes, and comes back working. A copy of it is used,
// since this program itself is linked to the original.
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>

#include "support/fake_gemm.h"
#include "support/sanitized.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

class LibraryCopy {
 public:
  LibraryCopy() {
    Dl_info original{};
    dladdr(reinterpret_cast<void*>(&bwgemmGetVersion), &original);
    path_ =
        std::filesystem::temp_directory_path() / ("libbwgemm_" + std::to_string(getpid()) + ".so");
    std::filesystem::copy_file(original.dli_fname, path_,
                               std::filesystem::copy_options::overwrite_existing);
  }
  ~LibraryCopy() { std::filesystem::remove(path_); }
  LibraryCopy(const LibraryCopy&) = delete;

  std::string path() const { return path_.string(); }
  bool is_mapped() const {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find(path()) != std::string::npos) return true;
    return false;
  }

 private:
  std::filesystem::path path_;
};

template <class Function>
Function* needed_symbol(void* library, const char* name, Function*) {
  void* found = dlsym(library, name);
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function*>(found);
}

void use(void* library, bool fails) {
  const auto create = needed_symbol(library, "bwgemmCreate", &bwgemmCreate);
  const auto destroy = needed_symbol(library, "bwgemmDestroy", &bwgemmDestroy);
  const auto gemm = needed_symbol(library, "bwgemmBf16", &bwgemmBf16);
  const auto last_error =
      needed_symbol(library, "bwgemmGetLastErrorString", &bwgemmGetLastErrorString);
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(create(&handle), BWGEMM_STATUS_SUCCESS) << last_error();
  const GemmArguments g;
  const std::int64_t lda = fails ? 1 : g.lda;
  EXPECT_EQ(gemm(handle, g.transa, g.transb, g.m, g.n, g.k, &g.one, g.a, lda, g.b, g.ldb, &g.zero,
                 g.c, g.ldc),
            fails ? BWGEMM_STATUS_INVALID_VALUE : BWGEMM_STATUS_SUCCESS)
      << last_error();
  EXPECT_EQ(destroy(handle), BWGEMM_STATUS_SUCCESS) << last_error();
}

using Reload = FakeTest;

TEST_F(Reload, OpenAndClose) {
  const LibraryCopy copy;
  for (int i = 0; i < 5; ++i) {
    void* library = dlopen(copy.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    EXPECT_TRUE(copy.is_mapped());
    EXPECT_EQ(dlclose(library), 0);
    ASSERT_FALSE(copy.is_mapped()) << "dlclose did not unload the library";
  }
}

TEST_F(Reload, UseAndClose) {
  const LibraryCopy copy;
  for (int i = 0; i < 5; ++i) {
    void* library = dlopen(copy.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    use(library, false);
    use(library, true);
    std::thread([&] { use(library, i % 2 == 0); }).join();
    EXPECT_EQ(dlclose(library), 0);
    ASSERT_FALSE(copy.is_mapped()) << "dlclose did not unload the library";
  }
}

// Runs when static objects of the copy are gone, and what they held may be somebody else's.
decltype(&bwgemmSetStream) late_set_stream = nullptr;
decltype(&bwgemmGetLastErrorString) late_last_error = nullptr;

void call_late() {
  char theirs[16] = "not to be ours";
  pthread_key_t key{};
  if (pthread_key_create(&key, nullptr) != 0 || pthread_setspecific(key, theirs) != 0) _exit(2);
  if (late_set_stream(nullptr, nullptr) != BWGEMM_STATUS_NOT_INITIALIZED) _exit(3);
  if (std::string_view(theirs) != "not to be ours") _exit(4);
  if (std::string_view(late_last_error()) == theirs) _exit(5);
}

TEST(CallsAtExit, TouchNothingOfOthers) {
  const ProcessResult result = run_self("CallsAtExitProbe.DISABLED_*");
  EXPECT_TRUE(result.passed()) << "exit code " << result.exit_code << "\n" << result.output;
}

TEST(CallsAtExitProbe, DISABLED_OneFails) {
  ASSERT_EQ(std::atexit(call_late), 0);  // before the copy's: so it runs after them
  const LibraryCopy copy;
  void* library = dlopen(copy.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  late_set_stream = needed_symbol(library, "bwgemmSetStream", &bwgemmSetStream);
  late_last_error = needed_symbol(library, "bwgemmGetLastErrorString", &bwgemmGetLastErrorString);
  EXPECT_EQ(late_set_stream(nullptr, nullptr), BWGEMM_STATUS_NOT_INITIALIZED);
}

// A thread that made calls and lives on holds nothing back, and ends without harm.
TEST_F(Reload, WhileAThreadThatUsedItLives) {
  const LibraryCopy copy;
  void* library = dlopen(copy.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  std::promise<void> is_used, is_gone;
  std::thread thread([&] {
    // A failed call leaves the thread an error text that nobody can free once the library is gone.
    use(library, !BWGEMM_TEST_SANITIZED);
    is_used.set_value();
    is_gone.get_future().wait();
  });
  is_used.get_future().wait();
  EXPECT_EQ(dlclose(library), 0);
  EXPECT_FALSE(copy.is_mapped()) << "a live thread kept the library";
  is_gone.set_value();
  thread.join();
}

}  // namespace
}  // namespace bwgemm::test
