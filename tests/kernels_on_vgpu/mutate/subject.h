// SPDX-License-Identifier: Apache-2.0
// Subject: one kernel under mutation. Knows how the kernel as it is behaves on every problem of its
// row, and judges a mutant by what differs: a wrong result, a finding, a deadlock, a launch that is
// refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels_on_vgpu/mutate/launch_case.h"
#include "kernels_on_vgpu/mutate/mutation.h"
#include "kernels_on_vgpu/mutate/ptx_source.h"

namespace bwgemm::vgpu::mutate {

struct Verdict {
  enum class Result {
    killed,
    survived,
    unreached,   // no problem executes the statement: survived, too
    no_program,  // does not decode: no mutant
  } result;
  std::string killer;  // kind of finding, or "wrong result"
  std::string text;    // of the finding
  std::string problem;
  Schedule schedule;
  int runs;
};

class Subject {
 public:
  // Runs every problem once without and once with adversarial schedules. Throws std::runtime_error
  // if the kernel is not clean.
  Subject(const KernelConfig& row, const std::string& ptx, const std::string& origin,
          int adversarial_schedules);

  const PtxSource& source() const { return source_; }
  struct Line {
    int number;
    bool is_executed;  // by some problem
  };
  std::vector<Line> instruction_lines() const;
  Verdict judge(const Mutation& mutation);

 private:
  struct Problem {
    LaunchCase launch;
    LaunchCase::Memory expected;
    std::vector<bool> coverage;  // by PTX line
    std::uint64_t instructions;
    double seconds;
    int kills = 0, runs = 0;
    bool covers(int line) const {
      const auto index = static_cast<std::size_t>(line);
      return index < coverage.size() && coverage[index];
    }
    double worth() const { return (kills + 1.0) / (runs + 2.0) / seconds; }
  };

  // Whether it was killed; then the verdict says how.
  bool run(Problem& problem, const std::shared_ptr<const Module>& module, const Schedule& schedule,
           Verdict& verdict);

  std::string origin_;
  PtxSource source_;
  std::vector<int> lines_;  // with an instruction
  int adversarial_schedules_;
  std::vector<Problem> problems_;
};

}  // namespace bwgemm::vgpu::mutate
