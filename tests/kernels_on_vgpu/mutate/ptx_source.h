// SPDX-License-Identifier: Apache-2.0
// PtxSource: a PTX text whose statements can be replaced one by one. Replacements stay on the lines
// of what they replace, so that all other lines keep their numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vgpu/ptx/ptx_text.h"

namespace bwgemm::vgpu::mutate {

class PtxSource {
 public:
  // Throws LoadError.
  PtxSource(const std::string& text, const std::string& origin);

  const std::vector<Statement>& statements() const { return kernel_.statements; }
  // The statement shares its lines with no other and can be replaced.
  bool stands_alone(std::size_t statement) const { return last_line_[statement] > 0; }
  // A label names a statement in (first, last].
  bool is_entered_between(std::size_t first, std::size_t last) const;

  struct Edit {
    std::size_t statement;
    std::string text;  // in its place; empty: it is removed
  };
  std::string with(const std::vector<Edit>& edits) const;

 private:
  int find_end(const Statement& statement) const;

  std::vector<std::string> lines_;
  KernelText kernel_;
  std::vector<int> last_line_;  // of each statement; 0: it does not stand alone
  std::vector<bool> is_label_;  // by statement, one more at the end
};

// A statement as text again, with another opcode or other operands.
std::string as_text(const Statement& statement);
std::string as_text(const Statement& statement, const std::string& opcode,
                    const std::vector<std::string>& operands);

}  // namespace bwgemm::vgpu::mutate
