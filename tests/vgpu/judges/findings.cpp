// SPDX-License-Identifier: Apache-2.0
#include "vgpu/judges/findings.h"

#include <cstdio>

namespace bwgemm::vgpu {

void Findings::add(Severity severity, const char* kind, const std::string& text,
                   const Instruction* instruction) {
  Finding finding{severity, kind, program_.info.name, text, 0, "", seed_};
  if (instruction) {
    finding.ptx_line = instruction->line;
    finding.source = program_.source(*instruction);
  }
  findings_.push_back(std::move(finding));
}

void Findings::report(Severity severity, const char* kind, const std::string& text,
                      const Instruction* instruction) {
  if (severity == Severity::strict && !options_.strict) return;
  if (!reported_.emplace(kind, instruction).second) return;
  add(severity, kind, text, instruction);
  if (findings_.size() >= options_.max_findings) throw RunEnded();
}

void Findings::fatal(const char* kind, const std::string& text, const Instruction* instruction) {
  add(Severity::error, kind, text, instruction);
  throw RunEnded();
}

std::string to_string(const Finding& finding) {
  std::string line = finding.severity == Finding::Severity::error ? "error" : "strict";
  line += " [" + finding.kind + "] " + finding.kernel;
  if (finding.ptx_line > 0) line += " ptx:" + std::to_string(finding.ptx_line);
  if (!finding.source.empty()) line += " (" + finding.source + ")";
  return line + ": " + finding.text + " [seed " + std::to_string(finding.seed) + "]";
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace bwgemm::vgpu
