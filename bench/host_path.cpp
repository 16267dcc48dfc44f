// SPDX-License-Identifier: Apache-2.0
#include "host_path.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>

#include "call.h"
#include "code.h"
#include "device/residues.h"
#include "families/variants.h"
#include "operands.h"
#include "regret.h"
#include "row.h"

namespace bwgemm::bench {

namespace {

using Clock = std::chrono::steady_clock;

double ns_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

// What reading the clock twice takes, which every measured time includes.
double clock_ns() {
  std::vector<double> times(1000);
  for (double& time : times) {
    const auto begin = Clock::now();
    time = ns_between(begin, Clock::now());
  }
  return percentile(times, 0.5);
}

// Rounds of a few calls each, in turn; the stream is empty before each round, and so never full.
// Times of the first rounds do not count.
class Contest {
 public:
  explicit Contest(const Gpu& gpu) : gpu_(gpu) {}

  void add(const std::function<void()>& call) { sides_.push_back({call, {}}); }

  std::vector<HostTimes> run() {
    constexpr int rounds = 300, warm_rounds = 20, calls = 20;
    for (int round = 0; round < rounds; ++round)
      for (Side& side : sides_) {
        check(driver().cuStreamSynchronize(gpu_.stream()), "cuStreamSynchronize");
        for (int i = 0; i < calls; ++i) {
          const auto begin = Clock::now();
          side.call();
          const auto end = Clock::now();
          if (round >= warm_rounds) side.times.push_back(ns_between(begin, end));
        }
      }
    check(driver().cuStreamSynchronize(gpu_.stream()), "cuStreamSynchronize");
    const double overhead = clock_ns();
    std::vector<HostTimes> results;
    for (const Side& side : sides_)
      results.push_back(
          {percentile(side.times, 0.5) - overhead, percentile(side.times, 0.99) - overhead});
    return results;
  }

 private:
  struct Side {
    std::function<void()> call;
    std::vector<double> times;
  };

  const Gpu& gpu_;
  std::vector<Side> sides_;
};

// Of the kernels that do nothing, the one with as many bytes of parameters.
const char* empty_kernel(const std::string& like) {
  const auto row = std::find_if(
      kernel_variants.begin(), kernel_variants.end(),
      [&](const KernelConfig& variant) { return kernel_name(variant).view() == like; });
  if (row == kernel_variants.end() || is_unmapped(*row)) return "empty";
  return has_residues(*row) ? "empty_with_residues" : "empty_with_maps";
}

// It, launched as the library launches `like`.
class EmptyLaunch {
 public:
  EmptyLaunch(const Gpu& gpu, const Graph::KernelLaunch& like)
      : code_(Code::memory(gpu)),
        launch_(gpu, code_.function(empty_kernel(like.name), shape_of(like).shared_bytes),
                shape_of(like)) {}

  void operator()() {
    void* parameters[] = {&params_};
    launch_(parameters);
  }

 private:
  Code code_;
  Launch launch_;
  ResidueParams params_{};  // begin with those of all
};

}  // namespace

HostPath measure_host_path(const Gpu& gpu, const CublasLt* cublaslt, const BenchProblem& problem) {
  const OperandSets operands(gpu, problem);
  const Handle handle(gpu.stream());
  bwgemmSetPointerMode(
      handle.get(), problem.device_scalars ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST);
  const Pointers at = operands.pointers(0);
  const auto call = [&] { run_bwgemm(handle.get(), problem, at); };
  call();  // loads the kernel
  check(driver().cuStreamSynchronize(gpu.stream()), "cuStreamSynchronize");
  const Graph graph(gpu, call);
  constexpr const char* prefix = "bwgemm_";
  const Graph::KernelLaunch like = graph.kernel_launch(prefix);
  EmptyLaunch empty(gpu, like);

  Contest contest(gpu);
  contest.add(call);
  contest.add([&] { empty(); });
  std::optional<CublasLtProblem> lt;
  if (cublaslt != nullptr && problem.k > 0) lt.emplace(*cublaslt, gpu, problem);
  if (lt && lt->algorithms() > 0) contest.add([&] { lt->run(0, at); });
  const std::vector<HostTimes> times = contest.run();
  return {problem,  like.name, graph.launches(prefix),
          times[0], times[1],  times.size() > 2 ? times[2] : HostTimes{}};
}

std::string host_path_line(const HostPath& path) {
  std::array<char, 512> line{};
  std::snprintf(line.data(), line.size(),
                "%-34s %-46s ns a call, median (99%%): bwgemm %.0f (%.0f), empty launch %.0f "
                "(%.0f), cublasLtMatmul %.0f (%.0f); above about %d empty: %.0f\n",
                path.problem.name.c_str(), path.kernel.c_str(), path.bwgemm.median_ns,
                path.bwgemm.p99_ns, path.empty.median_ns, path.empty.p99_ns,
                path.cublaslt.median_ns, path.cublaslt.p99_ns, path.launches,
                path.bwgemm.median_ns - path.launches * path.empty.median_ns);
  return line.data();
}

std::string host_path_csv(const std::vector<HostPath>& paths) {
  std::string text;
  for (const HostPath& path : paths) {
    std::vector<Cell> cells = problem_cells(path.problem);
    const std::vector<Cell> measured = {
        {"kernel", path.kernel},
        {"launches", std::to_string(path.launches)},
        {"bwgemm_ns", fixed(path.bwgemm.median_ns, 0)},
        {"bwgemm_p99_ns", fixed(path.bwgemm.p99_ns, 0)},
        {"empty_ns", fixed(path.empty.median_ns, 0)},
        {"empty_p99_ns", fixed(path.empty.p99_ns, 0)},
        {"cublaslt_ns", fixed(path.cublaslt.median_ns, 0)},
        {"cublaslt_p99_ns", fixed(path.cublaslt.p99_ns, 0)},
    };
    cells.insert(cells.end(), measured.begin(), measured.end());
    if (text.empty()) text = csv_header(cells) + "\n";
    text += csv_row(cells) + "\n";
  }
  return text;
}

}  // namespace bwgemm::bench
