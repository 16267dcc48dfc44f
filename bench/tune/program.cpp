// SPDX-License-Identifier: Apache-2.0
#include "tune/program.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bwgemm::bench {
namespace {

constexpr int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP};

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// While one lives, signals wait until they are asked for.
class HeldSignals {
 public:
  HeldSignals() {
    std::signal(SIGCHLD, SIG_DFL);  // ignored, it would take the program's status away
    sigemptyset(&held_);
    for (const int signal : passed_on)
      if (!is_ignored(signal)) sigaddset(&held_, signal);
    sigaddset(&held_, SIGCHLD);
    sigaddset(&held_, SIGCONT);
    sigset_t blocked = held_;
    sigaddset(&blocked, SIGTTOU);  // which lending the terminal would raise
    sigprocmask(SIG_BLOCK, &blocked, &before_);
  }
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  void release() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  int next() const {
    for (int signal = 0;;)
      if (sigwait(&held_, &signal) == 0) return signal;
  }

 private:
  sigset_t held_{}, before_{};
};

// The terminal of this process, if it has one. One process group is in front.
class Terminal {
 public:
  Terminal() : file_(open("/dev/tty", O_RDWR | O_CLOEXEC)) {}
  ~Terminal() {
    if (file_ >= 0) close(file_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_there() const { return file_ >= 0; }
  // Does nothing, and returns false, where `from` is not in front.
  bool pass(pid_t from, pid_t to) const {
    return is_there() && tcgetpgrp(file_) == from && tcsetpgrp(file_, to) == 0;
  }

 private:
  int file_;
};

class Running {
 public:
  explicit Running(char* const* arguments) : own_group_(getpgrp()), program_(start(arguments)) {}
  ~Running() { terminal_.pass(program_, own_group_); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  Ended wait() const {
    Ended ended;
    for (;;) {
      const int signal = signals_.next();
      if (signal == SIGCHLD) {
        if (has_ended(ended)) return ended;
      } else {
        if (signal == SIGCONT) terminal_.pass(own_group_, program_);
        kill(-program_, signal);
      }
    }
  }

 private:
  pid_t start(char* const* arguments) const {
    const pid_t parent = getpid(), made = fork();
    if (made < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (made == 0) become(arguments, parent);
    setpgid(made, made);  // as the program does: one of the two comes first
    return made;
  }

  [[noreturn]] void become(char* const* arguments, pid_t parent) const {
    setpgid(0, 0);
    terminal_.pass(own_group_, getpid());
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);  // it was killed before it could be missed
    signals_.release();
    execvp(arguments[0], arguments);
    const int why = errno;
    std::fprintf(stderr, "bwgemm-tune: %s: %s\n", arguments[0], std::strerror(why));
    _exit(why == ENOENT ? 127 : 126);
  }

  bool has_ended(Ended& ended) const {
    int status = 0;
    while (waitpid(program_, &status, WNOHANG | WUNTRACED) == program_) {
      if (WIFSTOPPED(status)) {
        stop_too(WSTOPSIG(status));
        continue;
      }
      ended = WIFSIGNALED(status) ? Ended{0, WTERMSIG(status)} : Ended{WEXITSTATUS(status), 0};
      return true;
    }
    return false;
  }

  // For the shell, which sees this process alone. A program that waits for the terminal, which has
  // come to this process meanwhile, gets it.
  void stop_too(int signal) const {
    const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
    if (wants_terminal && terminal_.pass(own_group_, program_))
      kill(-program_, SIGCONT);
    else if (terminal_.is_there()) {
      terminal_.pass(program_, own_group_);
      kill(0, SIGSTOP);
    }
  }

  HeldSignals signals_;
  Terminal terminal_;
  pid_t own_group_, program_;
};

}  // namespace

std::string Ended::sentence() const {
  if (signal != 0)
    return "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  return status != 0 ? "ended with status " + std::to_string(status) : "";
}

Ended run_program(char* const* arguments) {
  return Running(arguments).wait();
}

}  // namespace bwgemm::bench
