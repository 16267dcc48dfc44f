// SPDX-License-Identifier: Apache-2.0
// Findings of one run: each kind once per instruction, and the end of the run when there are enough
// or when going on would mean nothing.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "vgpu/machine.h"
#include "vgpu/ptx/program.h"

namespace bwgemm::vgpu {

// Thrown to end a run; the findings say why.
struct RunEnded {};

class Findings {
 public:
  using Severity = Finding::Severity;

  Findings(const Program& program, const RunOptions& options, std::uint64_t seed)
      : program_(program), options_(options), seed_(seed) {}

  // `instruction` may be null.
  void report(Severity severity, const char* kind, const std::string& text,
              const Instruction* instruction);
  [[noreturn]] void fatal(const char* kind, const std::string& text,
                          const Instruction* instruction);

  const std::vector<Finding>& all() const { return findings_; }

 private:
  void add(Severity severity, const char* kind, const std::string& text,
           const Instruction* instruction);

  const Program& program_;
  const RunOptions& options_;
  std::uint64_t seed_;
  std::set<std::pair<std::string, const Instruction*>> reported_;
  std::vector<Finding> findings_;
};

std::string hexadecimal(std::uint64_t value);

}  // namespace bwgemm::vgpu
