// SPDX-License-Identifier: Apache-2.0
#include "vgpu/calibration/supervise.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "vgpu/calibration/calibration.h"
#include "vgpu/calibration/facts.h"

namespace bwgemm::calibration {
namespace {

using Clock = std::chrono::steady_clock;

// A child's words come through a pipe: "name\tanswer\tdetail\n" for each case.
class Child {
 public:
  Child(int question, int first, const std::string& raw_path) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const std::string arguments[] = {"--serve", std::to_string(question), std::to_string(first),
                                     raw_path};
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execl("/proc/self/exe", "bwgemm_vgpu_calibration", arguments[0].c_str(), arguments[1].c_str(),
            arguments[2].c_str(), arguments[3].c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  Child(const Child&) = delete;
  ~Child() {
    close(from_);
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  enum class Word { line, end, timeout };
  Word next(std::string& line, Clock::time_point deadline) {
    for (;;) {
      const std::size_t end = text_.find('\n');
      if (end != std::string::npos) {
        line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return Word::line;
      }
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return Word::timeout;
      pollfd readable{from_, POLLIN, 0};
      if (poll(&readable, 1, static_cast<int>(left)) <= 0) continue;
      char piece[4096];
      const ssize_t count = read(from_, piece, sizeof piece);
      if (count <= 0) return Word::end;
      text_.append(piece, static_cast<std::size_t>(count));
    }
  }

 private:
  pid_t process_ = 0;
  int from_ = -1;
  std::string text_;
};

Reply parsed(const std::string& line) {
  const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {line, "?", {}};
  return {line.substr(0, first), line.substr(first + 1, second - first - 1),
          line.substr(second + 1)};
}

std::vector<Reply> ask(int question, const std::string& raw_path, const Limits& limits,
                       Clock::time_point deadline, const std::function<void(const Reply&)>& print) {
  const std::vector<Case> cases = cases_of(question);
  std::vector<Reply> replies;
  const auto add = [&](const Reply& reply) {
    replies.push_back(reply);
    print(reply);
  };
  while (replies.size() < cases.size()) {
    const auto patience = std::chrono::duration<double>(limits.case_seconds);
    if (Clock::now() >= deadline) {
      add({cases[replies.size()].name, "not asked", "out of time"});
      continue;
    }
    Child child(question, static_cast<int>(replies.size()), raw_path);
    for (bool is_alive = true; is_alive && replies.size() < cases.size();) {
      const auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
      std::string line;
      const Child::Word word = child.next(line, std::min(limit, deadline));
      is_alive = word == Child::Word::line;
      if (is_alive) {
        add(parsed(line));
        // The child goes behind an error.
        is_alive = replies.back().answer.rfind("error ", 0) != 0;
      } else {
        add({cases[replies.size()].name,
             word == Child::Word::timeout ? "error TIMEOUT" : "error CRASH",
             {}});
      }
    }
  }
  return replies;
}

}  // namespace

std::vector<Reply> supervise(const std::vector<int>& questions, const std::string& raw_path,
                             const Limits& limits, void (*print)(const Reply&)) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(limits.total_seconds));
  std::vector<std::vector<Reply>> replies(questions.size());
  std::atomic<std::size_t> next = 0;
  std::mutex printing;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < questions.size();)
      replies[i] = ask(questions[i], raw_path, limits, deadline, [&](const Reply& reply) {
        const std::lock_guard lock(printing);
        print(reply);
      });
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < limits.jobs; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  std::vector<Reply> all;
  for (const auto& some : replies) all.insert(all.end(), some.begin(), some.end());
  return all;
}

int serve(int question, int first, const std::string& raw_path) {
  const std::vector<Case> cases = cases_of(question);
  const RawData raw(raw_path);
  const auto say = [](const Case& asked, const std::string& answer, const std::string& detail) {
    std::printf("%s\t%s\t%s\n", asked.name.c_str(), clean(answer).c_str(), clean(detail).c_str());
    std::fflush(stdout);
  };
  std::size_t i = static_cast<std::size_t>(first);
  try {
    Device device;
    for (; i < cases.size(); ++i) {
      const Answer answer = cases[i].ask(device, raw);
      say(cases[i], answer.text, answer.detail);
    }
  } catch (const std::exception& error) {
    say(cases[i], std::string("error ").append(error.what()), {});
  }
  // What a lost context would say to its end is of no interest.
  _exit(0);
}

}  // namespace bwgemm::calibration
