// SPDX-License-Identifier: Apache-2.0
// bwgemm_fuzz: draws cases, runs them, reports those that fail and what was covered.
// Exit status: 0, 1 (a case failed), 2 (wrong arguments), 3 (what a replayed case forces cannot
// serve it), 77 (no GPU, and none is required).
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unistd.h>

#include "draw.h"
#include "families/variants.h"
#include "options.h"
#include "shrink.h"
#include "text.h"

namespace bwgemm::fuzz {
namespace {

constexpr int failed = 1, wrong_arguments = 2, refused = 3, skipped = 77;
constexpr int most_failures = 20, most_shrunk = 2;

// The case under way, for whoever looks after the process has died.
char current[4096];

void say_and_die(int signal) {
  static_cast<void>(!write(STDERR_FILENO, current, std::strlen(current)));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::string(name) + "=" + value + " " : "";
}

// What to paste to see the case again.
std::string replay_line(const Device& device, const Case& item) {
  std::string line = environment("BWGEMM_FORCE_OPERANDS");
  if (device.is_virtual())
    for (const char* name : {"BWGEMM_VGPU", "BWGEMM_VGPU_SEED"}) line += environment(name);
  return line.append("bwgemm_fuzz --replay \"").append(to_text(item)).append("\"");
}

struct Summary {
  std::int64_t cases = 0, calls = 0, forced = 0, copies = 0, divided = 0, failures = 0;
  double multiply_adds = 0;
  std::map<std::string, std::int64_t> kernels;

  void add(const Case& item, const Outcome& outcome) {
    ++cases;
    calls += static_cast<std::int64_t>(item.calls.size());
    multiply_adds += item.multiply_adds();
    for (const Call& call : item.calls) forced += call.kernel.empty() ? 0 : 1;
    for (const std::string& kernel : outcome.kernels) ++kernels[kernel];
    copies += outcome.copies;
    divided += outcome.divided;
    if (!outcome.wrong.empty()) ++failures;
  }

  void print() const {
    const int major = test::device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const Arch arch = major == 9 ? Arch::sm90 : Arch::sm100;
    std::int64_t rows = 0, covered = 0;
    for (const KernelConfig& row : kernel_variants) {
      if (row.arch != arch) continue;
      ++rows;
      const auto found = kernels.find(std::string(kernel_name(row).view()));
      if (found != kernels.end()) ++covered;
      std::printf("%8lld  %s\n", found != kernels.end() ? static_cast<long long>(found->second) : 0,
                  kernel_name(row).c_str());
    }
    std::printf(
        "%lld cases, %lld calls (%lld with a forced kernel, %lld divided), %lld copies of "
        "operands, %.3g multiply-adds, %lld of %lld kernels, %lld failures\n",
        static_cast<long long>(cases), static_cast<long long>(calls),
        static_cast<long long>(forced), static_cast<long long>(divided),
        static_cast<long long>(copies), multiply_adds, static_cast<long long>(covered),
        static_cast<long long>(rows), static_cast<long long>(failures));
  }
};

class Session {
 public:
  explicit Session(const Options& options) : options_(options), device_(options.damage) {}

  // False if there is no going on.
  bool run(Case item) {
    remember(item);
    device_.choose_forced(item);
    remember(item);
    const Outcome outcome = device_.run(item);
    summary_.add(item, outcome);
    if (outcome.wrong.empty()) return true;
    report("FAILED ", item, outcome);
    if (options_.shrink && summary_.failures <= most_shrunk) {
      Case smaller = shrunk(item, options_.self_test);
      std::printf("SHRUNK %s\n", replay_line(device_, smaller).c_str());
    }
    std::fflush(stdout);
    return summary_.failures < most_failures && device_.recover();
  }

  int replay(const Case& item) {
    if (!device_.serves(item)) {
      std::printf("what is forced cannot serve the call\n");
      return refused;
    }
    run(item);
    return finish();
  }

  int finish() const {
    summary_.print();
    return summary_.failures > 0 ? failed : 0;
  }

 private:
  void remember(const Case& item) const {
    const std::string line = "DIED in " + replay_line(device_, item) + "\n";
    std::snprintf(current, sizeof current, "%s", line.c_str());
  }

  void report(const char* word, const Case& item, const Outcome& outcome) const {
    std::string kernels;
    for (const std::string& kernel : outcome.kernels)
      kernels.append(kernels.empty() ? "" : ", ").append(kernel);
    std::printf("%s%s : %s : %s\n", word, replay_line(device_, item).c_str(), kernels.c_str(),
                outcome.wrong.c_str());
    std::fflush(stdout);
  }

  const Options& options_;
  Device device_;
  Summary summary_;
};

int list(const Options& options) {
  if (!options.replay.empty()) {
    std::printf("%s\n", to_text(from_text(options.replay)).c_str());
    return 0;
  }
  for (std::int64_t i = 0; i < options.cases; ++i)
    std::printf("%s\n", to_text(draw(options.seed + static_cast<std::uint64_t>(i))).c_str());
  return 0;
}

int fuzz(const Options& options) {
  if (const std::string reason = test::why_no_gpu(); !reason.empty()) {
    std::printf("%s\n", reason.c_str());
    return environment("BWGEMM_TEST_REQUIRE_GPU").empty() ? skipped : failed;
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGINT})
    std::signal(signal, say_and_die);
  Session session(options);
  if (!options.replay.empty()) return session.replay(from_text(options.replay));
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto is_over = [&] {
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    return options.seconds > 0 && elapsed.count() >= options.seconds;
  };
  for (std::int64_t i = 0; i < options.cases && !is_over(); ++i)
    if (!session.run(draw(options.seed + static_cast<std::uint64_t>(i)))) {
      std::printf("stopped: too many failures, or the device does not recover\n");
      break;
    }
  return session.finish();
}

}  // namespace
}  // namespace bwgemm::fuzz

int main(int count, char** arguments) {
  using namespace bwgemm::fuzz;
  Options options;
  try {
    options = parse_options(count, arguments);
    if (!options.replay.empty()) from_text(options.replay);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwgemm_fuzz: %s\n", error.what());
    return wrong_arguments;
  }
  try {
    return options.list ? list(options) : fuzz(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwgemm_fuzz: %s\n", error.what());
    return failed;
  }
}
