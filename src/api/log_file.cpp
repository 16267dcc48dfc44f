// SPDX-License-Identifier: Apache-2.0
#include "api/log_file.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace bwgemm {
namespace {

// While one lives, its thread's writes to a pipe that nobody reads raise no signal. Keeps errno.
class PipeSignalHold {
 public:
  PipeSignalHold() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalHold() {
    constexpr timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error_before_;
  }
  PipeSignalHold(const PipeSignalHold&) = delete;
  PipeSignalHold& operator=(const PipeSignalHold&) = delete;

 private:
  const int error_before_ = errno;
  sigset_t pipe_, before_;
  bool was_pending_;
};

}  // namespace

// O_NONBLOCK: a pipe that nobody reads is refused, and a full one loses lines.
LogFile::LogFile(const std::string& path)
    : descriptor_(::open(
          path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666)) {}

void LogFile::write(std::string_view line) const noexcept {
  const PipeSignalHold hold;
  while (!line.empty()) {
    const ssize_t count = ::write(descriptor_, line.data(), line.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    line.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace bwgemm
