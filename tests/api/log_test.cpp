// SPDX-License-Identifier: Apache-2.0
// The log, and what a forked child inherits of it. It is set up once in a process: probes run in
// processes of their own.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <pthread.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/fake_gemm.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// A call, and one that is refused.
TEST(LogProbe, DISABLED_Calls) {
  alarm(60);  // whatever the file is, no call waits for it
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  std::printf("gemm: %s\n", bwgemmStatusName(gemm_ex(handle, {})));
  GemmArguments bad;
  bad.lda = 1;
  EXPECT_EQ(gemm_ex(handle, bad), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

std::string logged(const std::map<std::string, std::string>& variables) {
  const ProcessResult result = run_self("LogProbe.DISABLED_Calls", variables);
  EXPECT_TRUE(result.passed()) << result.output;
  return result.output;
}

class LogFile {
 public:
  LogFile()
      : path_(std::filesystem::temp_directory_path() / ("bwgemm_log_" + std::to_string(getpid()))) {
    std::filesystem::remove(path_);
  }
  ~LogFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  std::string contents() const {
    std::ifstream file(path_);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path path_;
};

TEST(Log, IsSilentUnlessAsked) {
  const std::string output = logged({{"BWGEMM_LOG_LEVEL", ""}});
  EXPECT_THAT(output, Not(HasSubstr("[bwgemm")));
}

TEST(Log, ToAFile) {
  const LogFile file;
  const std::string output =
      logged({{"BWGEMM_LOG_LEVEL", "trace"}, {"BWGEMM_LOG_FILE", file.path()}});
  EXPECT_THAT(output, Not(HasSubstr("[bwgemm")));
  const std::string log = file.contents();
  EXPECT_THAT(log, HasSubstr("bwgemm_bench"));
  EXPECT_THAT(log, HasSubstr("bwgemm_sm90_"));
  EXPECT_THAT(log, HasSubstr("lda"));  // the refused call
}

TEST(Log, LevelsAreNested) {
  const LogFile errors, calls;
  logged({{"BWGEMM_LOG_LEVEL", "error"}, {"BWGEMM_LOG_FILE", errors.path()}});
  EXPECT_THAT(errors.contents(), HasSubstr("lda"));
  EXPECT_THAT(errors.contents(), Not(HasSubstr("bwgemm_bench")));
  logged({{"BWGEMM_LOG_LEVEL", "info"}, {"BWGEMM_LOG_FILE", calls.path()}});
  EXPECT_THAT(calls.contents(), HasSubstr("bwgemm_bench"));
}

TEST(Log, AFileThatCannotBeWrittenOrALevelThatIsNoneDoesNoHarm) {
  const std::string output =
      logged({{"BWGEMM_LOG_LEVEL", "info"}, {"BWGEMM_LOG_FILE", "/nonexistent/folder/log"}});
  EXPECT_THAT(output, HasSubstr("gemm: BWGEMM_STATUS_SUCCESS"));
  EXPECT_THAT(logged({{"BWGEMM_LOG_LEVEL", "shout"}}), HasSubstr("gemm: BWGEMM_STATUS_SUCCESS"));
}

// Threads may be cancelled where they write: not inside the library's log.
TEST(Log, IsNotCutOffByACancelledThread) {
  const LogFile file;
  const ProcessResult result =
      run_self("CancelledProbe.DISABLED_*",
               {{"BWGEMM_LOG_LEVEL", "trace"}, {"BWGEMM_LOG_FILE", file.path()}});
  EXPECT_TRUE(result.passed()) << result.output;
  EXPECT_THAT(file.contents(), HasSubstr("lda"));
}

TEST(CancelledProbe, DISABLED_InACall) {
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  pthread_t thread{};
  const auto body = [](void* used) -> void* {
    pthread_cancel(pthread_self());  // takes effect at the next write or the like
    GemmArguments bad;
    bad.lda = 1;
    gemm_ex(static_cast<bwgemmHandle_t>(used), bad);
    pthread_testcancel();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, body, handle), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

TEST(Log, LinesSayWhenWhoAndWhat) {
  const LogFile file;
  logged({{"BWGEMM_LOG_LEVEL", "error"}, {"BWGEMM_LOG_FILE", file.path()}});
  EXPECT_THAT(file.contents(),
              MatchesRegex("\\[[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+\\.[0-9]+Z\\] "
                           "\\[bwgemm [0-9]+:[0-9]+\\] \\[error\\] bwgemmGemmEx: .*\n"));
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  EXPECT_EQ(file.contents().substr(1, 4), std::to_string(utc.tm_year + 1900));
}

TEST(Log, FoldersAreNotMade) {
  const LogFile file;
  const std::string output =
      logged({{"BWGEMM_LOG_LEVEL", "warning"}, {"BWGEMM_LOG_FILE", file.path() + "/log"}});
  EXPECT_FALSE(fs::exists(file.path()));
  EXPECT_THAT(output, HasSubstr("cannot be opened: No such file or directory"));
}

TEST(Log, APipeThatNobodyReadsHoldsNothingUp) {
  const LogFile file;
  ASSERT_EQ(mkfifo(file.path().c_str(), 0600), 0);
  const std::string output =
      logged({{"BWGEMM_LOG_LEVEL", "trace"}, {"BWGEMM_LOG_FILE", file.path()}});
  EXPECT_THAT(output, HasSubstr("gemm: BWGEMM_STATUS_SUCCESS"));
  EXPECT_THAT(output, HasSubstr("cannot be opened"));
}

// Its reader has gone: a write raises SIGPIPE, which would end the process.
TEST(Log, APipeWhoseReaderIsGoneEndsNothing) {
  const LogFile file;
  ASSERT_EQ(mkfifo(file.path().c_str(), 0600), 0);
  const ProcessResult result = run_self(
      "PipeProbe.DISABLED_*", {{"BWGEMM_LOG_LEVEL", "trace"}, {"BWGEMM_LOG_FILE", file.path()}});
  EXPECT_TRUE(result.passed()) << result.exit_code << result.output;
}

TEST(PipeProbe, DISABLED_ReaderGoes) {
  alarm(60);
  const int reader = open(std::getenv("BWGEMM_LOG_FILE"), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  GemmArguments bad;
  bad.lda = 1;
  EXPECT_EQ(gemm_ex(nullptr, bad), BWGEMM_STATUS_NOT_INITIALIZED);
  char line[256] = {};
  EXPECT_GT(read(reader, line, sizeof line - 1), 0) << "the pipe is not the log";
  // A full one holds nothing up either.
  for (int i = 0; i < 2000; ++i) gemm_ex(nullptr, bad);
  errno = 0;
  EXPECT_EQ(gemm_ex(nullptr, bad), BWGEMM_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(errno, 0);
  close(reader);
  EXPECT_EQ(gemm_ex(nullptr, bad), BWGEMM_STATUS_NOT_INITIALIZED);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << "the signal is left for later";
}

TEST(Log, IsNotInheritedByPrograms) {
  const LogFile file;
  const ProcessResult result =
      run_self("InheritedProbe.DISABLED_*",
               {{"BWGEMM_LOG_LEVEL", "trace"}, {"BWGEMM_LOG_FILE", file.path()}});
  EXPECT_TRUE(result.passed()) << result.output;
}

TEST(InheritedProbe, DISABLED_Descriptor) {
  EXPECT_EQ(gemm_ex(nullptr, {}), BWGEMM_STATUS_NOT_INITIALIZED);
  int found = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (fs::read_symlink(entry, error) != std::getenv("BWGEMM_LOG_FILE")) continue;
    ++found;
    EXPECT_NE(fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(found, 1);
}

// ---- forks --------------------------------------------------------------------------------------

// Other threads are in the midst of logging at some of the forks.
TEST(Log, AForkedChildIsNotHeldUp) {
  const LogFile file;
  const ProcessResult result =
      run_self("ForkedLogProbe.DISABLED_*",
               {{"BWGEMM_LOG_LEVEL", "error"}, {"BWGEMM_LOG_FILE", file.path()}});
  EXPECT_TRUE(result.passed()) << result.output;
}

int use_in_child(bwgemmHandle_t of_parent) {
  alarm(30);  // by which a child that waits for ever is ended
  GemmArguments bad;
  bad.lda = 1;
  if (gemm_ex(of_parent, bad) != BWGEMM_STATUS_NOT_INITIALIZED) return 1;
  if (bwgemmDestroy(of_parent) != BWGEMM_STATUS_NOT_INITIALIZED) return 2;
  return 0;
}

TEST(ForkedLogProbe, DISABLED_Children) {
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i)
    others.emplace_back([&] {
      GemmArguments bad;
      bad.lda = 1;
      while (!is_over) gemm_ex(handle, bad);
    });
  for (int i = 0; i < 200 && !::testing::Test::HasFailure(); ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(use_in_child(handle));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "child " << i << " waits for a thread of its parent";
    EXPECT_EQ(WEXITSTATUS(status), 0) << i;
  }
  is_over = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

// A thread opens the driver while another forks: the child may open it too.
TEST(ForkedWhileOpening, AChildMakesAHandle) {
  const ProcessResult result = run_self("ForkedOpeningProbe.DISABLED_*");
  EXPECT_TRUE(result.passed()) << result.output;
}

int status_of_child = -1;

void fork_once(const char* entry) {
  if (std::string_view(entry) != "cuInit") return;
  fake_cuda().on_call(nullptr);
  std::thread([] {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      bwgemmHandle_t own = nullptr;
      if (bwgemmCreate(&own) != BWGEMM_STATUS_SUCCESS) _exit(1);
      _exit(bwgemmDestroy(own) == BWGEMM_STATUS_SUCCESS ? 0 : 2);
    }
    waitpid(child, &status_of_child, 0);
  }).join();
}

TEST(ForkedOpeningProbe, DISABLED_Child) {
  fake_cuda().on_call(fork_once);
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  EXPECT_TRUE(WIFEXITED(status_of_child)) << "the child waits for a thread of its parent";
  EXPECT_EQ(WEXITSTATUS(status_of_child), 0);
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

}  // namespace
}  // namespace bwgemm::test
