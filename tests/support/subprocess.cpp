// SPDX-License-Identifier: Apache-2.0
#include "support/subprocess.h"

#include <climits>
#include <cstdlib>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace bwgemm::test {

ProcessResult run_self(const std::string& filter,
                       const std::map<std::string, std::string>& variables,
                       const std::string& program) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) throw std::runtime_error("pipe failed");
  const std::string filter_flag = "--gtest_filter=" + filter;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    for (const auto& [variable, value] : variables)
      value.empty() ? unsetenv(variable.c_str()) : setenv(variable.c_str(), value.c_str(), 1);
    for (const char* inherited : {"GTEST_OUTPUT", "GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS",
                                  "GTEST_SHARD_STATUS_FILE", "TESTBRIDGE_TEST_ONLY"})
      unsetenv(inherited);
    execl(program.c_str(), program.c_str(), filter_flag.c_str(), "--gtest_also_run_disabled_tests",
          static_cast<char*>(nullptr));
    _exit(127);
  }
  close(pipe_ends[1]);
  ProcessResult result{-1, ""};
  char buffer[4096];
  for (ssize_t size; (size = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    result.output.append(buffer, static_cast<std::size_t>(size));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace bwgemm::test
