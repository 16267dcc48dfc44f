// SPDX-License-Identifier: Apache-2.0
#include "shrink.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <vector>

#include "text.h"

namespace bwgemm::fuzz {
namespace {

constexpr int most_runs = 300;

// A crash counts.
bool fails(const Case& item, const std::string& self_test) {
  const std::string text = to_text(item);
  std::vector<const char*> arguments = {"bwgemm_fuzz", "--replay", text.c_str()};
  if (!self_test.empty()) arguments.insert(arguments.end(), {"--self-test", self_test.c_str()});
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int stream : {1, 2})
    posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  int status = 0;
  const bool is_running = posix_spawn(&child, "/proc/self/exe", &quiet, nullptr,
                                      const_cast<char**>(arguments.data()), environ) == 0 &&
                          waitpid(child, &status, 0) == child;
  posix_spawn_file_actions_destroy(&quiet);
  return is_running && (WIFSIGNALED(status) || WEXITSTATUS(status) == 1);
}

}  // namespace

Case shrunk(Case item, const std::string& self_test) {
  int runs = 0;
  for (bool is_simpler = true; is_simpler;) {
    is_simpler = false;
    for (Case& other : simpler(item)) {
      if (++runs > most_runs) return item;
      if (!fails(other, self_test)) continue;
      item = std::move(other);
      is_simpler = true;
      break;
    }
  }
  return item;
}

}  // namespace bwgemm::fuzz
