// SPDX-License-Identifier: Apache-2.0
#include "kernels_on_vgpu/mutate/ptx_source.h"

#include <algorithm>
#include <sstream>

#include "vgpu/machine.h"

namespace bwgemm::vgpu::mutate {

PtxSource::PtxSource(const std::string& text, const std::string& origin) {
  ModuleText module = read_module_text(text, origin);
  if (module.kernels.size() != 1) throw LoadError(origin, 0, "not one kernel");
  kernel_ = std::move(module.kernels.front());
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines_.push_back(line);
  is_label_.resize(kernel_.statements.size() + 1);
  for (const TextScope& scope : kernel_.scopes)
    for (const auto& [label, statement] : scope.labels) is_label_[statement] = true;
  for (const Statement& statement : kernel_.statements) last_line_.push_back(find_end(statement));
}

// The line of the statement's semicolon, if nothing else stands on its lines.
int PtxSource::find_end(const Statement& statement) const {
  const auto line_of = [&](int line) {
    return trimmed(lines_[static_cast<std::size_t>(line) - 1]);
  };
  const std::string_view first = line_of(statement.line);
  const std::string_view start = statement.guard.empty() ? std::string_view(statement.opcode) : "@";
  if (!first.starts_with(start)) return 0;
  for (int line = statement.line; line <= static_cast<int>(lines_.size()); ++line) {
    const std::string_view text = line_of(line);
    const std::size_t end = text.find(';');
    if (end != std::string_view::npos) return end + 1 == text.size() ? line : 0;
  }
  return 0;
}

bool PtxSource::is_entered_between(std::size_t first, std::size_t last) const {
  return std::find(is_label_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                   is_label_.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                   true) != is_label_.begin() + static_cast<std::ptrdiff_t>(last) + 1;
}

std::string PtxSource::with(const std::vector<Edit>& edits) const {
  std::vector<const std::string*> lines;
  for (const std::string& line : lines_) lines.push_back(&line);
  static const std::string blank, nothing = ";";
  for (const Edit& edit : edits) {
    const int first = kernel_.statements[edit.statement].line, last = last_line_[edit.statement];
    for (int line = first; line <= last; ++line) lines[static_cast<std::size_t>(line) - 1] = &blank;
    lines[static_cast<std::size_t>(first) - 1] = edit.text.empty() ? &nothing : &edit.text;
  }
  std::string text;
  for (const std::string* line : lines) text.append(*line).append(1, '\n');
  return text;
}

std::string as_text(const Statement& statement) {
  return as_text(statement, statement.opcode, statement.operands);
}

std::string as_text(const Statement& statement, const std::string& opcode,
                    const std::vector<std::string>& operands) {
  std::string text;
  if (!statement.guard.empty())
    text.append(statement.guard_negated ? "@!" : "@").append(statement.guard).append(" ");
  text.append(opcode);
  for (std::size_t i = 0; i < operands.size(); ++i)
    text.append(i == 0 ? " " : ", ").append(operands[i]);
  return text.append(";");
}

}  // namespace bwgemm::vgpu::mutate
