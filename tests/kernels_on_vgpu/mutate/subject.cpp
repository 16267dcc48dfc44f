// SPDX-License-Identifier: Apache-2.0
#include "kernels_on_vgpu/mutate/subject.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <stdexcept>

namespace bwgemm::vgpu::mutate {
namespace {

constexpr std::size_t tried_first = 6;  // problems that see all schedules; the others see two
constexpr Schedule benign{false, 1};
// What a seed decides: simulation.cpp.
constexpr Schedule adversarial(int number) {
  constexpr std::uint64_t seeds[] = {3, 4, 6, 10, 5, 9, 8, 2};
  constexpr int count = std::size(seeds);
  return {true, seeds[number % count] + 1000 * static_cast<std::uint64_t>(number / count)};
}

// Schedules whose waits often return for no reason, and one of whose warps is slow, another each
// time; with all that seeds decide about the rest.
constexpr int impatient_schedules = 24;
constexpr int every_problem = 6;  // so many of them with every problem
constexpr Schedule impatient(int number) {
  return {true, 3 * (static_cast<std::uint64_t>(number) + 1)};
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Subject::Subject(const KernelConfig& row, const std::string& ptx, const std::string& origin,
                 int adversarial_schedules)
    : origin_(origin), source_(ptx, origin), adversarial_schedules_(adversarial_schedules) {
  const auto module = Module::parse(ptx, origin);
  lines_ = module->instruction_lines(kernel_name(row).view());
  for (LaunchCase& launch : cases_of(row)) {
    Problem problem{std::move(launch), {}, {}, 0, 0};
    for (const Schedule& schedule : {benign, adversarial(0)}) {
      RunOptions options;
      RunStatistics statistics;
      options.coverage = &problem.coverage;
      options.statistics = &statistics;
      const double start = now();
      LaunchCase::Outcome outcome = problem.launch.run(module, schedule, options);
      problem.seconds += now() - start;
      problem.instructions = std::max(problem.instructions, statistics.warp_instructions);
      if (!outcome.findings.empty())
        throw std::runtime_error(problem.launch.name() + ": the kernel itself is not clean: " +
                                 to_string(outcome.findings[0]));
      if (schedule.is_adversarial && outcome.memory != problem.expected)
        throw std::runtime_error(problem.launch.name() + ": the result depends on the schedule");
      problem.expected = std::move(outcome.memory);
    }
    problems_.push_back(std::move(problem));
  }
}

std::vector<Subject::Line> Subject::instruction_lines() const {
  std::vector<Line> lines;
  for (const int number : lines_)
    lines.push_back({number, std::any_of(problems_.begin(), problems_.end(),
                                         [&](const Problem& of) { return of.covers(number); })});
  return lines;
}

bool Subject::run(Problem& problem, const std::shared_ptr<const Module>& module,
                  const Schedule& schedule, Verdict& verdict) {
  RunOptions options;
  options.max_findings = 1;
  options.max_warp_instructions = 20 * problem.instructions + 100'000;
  ++verdict.runs;
  ++problem.runs;
  try {
    const LaunchCase::Outcome outcome = problem.launch.run(module, schedule, options);
    if (!outcome.findings.empty()) {
      verdict.killer = outcome.findings[0].kind;
      verdict.text = to_string(outcome.findings[0]);
    } else if (outcome.memory != problem.expected) {
      verdict.killer = "wrong result";
    } else {
      return false;
    }
  } catch (const LaunchError& error) {
    verdict.killer = "launch error";
    verdict.text = error.what();
  }
  ++problem.kills;
  verdict.result = Verdict::Result::killed;
  verdict.problem = problem.launch.name();
  verdict.schedule = schedule;
  return true;
}

Verdict Subject::judge(const Mutation& mutation) {
  Verdict verdict{Verdict::Result::survived, "", "", "", benign, 0};
  std::shared_ptr<const Module> module;
  try {
    module = Module::parse(source_.with(mutation.edits), origin_);
  } catch (const LoadError& error) {
    verdict.result = Verdict::Result::no_program;
    verdict.text = error.what();
    return verdict;
  }
  const int line = source_.statements()[mutation.statement].line;
  const bool asks_once = mutation.operation == no_retry;
  const auto scheduled = [&](Schedule schedule) {
    if (asks_once) schedule.impatient_line = line;
    return schedule;
  };
  std::vector<Problem*> reached;
  for (Problem& problem : problems_)
    if (problem.covers(line)) reached.push_back(&problem);
  if (reached.empty()) {
    verdict.result = Verdict::Result::unreached;
    return verdict;
  }
  std::stable_sort(reached.begin(), reached.end(),
                   [](const Problem* a, const Problem* b) { return a->worth() > b->worth(); });
  const std::size_t first = std::min(tried_first, reached.size());
  const auto tried = [&](std::size_t begin, std::size_t end, int schedules) {
    for (int number = -1; number < schedules; ++number)
      for (std::size_t i = begin; i < end; ++i)
        if (run(*reached[i], module, number < 0 ? benign : scheduled(adversarial(number)), verdict))
          return true;
    return false;
  };
  if (tried(0, first, adversarial_schedules_) || tried(first, reached.size(), 1)) return verdict;
  if (!asks_once && mutation.operation != no_wait) return verdict;
  for (int number = 0; number < impatient_schedules; ++number)
    for (std::size_t i = 0; i < (number < every_problem ? reached.size() : first); ++i)
      if (run(*reached[i], module, scheduled(impatient(number)), verdict)) return verdict;
  return verdict;
}

}  // namespace bwgemm::vgpu::mutate
