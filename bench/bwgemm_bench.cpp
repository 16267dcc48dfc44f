// SPDX-License-Identifier: Apache-2.0
// bwgemm_bench: checks and times bwgemm on one problem or a list, next to cuBLASLt where it is
// installed. Without a GPU it shows what would be chosen and says what is missing.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bwgemm/bwgemm.h"
#include "cublaslt.h"
#include "gpu.h"
#include "measure.h"
#include "options.h"
#include "problem.h"
#include "report.h"

namespace bwgemm::bench {
namespace {

// A handle on the benchmark's stream; `kernel`, if not empty, is forced.
class Handle {
 public:
  Handle(const Gpu& gpu, const std::string& kernel) {
    if (kernel.empty())
      unsetenv("BWGEMM_FORCE_KERNEL");
    else
      setenv("BWGEMM_FORCE_KERNEL", kernel.c_str(), 1);
    if (bwgemmCreate(&handle_) != BWGEMM_STATUS_SUCCESS ||
        bwgemmSetStream(handle_, gpu.stream()) != BWGEMM_STATUS_SUCCESS)
      throw std::runtime_error(bwgemmGetLastErrorString());
  }
  ~Handle() { bwgemmDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  bwgemmHandle_t get() const { return handle_; }

 private:
  bwgemmHandle_t handle_ = nullptr;
};

std::vector<BenchProblem> problems_of(const Options& options) {
  std::vector<BenchProblem> all;
  if (options.problem.empty())
    all = read_problem_list(options.list, options.column_major);
  else
    all.push_back(parse_problem(options.problem, options.column_major));
  std::vector<BenchProblem> mine;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (static_cast<int>(i) % options.shards == options.shard) mine.push_back(all[i]);
  return mine;
}

// Pointers of the alignment that an allocation has, for explanations that touch no memory.
std::string explain_nominally(const BenchProblem& problem) {
  const auto aligned = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  return explain(nullptr, problem, aligned(1 << 20), aligned(2 << 20), aligned(3 << 20));
}

int explain_without_gpu(const std::vector<BenchProblem>& problems, const std::string& missing) {
  for (const BenchProblem& problem : problems) {
    std::printf("== %s ==\n%s\n", problem.name.c_str(),
                problem.unsupported.empty()
                    ? explain_nominally(problem).c_str()
                    : ("not supported yet: " + problem.unsupported).c_str());
  }
  if (!missing.empty()) std::printf("Nothing was computed: %s\n", missing.c_str());
  return 0;
}

// Kernels to measure a problem with: the chosen one (""), or all in turn.
std::vector<std::string> kernels_of(const Options& options) {
  if (!options.sweep) return {options.kernel};
  std::vector<std::string> names;
  for (int i = 0; i < bwgemmKernelCount(); ++i) names.emplace_back(bwgemmKernelName(i));
  return names;
}

// False if a result was wrong or a call failed that should not.
bool run(const Options& options, const std::vector<BenchProblem>& problems, const Gpu& gpu) {
  std::string no_cublaslt = "not asked for";
  const std::unique_ptr<CublasLt> cublaslt =
      options.compare ? CublasLt::open(no_cublaslt) : nullptr;
  std::printf("%s; %s; cuBLASLt: %s\n", bwgemmGetBuildInfo(), gpu.name().c_str(),
              cublaslt != nullptr ? "compared" : no_cublaslt.c_str());
  Report report(options.csv, options.json, options.resume);
  const auto begin = std::chrono::steady_clock::now();
  bool good = true;
  for (const std::string& kernel : kernels_of(options)) {
    const Handle handle(gpu, kernel);
    for (const BenchProblem& problem : problems) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      if (options.budget_seconds > 0 && elapsed.count() > options.budget_seconds) {
        report.skip(problem, "the time budget is spent");
        continue;
      }
      if (!problem.unsupported.empty()) {
        report.skip(problem, "not supported yet: " + problem.unsupported);
        continue;
      }
      if (report.has(problem, kernel)) continue;
      try {
        const Measurement result =
            measure(gpu, handle.get(), cublaslt.get(), problem, options.measure);
        report.add(problem, kernel, result);
        good = good && (result.check == "ok" || !options.measure.check);
      } catch (const std::exception& error) {
        report.skip(problem, error.what());
        good = good && options.sweep;  // in a sweep most kernels cannot serve most problems
      }
    }
  }
  return good;
}

int benchmark(const Options& options) {
  const std::vector<BenchProblem> problems = problems_of(options);
  if (options.explain) return explain_without_gpu(problems, "");
  bwgemmHandle_t probe = nullptr;
  if (bwgemmCreate(&probe) != BWGEMM_STATUS_SUCCESS)
    return explain_without_gpu(problems, bwgemmGetLastErrorString());
  bwgemmDestroy(probe);
  return run(options, problems, Gpu()) ? 0 : 1;
}

}  // namespace
}  // namespace bwgemm::bench

int main(int count, char** arguments) {
  try {
    return bwgemm::bench::benchmark(bwgemm::bench::parse_options(count, arguments));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwgemm_bench: %s\n", error.what());
    return 2;
  }
}
