// SPDX-License-Identifier: Apache-2.0
#include "instruments.h"

#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "call.h"
#include "ceiling.h"
#include "classes.h"
#include "cublaslt.h"
#include "fields.h"
#include "host_path.h"
#include "ladder.h"
#include "ladder_times.h"
#include "price.h"
#include "random_problems.h"
#include "regret.h"
#include "sweep.h"
#include "trace.h"

namespace bwgemm::bench {

namespace {

constexpr int wrong_result = 1;  // an exit status

void write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

void show_regret(const Options& options, const std::vector<SweepRow>& rows) {
  std::vector<ProblemRegret> all = regrets(rows, judge);
  if (options.measured > 0)
    for (ProblemRegret& regret : all) choose_measured(regret, options.measured);
  if (options.explain)
    for (const ProblemRegret& regret : all) std::fputs(details(regret).c_str(), stdout);
  std::fputs(regret_text(all, static_cast<std::size_t>(options.worst)).c_str(), stdout);
  if (!options.from.empty()) write_file(options.csv, regret_csv(all));
}

void show_summary(const Options& options) {
  std::vector<Ratio> ratios;
  for (const std::string& path : split(options.input, ','))
    for (const Ratio& ratio : ratios_of(Table::read(path))) ratios.push_back(ratio);
  if (ratios.empty()) throw std::runtime_error("no timed problem in " + options.input);
  const std::vector<ClassSummary> all = summaries(ratios);
  std::fputs(summary_text(all).c_str(), stdout);
  write_file(options.csv, summary_csv(all));
}

void run_host(const Options& options, const Gpu& gpu, const std::vector<BenchProblem>& problems) {
  std::string why_not = "not asked for";
  const std::unique_ptr<CublasLt> cublaslt = options.compare ? CublasLt::open(why_not) : nullptr;
  if (cublaslt == nullptr) std::printf("without cuBLASLt: %s\n", why_not.c_str());
  std::vector<HostPath> paths;
  for (const BenchProblem& problem : problems) {
    if (problem.empty() || !problem.unsupported.empty()) continue;
    paths.push_back(measure_host_path(gpu, cublaslt.get(), problem));
    std::fputs(host_path_line(paths.back()).c_str(), stdout);
    std::fflush(stdout);
  }
  write_file(options.csv, host_path_csv(paths));
}

int run_price(const Options& options, const Gpu& gpu, Priced priced,
              const std::vector<BenchProblem>& problems) {
  std::vector<Price> prices;
  bool all_good = true;
  for (const BenchProblem& problem : problems) {
    if (problem.empty() || !problem.unsupported.empty()) continue;
    if (const std::string why = not_priced(priced, problem); !why.empty()) {
      std::printf("%-34s not run: %s\n", problem.name.c_str(), why.c_str());
      continue;
    }
    try {
      prices.push_back(measure_price(gpu, priced, problem, options.measure));
      std::fputs(price_line(prices.back()).c_str(), stdout);
      all_good = all_good && is_good(prices.back());
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", problem.name.c_str(), error.what());
      all_good = false;
    }
    std::fflush(stdout);
  }
  std::fputs(price_summary(prices).c_str(), stdout);
  write_file(options.csv, price_csv(priced, prices));
  return all_good ? 0 : wrong_result;
}

void run_trace(const Options& options, const Gpu& gpu, const Sensors& sensors,
               const BenchProblem& problem) {
  constexpr int detailed_ctas = 16;
  if (!options.kernel.empty()) force_kernel(options.kernel);
  const Traced traced =
      run_traced(gpu, sensors, problem, options.sm_count, options.measure.warm_ms);
  std::printf("%s\n%s", traced.kernel.c_str(), shares_text(traced.shares).c_str());
  write_file(options.output,
             trace_json(traced.tracks, problem.name + ", " + traced.kernel, detailed_ctas));
}

int run_ladder(const Options& options, const Gpu& gpu, const Sensors& sensors) {
  constexpr int other_gpu = 3;
  if (!Ladder::runs_on(gpu)) {
    std::fprintf(stderr, "bwgemm_bench: the ladder needs sm_100, a B200 or B300; this is a %s\n",
                 gpu.name().c_str());
    return other_gpu;
  }
  const std::vector<LadderRow> rows =
      climb(gpu, sensors, {options.size, options.compare, options.measure});
  write_file(options.csv, ladder_csv(rows, options.size));
  return all_good(rows) ? 0 : wrong_result;
}

}  // namespace

bool is_offline(const Options& options) {
  return options.mode == Mode::summary || options.mode == Mode::random_problems ||
         !options.from.empty();
}

int run_offline(const Options& options) {
  if (options.mode == Mode::summary) {
    show_summary(options);
  } else if (options.mode == Mode::random_problems) {
    std::fputs(options.random_kind->list(options.seed, options.count).c_str(), stdout);
  } else {
    show_regret(options, read_sweep(options.from));
  }
  return 0;
}

int run_instrument(const Options& options, const std::vector<BenchProblem>& problems) {
  const Gpu gpu;
  const Sensors sensors(gpu.pci_address());
  switch (options.mode) {
    case Mode::sweep: sweep(gpu, sensors, problems, options.sweep); break;
    case Mode::regret: show_regret(options, sweep(gpu, sensors, problems, options.sweep)); break;
    case Mode::ceiling: write_file(options.csv, ceiling_csv(measure_ceilings(gpu, sensors))); break;
    case Mode::ladder: return run_ladder(options, gpu, sensors);
    case Mode::host: run_host(options, gpu, problems); break;
    case Mode::batch_invariance_price:
      return run_price(options, gpu, Priced::batch_invariance, problems);
    case Mode::epilogue_price: return run_price(options, gpu, Priced::epilogue, problems);
    case Mode::trace: run_trace(options, gpu, sensors, problems.front()); break;
    default: throw std::runtime_error("this mode is none of the instruments");
  }
  return 0;
}

}  // namespace bwgemm::bench
