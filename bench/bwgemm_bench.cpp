// SPDX-License-Identifier: Apache-2.0
// bwgemm_bench: checks and times bwgemm on one problem or a list, next to cuBLASLt where it is
// installed. Without a GPU it shows what would be chosen and says what is missing.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bwgemm/bwgemm.h"
#include "call.h"
#include "cublaslt.h"
#include "gpu.h"
#include "instruments.h"
#include "ladder.h"
#include "measure.h"
#include "options.h"
#include "problem.h"
#include "report.h"
#include "sensors.h"

namespace bwgemm::bench {
namespace {

std::vector<BenchProblem> problems_of(const Options& options) {
  std::vector<BenchProblem> all;
  if (options.problem.empty() && options.list.empty()) return {};
  if (options.problem.empty())
    all = read_problem_list(options.list, options.column_major);
  else
    all.push_back(parse_problem(options.problem, options.column_major));
  std::vector<BenchProblem> mine;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (static_cast<int>(i) % options.shards == options.shard) mine.push_back(all[i]);
  return mine;
}

// Kernels to measure a problem with: all in turn, a forced one, or the chosen one ("").
std::vector<std::string> kernels_of(const Options& options) {
  std::vector<std::string> names = kernel_names();
  if (options.mode == Mode::sweep) return names;
  const char* variable = std::getenv("BWGEMM_FORCE_KERNEL");
  std::string forced = options.kernel;
  if (forced.empty() && variable != nullptr) forced = variable;
  if (!forced.empty() && std::find(names.begin(), names.end(), forced) == names.end()) {
    std::string known;
    for (const std::string& name : names) known += "\n  " + name;
    throw std::runtime_error("no kernel is called " + forced + "; there are:" + known);
  }
  return {forced};
}

// Why there is nothing to run; "" if there is.
std::string obstacle(const BenchProblem& problem) {
  if (!problem.unsupported.empty()) return "not supported yet: " + problem.unsupported;
  return problem.empty() ? "nothing to launch: m, n or batch is 0" : "";
}

// What would be done with a problem, for one kernel or the chosen one.
std::string prospect(const BenchProblem& problem, const std::string& kernel, bool in_a_line) {
  try {
    const std::string text = explain_nominally(problem);
    return in_a_line ? kernel + "  " + verdict(text, kernel) : text;
  } catch (const NotSupported& error) {
    return std::string("not supported: ") + error.what();
  }
}

void show(const Options& options, const std::vector<BenchProblem>& problems,
          const std::vector<std::string>& kernels) {
  if (options.mode == Mode::ladder) std::fputs(ladder_text().c_str(), stdout);
  for (const BenchProblem& problem : problems) {
    std::printf("== %s ==\n", problem.name.c_str());
    if (const std::string why = obstacle(problem); !why.empty()) {
      std::printf("%s\n", why.c_str());
      continue;
    }
    if (problem.batch > 1 && !problem.epilogue.any())
      std::printf("one of %lld batches\n", static_cast<long long>(problem.batch));
    for (const std::string& kernel : kernels) {
      force_kernel(kernel);
      std::printf("%s\n", prospect(problem, kernel, options.mode == Mode::sweep).c_str());
    }
  }
}

struct Machine {
  Gpu gpu;
  Sensors sensors{gpu.pci_address()};
  std::unique_ptr<CublasLt> cublaslt;  // may be null
};

void run_one(const Options& options, const Machine& machine, const Handle& handle,
             const BenchProblem& problem, const std::string& kernel, Report& report) {
  if (report.resumes(problem, kernel)) return;
  if (options.budget_seconds > 0 && report.seconds() > options.budget_seconds)
    return report.skip(problem, "the time budget is spent");
  if (const std::string why = obstacle(problem); !why.empty()) return report.skip(problem, why);
  try {
    report.add(problem, kernel,
               measure(machine.gpu, machine.sensors, handle.get(), machine.cublaslt.get(), problem,
                       options.measure));
  } catch (const NotSupported& error) {
    if (kernel.empty())
      report.fail(problem, error.what());
    else
      report.skip(problem, error.what());
  } catch (const std::exception& error) {
    report.fail(problem, error.what());
  }
}

// False if a result was wrong or a call failed that should not.
bool run(const Options& options, const std::vector<BenchProblem>& problems,
         const std::vector<std::string>& kernels) {
  Machine machine;
  std::string no_cublaslt = "not asked for";
  if (options.compare) machine.cublaslt = CublasLt::open(no_cublaslt);
  std::printf("%s; %s; cuBLASLt: %s; clocks: %s\n", bwgemmGetBuildInfo(),
              machine.gpu.name().c_str(),
              machine.cublaslt != nullptr ? "compared" : no_cublaslt.c_str(),
              machine.sensors.present() ? "from NVML" : "unknown, no NVML");
  Report report(options.csv, options.json, options.resume, problems.size() * kernels.size());
  for (const std::string& kernel : kernels) {
    force_kernel(kernel);
    const Handle handle(machine.gpu.stream());
    for (const BenchProblem& problem : problems)
      run_one(options, machine, handle, problem, kernel, report);
  }
  report.summarize(kernels.size());
  return report.all_good();
}

// Whether there is a GPU; else why not.
bool has_gpu(std::string& missing) {
  bwgemmHandle_t probe = nullptr;
  if (bwgemmCreate(&probe) != BWGEMM_STATUS_SUCCESS) {
    missing = bwgemmGetLastErrorString();
    return false;
  }
  bwgemmDestroy(probe);
  return true;
}

int benchmark(const Options& options) {
  if (options.help) {
    std::fputs(usage().c_str(), stdout);
    return 0;
  }
  if (is_offline(options)) return run_offline(options);
  const std::vector<BenchProblem> problems = problems_of(options);
  const std::vector<std::string> kernels = kernels_of(options);
  std::string missing;
  if (!options.explain && has_gpu(missing)) {
    const bool only_checks = options.mode == Mode::sweep && !options.measure.time;
    if (options.mode == Mode::measure || only_checks)
      return run(options, problems, kernels) ? 0 : 1;
    return run_instrument(options, problems);
  }
  show(options, problems, kernels);
  if (!missing.empty()) std::printf("Nothing was computed: %s\n", missing.c_str());
  return 0;
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
